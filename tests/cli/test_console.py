"""Tables in terminals of any width: no cell is cut, and every block says whose numbers it has."""

from __future__ import annotations

import pytest

from postel.cli import console
from postel.cli.console import print_table

COLUMNS = ["method", "accuracy", "against one-hot", "p", "macro-F1", "cal.err."]
ROWS = [
    ["one_hot", "80.8±1.2", "–", "–", "81.8±1.4", "13.2±1.4"],
    ["postel:alpha=0.8 (one class)", "81.4±0.7", "+17.3 [+16.7, +18.0]", "1.000", "81.2±0.6", "30.4±0.8"],
]


@pytest.fixture(autouse=True)
def fresh_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console keeps the width that ``COLUMNS`` named when it was made, maybe by an earlier test."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(console, "out", console.out.__class__(highlight=False, markup=False))


@pytest.mark.parametrize("width", [10, 40, 60, 80, 100, 200])
def test_no_cell_is_lost_in_a_terminal_of_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("title", COLUMNS, ROWS)
    shown = capsys.readouterr().out
    assert "…" not in shown
    for cell in [*COLUMNS[1:], *ROWS[1][1:]]:
        assert cell in shown
    blocks = shown.split("\n\n")
    assert all("method" in block and "one_hot" in block for block in blocks)
    assert all("postel:alpha=0.8" in block for block in blocks)
    assert (len(blocks) == 1) == (width >= 80)
    if width >= 60:
        assert max(map(len, shown.splitlines())) <= width


def test_a_pipe_gets_the_table_in_one_piece(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wide = [*COLUMNS, "rounds", "seconds", "trainings", "share of the test nodes"]
    print_table("title", wide, [[*row, "1.0", "2.0", "3.0", "50.0"] for row in ROWS])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and lines[1].split()[0] == "method" and len(lines[1]) > 80
    assert lines[3].startswith("postel:alpha=0.8 (one class)") and lines[3].endswith("50.0")


def test_text_alone_is_folded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_table("title", ["name", "what it shows"], [["table", "a sentence that is longer than a line"]], left=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 30
