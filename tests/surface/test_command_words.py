"""Words of the command line: choices, completion, hints, lists by comma, and one spelling of every option."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from cli.commands import Here
from postel import registry
from postel.cli import words
from postel.cli.app import app

COMMANDS = {command.name: command for command in typer.main.get_command(app).commands.values()}
QUICK = ("--splits", "2", "--max-epochs", "2", "--pseudo-labels", "no", "-w", "1", "--json")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def options(name: str) -> set[str]:
    return {spelling for parameter in COMMANDS[name].params for spelling in parameter.opts}


def test_choices_are_shown_as_choices_and_completed(here: Here, tmp_path: Path) -> None:
    shown = here("smooth", "-h", cwd=tmp_path).stdout
    assert "[auto|memory|duckdb|spark]" in shown and "[edge|normalized]" in shown
    complete = {parameter.name: parameter for parameter in COMMANDS["train"].params}
    context = typer.Context(COMMANDS["train"])
    for name, typed, expected in (
        ("backbone", "g", {"gcn", "gat", "gprgnn"}),
        ("method", "k", {"kd"}),
        ("dataset", "cor", {"cora", "cora-linqs", "cornell", "cornell-corrected"}),
    ):
        assert {item.value for item in complete[name].shell_complete(context, typed)} == expected
    assert words.completion([*registry.SMOOTHERS, *registry.FORMS])("ls,postel") == [
        "ls,postel",
        "ls,postel_as_released",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("smooth", "--edges", "e", "--labels", "l", "-o", "o", "--engine", "duckbd"), "did you mean duckdb?"),
        (("train", "karate", "--protocol", "stratifed"), "did you mean stratified?"),
        (("train", "karte"), "did you mean karate?"),
        (("train", "karate", "-b", "chebnt"), "did you mean chebnet?"),
        (
            ("train", "karate", "-m", "unifrm"),
            "did you mean uniform? choose from one_hot, uniform (ls), distillation",
        ),
        (("train", "karate", "--metod", "ls"), "--method"),
        (("train", "karate", "-m", "ls,kd"), "train takes one method, got ls,kd; postel compare takes several"),
    ],
)
def test_a_misspelled_word_gets_a_hint(here: Here, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = here(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and done.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "given", [("-m", "one_hot,uniform:epsilon=0.3"), ("-m", "one_hot", "-m", "ls:epsilon=0.3")]
)
def test_methods_by_comma_or_repeated(here: Here, tmp_path: Path, given: tuple[str, ...]) -> None:
    done = here("compare", "karate", *given, *QUICK, cwd=tmp_path)
    assert '"label": "one_hot"' in done.stdout and '"label": "uniform epsilon=0.3"' in done.stdout


def test_an_option_has_one_spelling_in_all_commands() -> None:
    for name in COMMANDS:
        assert not options(name) & words.OLD_SPELLINGS.keys(), name
    for name in ("train", "compare", "tune", "reproduce"):
        assert {"--method", "-m", "--backbone", "-b"} <= options(name)
    for name in ("train", "compare", "reproduce", "report", "smooth", "demo"):
        assert {"--out", "-o"} <= options(name)
    for name in ("train", "compare", "tune", "diagnose"):
        arguments = [each for each in COMMANDS[name].params if isinstance(each, typer.core.TyperArgument)]
        assert [argument.metavar for argument in arguments] == ["GRAPH"]


def test_old_spellings_are_still_taken(here: Here, tmp_path: Path) -> None:
    plans = [
        here("reproduce", "table-main", flag, "karate", other, "gcn", third, "ls", *DRY, cwd=tmp_path)
        for flag, other, third in (
            ("--datasets", "--backbones", "--methods"),
            ("--dataset", "--backbone", "--method"),
        )
    ]
    assert plans[0] == plans[1] and plans[0].returncode == 0


DRY = ("--dry-run", "--json", "--budget", "fixed", "--splits", "1", "--max-epochs", "1")


def test_links_are_taken_as_listed_by_convert_and_smooth_alike() -> None:
    for name in ("convert", "smooth"):
        (option,) = (each for each in COMMANDS[name].params if "--undirected" in each.opts)
        assert option.secondary_opts == ["--directed"] and not option.default
        assert "as listed (the default, as in postel" in option.help
