"""Every command that writes obeys one rule: see ``postel.outputs``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli.commands import Here
from experiments.studies import tiny_specs
from postel.experiments.running.executor import run_all
from postel.experiments.store import Store

QUICK = ("--max-epochs", "2")

#: What every command is told besides its output, where the output goes, and what it leaves there.
COMMANDS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "smooth": (
        ("smooth", "--edges", "e.csv", "--labels", "n.csv", "--out", "o.parquet"),
        "o",
        ("parquet", "json"),
    ),
    "convert": (("convert", "e.csv", "n.csv", "g.npz"), "g", ("npz",)),
    "train": (("train", "karate", *QUICK, "--out", "model"), "model/", ("weights.safetensors", "run.json")),
    "compare": (
        ("compare", "karate", "-m", "one_hot", "--splits", "2", "-w", "1", *QUICK, "--out", "c.html"),
        "c",
        ("html",),
    ),
    "compare, a picture": (
        ("compare", "karate", "-m", "one_hot", "--splits", "2", "-w", "1", *QUICK, "--out", "c.svg"),
        "c",
        ("svg",),
    ),
    "report": (("report", "--out", "r.html"), "r", ("html",)),
    "export, a file": (("export", "rows.csv"), "rows", ("csv",)),
    "export, a folder": (("export", "rows"), "rows/", ("rows.parquet", "cells.json")),
    "diagnose": (("diagnose", "karate", "--plot", "d.png"), "d", ("png",)),
}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "e.csv").write_text("source,target\n1,2\n2,3\n")
    (folder / "n.csv").write_text("node,label\n1,x\n2,y\n3,x\n")
    run_all(tiny_specs(1), workers=1, store=Store(folder / "postel.sqlite"))
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A folder with an edge list, a node table and a store."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return tmp_path


def outputs_of(name: str, folder: Path) -> list[Path]:
    _, stem, endings = COMMANDS[name]
    return [folder / (f"{stem}{ending}" if stem.endswith("/") else f"{stem}.{ending}") for ending in endings]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_replaces_what_is_there_unless_told_to(name: str, here: Here, folder: Path) -> None:
    arguments, (first, *others) = COMMANDS[name][0], outputs_of(name, folder)
    done = here(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    made = {path: path.read_bytes() for path in (first, *others)}
    done = here(*arguments, cwd=folder)
    assert done.returncode == 2 and "is there already" in done.stderr and done.stdout == "", done.stderr
    assert done.stderr.splitlines()[-1].startswith("postel: ") and "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in made} == made
    assert here(*arguments, "--overwrite", cwd=folder).returncode == 0
    for path in others:  # a side file alone is reason enough
        first.unlink()
        done = here(*arguments, cwd=folder)
        assert done.returncode == 2 and "is there already" in done.stderr and path.exists()
        assert not first.exists()
        assert here(*arguments, "--overwrite", cwd=folder).returncode == 0
    assert not list(folder.rglob(".*"))


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "export, a file"])
def test_overwriting_leaves_foreign_things_alone(name: str, here: Here, folder: Path) -> None:
    first = outputs_of(name, folder)[0]
    first.parent.mkdir(exist_ok=True)
    for make in (_thesis, _folder):
        make(first)
        before = sorted(path.name for path in folder.rglob("*"))
        done = here(*COMMANDS[name][0], "--overwrite", cwd=folder)
        assert done.returncode == 2 and "is not replaced, overwrite or not" in done.stderr, done.stderr
        assert sorted(path.name for path in folder.rglob("*")) == before
        first.unlink() if first.is_file() else shutil.rmtree(first)


def _thesis(path: Path) -> None:
    path.write_text("my thesis")


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "chapter").write_text("one")


@pytest.mark.parametrize(
    ("arguments", "input"),
    [
        (("smooth", "--edges", "e.csv", "--labels", "n.csv", "--out", "e.csv"), "e.csv"),
        (("smooth", "--edges", "e.csv", "--labels", "n.csv", "--out", "./n.csv"), "n.csv"),
        (("smooth", "--edges", "e.csv", "--labels", "n.csv", "--tables", "--out", "side.parquet"), "side.json"),
        (("convert", "e.csv", "n.csv", "linked.npz"), "e.csv"),
        (("export", "linked.csv"), "postel.sqlite"),
        (("report", "--out", "linked.html"), "postel.sqlite"),
    ],
)
def test_no_command_replaces_its_inputs(arguments: tuple[str, ...], input: str, here: Here, folder: Path) -> None:
    for name, original in (
        ("linked.npz", "e.csv"),
        ("linked.csv", "postel.sqlite"),
        ("linked.html", "postel.sqlite"),
    ):
        (folder / name).symlink_to(folder / original)
    (folder / "side.json").symlink_to(folder / "n.csv")
    before = {path: path.read_bytes() for path in (folder / "e.csv", folder / "n.csv", folder / "postel.sqlite")}
    done = here(*arguments, "--overwrite", cwd=folder)
    assert done.returncode == 2 and "is an input of this command" in done.stderr, done.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_an_archive_is_not_written_over_itself(here: Here, folder: Path) -> None:
    assert here("export", "rows", cwd=folder).returncode == 0
    done = here("export", "rows", "--store", "rows", "--overwrite", cwd=folder)
    assert done.returncode == 2 and "is an input of this command" in done.stderr


def test_a_store_is_never_replaced(here: Here, folder: Path) -> None:
    assert here("export", "rows", cwd=folder).returncode == 0
    done = here("export", "postel.sqlite", "--store", "rows", "--overwrite", cwd=folder)
    assert done.returncode == 2 and "postel.sqlite is there already" in done.stderr


@pytest.mark.parametrize("name", ["train", "compare", "diagnose", "smooth"])
def test_a_place_that_cannot_be_written_is_known_before_the_work(name: str, here: Here, folder: Path) -> None:
    *arguments, out = COMMANDS[name][0]
    store = ("--store", "s.sqlite") if name == "compare" else ()
    done = here(*arguments, f"/proc/{out}", *store, cwd=folder)
    assert done.returncode == 2 and "cannot be written" in done.stderr, done.stderr
    assert not (folder / "s.sqlite").exists() or len(Store(folder / "s.sqlite")) == 0


def test_tables_of_an_earlier_job_never_tell_of_other_numbers(here: Here, folder: Path) -> None:
    import json

    arguments = COMMANDS["smooth"][0]
    assert here(*arguments, cwd=folder).returncode == 0
    (folder / "n.csv").write_text("node,label\n1,0\n2,1\n3,1\n")
    assert here(*arguments, "--overwrite", cwd=folder).returncode == 0
    assert json.loads((folder / "o.json").read_text())["classes"] == [0, 1]


def test_the_demo_replaces_its_own_page_only(folder: Path) -> None:
    from postel.cli.demo import TITLE, _is_demo

    page = folder / "page.html"
    page.write_text("<!doctype html><title>Mine</title>")
    assert not _is_demo(page)
    page.write_text(f"<!doctype html>\n<html lang='en'><head><title>{TITLE}</title>")
    assert _is_demo(page)
