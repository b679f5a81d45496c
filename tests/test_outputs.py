"""The rule for what commands write, and what it does to the unlucky."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postel import outputs
from postel.errors import InputError
from postel.outputs import Target, writing


def put(path: Path, text: str = "new", *, kind: str = "text", **options: object) -> None:
    with writing(Target(path, kind), **options) as work:  # type: ignore[arg-type]
        (work / path.name).write_text(text)


def test_nothing_that_exists_is_replaced_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(InputError, match="is there already"):
        put(path)
    assert path.read_text() == "old"
    put(path, overwrite=True)
    assert path.read_text() == "new" and [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_an_input_is_never_replaced(tmp_path: Path) -> None:
    path, link, other = tmp_path / "in.csv", tmp_path / "link", tmp_path / "hard"
    path.write_text("input")
    link.symlink_to(path)
    other.hardlink_to(path)
    for out in (path, link, other, tmp_path / "." / "in.csv"):
        with pytest.raises(InputError, match="is an input of this command"):
            put(out, overwrite=True, inputs=[path])
    folder = tmp_path / "edges"
    folder.mkdir()
    (folder / "part-0.parquet").write_bytes(b"PAR1")
    with (
        pytest.raises(InputError, match="is an input"),
        writing(Target(folder, "Parquet", folder=True), overwrite=True, inputs=[folder / "part-0.parquet"]),
    ):
        pass
    assert path.read_text() == "input" and (folder / "part-0.parquet").exists()


@pytest.mark.parametrize("kind", ["Parquet", "graph", "HTML", "PNG", "SVG", "JSON"])
def test_overwriting_replaces_only_what_the_command_could_have_written(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "thesis"
    path.write_text("my thesis")
    with pytest.raises(InputError, match=f"is no {kind} file of this command and is not replaced"):
        put(path, kind=kind, overwrite=True)
    path.unlink()
    path.mkdir()
    (path / "chapter").write_text("one")
    for target in (Target(path, kind), Target(path, kind, folder=True)):
        with pytest.raises(InputError, match="is a folder with other things"), writing(target, overwrite=True):
            pass
    assert (path / "chapter").read_text() == "one"


def test_a_folder_of_parts_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "soft"
    path.mkdir()
    for name in ("part-0.parquet", ".part-0.parquet.crc", "_SUCCESS"):
        (path / name).write_bytes(b"PAR1")
    with writing(Target(path, "Parquet", folder=True), overwrite=True) as work:
        (work / "soft").write_bytes(b"PAR1 new")
    assert path.read_bytes() == b"PAR1 new" and [entry.name for entry in tmp_path.iterdir()] == ["soft"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_later_of_two_jobs_is_told(overwrite: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    if overwrite:
        path.write_text("old")

    def lose() -> None:
        with writing(Target(path), overwrite=overwrite) as work:
            (work / "a.txt").write_text("mine")
            path.write_text("of another")

    with pytest.raises(InputError, match="was written by something else while this command ran"):
        lose()
    assert path.read_text() == "of another" and [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_job_that_is_at_work_keeps_others_out_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with writing(Target(path)) as work:
        with pytest.raises(InputError, match=r"another job is writing .*a\.txt just now"):
            put(path)
        put(tmp_path / "b.txt")
        (work / "a.txt").write_text("mine")
    assert path.read_text() == "mine"


def test_of_many_jobs_at_once_one_wins(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from postel.outputs import Target, writing
path = Path(sys.argv[1])
sys.stdin.readline()
with writing(Target(path)) as work:
    (work / path.name).write_text(sys.argv[2])
"""
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "a.txt"), str(number)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(6)
    ]
    for job in jobs:
        assert job.stdin is not None
        job.stdin.write("go\n")
        job.stdin.flush()
    said = [job.communicate()[1] for job in jobs]
    winners = [number for number, job in enumerate(jobs) if job.returncode == 0]
    losers = [text for job, text in zip(jobs, said, strict=True) if job.returncode]
    assert len(winners) <= 1 and all("InputError" in text for text in losers)
    assert (tmp_path / "a.txt").exists() == bool(winners)
    if winners:
        assert (tmp_path / "a.txt").read_text() == str(winners[0])
    assert all(entry.name == "a.txt" for entry in tmp_path.iterdir())


def test_several_files_come_together_or_not_at_all(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"

    def lose() -> None:
        with writing([Target(first), Target(second)]) as work:
            (work / "a.txt").write_text("mine")
            (work / "b.txt").write_text("mine")
            second.write_text("of another")

    with pytest.raises(InputError, match=r"b\.txt was written by something else"):
        lose()
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.txt"] and second.read_text() == "of another"


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError])
def test_a_failure_leaves_nothing_not_even_folders(raised: type[BaseException], tmp_path: Path) -> None:
    def fail() -> None:
        with writing(Target(tmp_path / "x" / "y" / "a.txt")) as work:
            (work / "a.txt").write_text("half")
            raise raised

    with pytest.raises(raised):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    said = r"a\.txt was not written: No space left on device.*; make room"
    with pytest.raises(InputError, match=said), writing(Target(tmp_path / "a.txt")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_known_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "below", tmp_path / ("x" * 300), Path("/proc/a.txt")):
        with pytest.raises(InputError, match="cannot be written: "), writing(Target(path)):
            pytest.fail("the work was begun")

    def refuse(path: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"a\.txt cannot be written: Permission denied"):
        put(tmp_path / "a.txt")


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(outputs.os, "link", refuse)
    put(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "new"


def test_what_a_killed_job_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from postel.outputs import Target, writing
with writing(Target(Path(sys.argv[1]))) as work:
    (work / "a.txt").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert len(list(tmp_path.iterdir())) == 1 and not path.exists()
    elsewhere = tmp_path / ".a.txt.00000000-1-1-aaaaaaaa.part"
    elsewhere.mkdir()
    put(path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [elsewhere.name, "a.txt"]


def test_a_job_killed_in_the_middle_of_replacing_a_folder_loses_nothing(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from postel import outputs
path = Path(sys.argv[1])
def killed(made, path, aside):
    path.rename(aside)
    os.kill(os.getpid(), signal.SIGKILL)
outputs._replace = killed
with outputs.writing(outputs.Target(path, "Parquet", folder=True), overwrite=True) as work:
    (work / "soft").mkdir()
"""
    path = tmp_path / "soft"
    path.mkdir()
    (path / "part-0.parquet").write_bytes(b"PAR1 old")
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert not path.exists()
    with pytest.raises(RuntimeError), writing(Target(path, "Parquet", folder=True), overwrite=True):
        raise RuntimeError
    assert (path / "part-0.parquet").read_bytes() == b"PAR1 old"


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "a.txt").symlink_to(tmp_path / "disk" / "b.txt")
    put(tmp_path / "a.txt")
    assert (tmp_path / "disk" / "b.txt").read_text() == "new" and (tmp_path / "a.txt").is_symlink()


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("step", range(6))
def test_an_interruption_while_files_are_placed_leaves_all_or_nothing(
    step: int, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    if there:
        for path in paths:
            path.write_text("old")
    count = 0

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            nonlocal count
            count += 1
            if count == step:
                raise KeyboardInterrupt
            done = function(*args, **kwargs)
            count += 1
            if count == step:
                raise KeyboardInterrupt
            return done

        return call

    def write() -> None:
        with writing([Target(path) for path in paths], overwrite=there) as work:
            for path in paths:
                (work / path.name).write_text("new")
            monkeypatch.setattr(
                outputs,
                "_replace" if there else "_move_to_free_name",
                counted(outputs._replace if there else outputs._move_to_free_name),
            )

    try:
        write()
    except KeyboardInterrupt:
        found = [path.read_text() if path.exists() else None for path in paths]
        assert found == [("old" if there else None)] * 2
    else:
        assert [path.read_text() for path in paths] == ["new", "new"]
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


@pytest.mark.parametrize("number", [1, 2])
def test_a_signal_that_comes_as_soon_as_a_folder_is_there_leaves_nothing(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = Path.mkdir, []

    def interrupted(path: Path, *arguments: Any, **options: Any) -> None:
        real(path, *arguments, **options)
        made.append(path)
        if len(made) == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), writing(Target(tmp_path / "deep" / "a.txt")):
        pass
    assert len(made) == number and list(tmp_path.iterdir()) == []


def test_a_signal_while_the_work_folder_goes_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = shutil.rmtree

    def interrupted(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(shutil, "rmtree", whole)
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), writing(Target(tmp_path / "a.txt")) as work:
        (work / "a.txt").write_text("whole")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
