"""Settings chosen for all splits together and by each split alone, on made-up runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paper.conftest import made_row
from postel.experiments.budget import Budget
from postel.experiments.questions import Question
from postel.experiments.results import Cell, Row, Setting, Spent
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from support import results_script

ONE_HOT = Question(
    "karate", "gcn", MethodSpec(name="one_hot"), False, fingerprint="f", splits=(0, 1), budget=Budget("standard")
)
#: Accuracy on validation and on test nodes of three settings, by split: the first is best on both together, the
#: others are best on one. The remaining settings are bad on validation nodes and perfect on test nodes.
SEEN = {0: ((0.8, 0.7), (0.8, 0.7)), 1: ((0.9, 0.6), (0.5, 0.1)), 2: ((0.5, 0.1), (0.9, 0.5))}
BAD = (0.1, 1.0)


@pytest.fixture(scope="module")
def script() -> Any:
    return results_script("own_choice")


def cell_of(question: Question, *, searched: bool = True) -> Cell:
    setting = Setting.of(RunSpec(dataset="karate", fingerprint="f", method=question.method))
    return Cell(f"{question.method.name} {searched}", question, setting, Spent(method_searched=searched))


def rows_of(script: Any, cell: Cell) -> list[Row]:
    rows = []
    for number, runs in enumerate(script.grid_of(cell)):
        for split, spec in enumerate(runs):
            val, test = SEEN[number][split] if number in SEEN else BAD
            row = made_row(spec, test, False, {})
            rows.append(replace(row, result=replace(row.result, val=replace(row.result.val, accuracy=val))))
    return rows


def test_every_split_may_choose_another_setting(script: Any, tmp_path: Path) -> None:
    cell, store = cell_of(ONE_HOT), Store(tmp_path / "rows.sqlite")
    store.add_many(rows_of(script, cell))
    (found,) = script.choices_of([cell, replace(cell, key="asked again")], store)
    assert (found.settings, found.together, found.apart) == (8, pytest.approx(70), pytest.approx(55))
    assert found.difference == pytest.approx(15)


def test_a_cell_needs_all_settings_on_all_splits(script: Any, tmp_path: Path) -> None:
    cell, store = cell_of(ONE_HOT), Store(tmp_path / "rows.sqlite")
    *most, last = rows_of(script, cell)
    store.add_many(most)
    assert script.choices_of([cell], store) == []
    store.add(last)
    assert len(script.choices_of([cell], store)) == 1
    assert script.choices_of([cell_of(ONE_HOT, searched=False)], store) == []
    assert script.choices_of([cell_of(replace(ONE_HOT, method=MethodSpec(name="postel")))], store) == []


def test_it_prints_every_cell_and_the_mean_of_every_method(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cell, store = cell_of(ONE_HOT), Store(tmp_path / "rows.sqlite")
    monkeypatch.setattr("sys.argv", ["own_choice.py", "--store", str(tmp_path / "rows.sqlite")])
    script.main()
    assert "nothing to say" in capsys.readouterr().out
    store.add_many(rows_of(script, cell))
    store.add_cell(cell)
    script.main()
    _, line, mean = capsys.readouterr().out.splitlines()
    assert line.split() == [
        "paper,",
        "GCN",
        "on",
        "Karate",
        "club",
        "one-hot",
        "8",
        "settings",
        "70.0",
        "55.0",
        "+15.0",
    ]
    assert mean == "one-hot: mean +15.00 over 1 cell, from +15.0 to +15.0"
