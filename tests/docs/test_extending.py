"""The page on extending, carried out: a copy of the package gets its files and edits, and its commands run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT, blocks, command_lines

TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
HEADS = ("# src/", "# tests/")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and its tests as they are after all that the page says."""
    folder = tmp_path_factory.mktemp("extended")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for block in blocks(TEXT, "diff"):
        apply_diff(block.text, folder)
    for block in blocks(TEXT, "python"):
        if block.text.startswith(HEADS):
            head, _, content = block.text.partition("\n")
            add_file(folder / head.removeprefix("# "), content)
    return folder


def test_the_page_is_carried_out(extended: Path) -> None:
    for name in ("smoothers/votes.py", "backbones/sgc.py", "paper/tables/released.py"):
        assert (extended / "src" / "postel" / name).is_file()


def test_the_tests_that_the_page_shows_pass_with_those_that_find_new_parts_by_themselves(extended: Path) -> None:
    chosen = "votes or sgc or released or names_are_file_names or every_target_is_tried"
    places = ["smoothers", "backbones", "experiments/search/test_stored.py", "paper/test_targets.py"]
    places += ["training/test_loop.py", "training/test_minibatch.py"]
    files = [f"tests/{place}" for place in places]
    files += [f"src/postel/{name}" for name in ("smoothers/votes.py", "backbones/sgc.py")]
    told = run(extended, "-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider", "-k", chosen, *files)
    for shown in ("votes", "sgc", "table-released"):
        assert shown in told
    assert " passed" in told and "failed" not in told


def test_examples_and_commands_of_the_page_run(extended: Path, tmp_path: Path) -> None:
    script = [block.text for block in blocks(TEXT, "python") if not block.text.startswith(HEADS)]
    commands = [words for words, whole in command_lines(TEXT) if whole]
    assert len(script) == 4 and len(commands) == 8
    # In this process, since starting others takes longer than what they would do.
    alone = [[*words, *(["--workers", "1"] if words[0] in ("tune", "reproduce") else [])] for words in commands]
    calls = "\n".join(f"CliRunner.run({words!r})" for words in alone)
    (tmp_path / "script.py").write_text("\n".join(script) + RUNNER + calls + "\n", encoding="utf-8")
    told = run(extended, str(tmp_path / "script.py"), folder=tmp_path)
    assert "votes own=3" in told and "sgc on karate" in told and "PosteL, as released" in told
    assert (tmp_path / "people.npz").is_file() and (tmp_path / "paper" / "table-released.csv").is_file()


RUNNER = """
from typer.testing import CliRunner as Runner

from postel.cli.app import app


class CliRunner:
    @staticmethod
    def run(words):
        done = Runner().invoke(app, words, catch_exceptions=False)
        print(done.output)
        assert done.exit_code == 0, words


"""


def apply_diff(text: str, folder: Path) -> None:
    """Make the edits of a diff without line numbers: each part that it takes away must be there exactly once."""
    for piece in text.split("--- a/")[1:]:
        head, *hunks = piece.split("@@\n")
        path = folder / head.splitlines()[0]
        content = path.read_text(encoding="utf-8")
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] in " -")
            new = "".join(line[1:] for line in lines if line[0] in " +")
            assert content.count(old) == 1, f"{path.name} does not hold once:\n{old}"
            content = content.replace(old, new)
        path.write_text(content, encoding="utf-8")


def add_file(path: Path, content: str) -> None:
    """Write a new file, or add to the end of one that is there."""
    before = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
    path.write_text(before + content, encoding="utf-8")


def run(extended: Path, *words: str, folder: Path | None = None) -> str:
    """What Python prints with the extended package in the place of the installed one."""
    paths = os.pathsep.join(str(extended / name) for name in ("src", "tests"))
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder or extended,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
