"""What users of other command lines expect: ``-h``, completion, and a hint for a misspelled name."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from cli.commands import postel
from postel.cli.app import app


@pytest.mark.parametrize("command", [(), ("train",), ("smooth",)], ids=["postel", "train", "smooth"])
def test_h_is_help(tmp_path: Path, command: tuple[str, ...]) -> None:
    short, long = (postel(*command, flag, cwd=tmp_path) for flag in ("-h", "--help"))
    assert short.returncode == long.returncode == 0
    assert short.stdout == long.stdout and "Usage" in short.stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("-m", "postle"), "did you mean postel?"),
        (("-b", "gnc"), "did you mean gcn?"),
        (("-m", "xyz"), "choose from"),
    ],
)
def test_a_misspelled_name_gets_a_hint(tmp_path: Path, arguments: tuple[str, ...], hint: str) -> None:
    done = postel("train", "karate", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and hint in done.stderr and done.stdout == ""


def test_completion_can_be_shown(tmp_path: Path) -> None:
    assert "--show-completion" in postel("-h", cwd=tmp_path).stdout


@pytest.mark.parametrize("name", list(typer.main.get_command(app).commands))  # type: ignore[attr-defined]
def test_paragraphs_of_help_break_where_the_terminal_does(name: str) -> None:
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    for paragraph in command.help.split("\n\n"):
        first, *others = paragraph.splitlines()
        assert first and all(line.startswith("Example: ") for line in others)
