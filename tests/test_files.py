from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from postel.files import replacing, write_text
from postel.owners import scratch_name, temporary_folder


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_text(path, "old")

    def fail() -> None:
        with replacing(path) as stream:
            stream.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
    path = tmp_path / "new" / "folder" / "file"
    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [entry.name for entry in tmp_path.iterdir()] == ["deep"]


def test_what_a_killed_process_left_is_removed_and_a_running_one_s_is_kept(tmp_path: Path) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", "from postel.owners import scratch_name; print(scratch_name('file'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    alive, other = scratch_name("file"), dead.replace(".file.", ".another.")
    for name in (dead, alive, other):
        (tmp_path / name).write_text("half")
    write_text(tmp_path / "file", "whole")
    assert {entry.name for entry in tmp_path.iterdir()} == {"file", alive, other}
    (tmp_path / dead).mkdir()
    with temporary_folder("file", tmp_path) as folder:
        assert {entry.name for entry in tmp_path.iterdir()} == {"file", alive, other, Path(folder).name}
    assert not Path(folder).exists()


def test_files_are_as_open_as_any_other(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        write_text(tmp_path / "file" / "below", "text")
