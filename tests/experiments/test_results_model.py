"""The results model: what was stored before opens again, and questions are told apart by what they ask."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from postel.experiments.budget import Budget
from postel.experiments.intervals import Interval, PairedDifference
from postel.experiments.results import Cell, Question, Row
from postel.experiments.running.execute import execute
from postel.experiments.scores import Gain, Score
from postel.experiments.spec import MethodSpec, RunSpec

CELLS = Path(__file__).resolve().parents[2] / "results" / "rows" / "cells.json"
LS = MethodSpec(name="uniform")


@pytest.fixture(scope="module")
def stored() -> list[dict]:
    return json.loads(CELLS.read_text())


def test_committed_cells_survive_a_round_trip(stored: list[dict]) -> None:
    assert len(stored) > 200
    for values in stored:
        assert Cell.from_dict(values).as_dict() == values


def test_a_cell_without_its_question_opens_and_answers_nothing(stored: list[dict]) -> None:
    values = {name: value for name, value in stored[0].items() if name != "asked"}
    cell = Cell.from_dict(values)
    assert cell.as_dict() == values
    assert not cell.answers(cell.question)


def test_rungs_and_marks_are_kept(stored: list[dict]) -> None:
    budget = {
        **stored[0]["budget"],
        "trainings": 90,
        "rungs": [{"tried": 27, "splits": 1, "trainings": 60}, {"tried": 9, "splits": 2, "trainings": 30}],
        "method_searched": True,
    }
    values = {**stored[0], "budget": budget, "marks": ["one_class"]}
    cell = Cell.from_dict(values)
    assert cell.spent.rungs[1].tried == 9 and cell.spent.method_searched and cell.as_dict() == values


def test_a_row_survives_a_round_trip() -> None:
    from postel.datasets.load import open_graph

    fingerprint = open_graph("karate")[0].fingerprint()
    spec = RunSpec(
        dataset="karate", fingerprint=fingerprint, method=MethodSpec(name="postel"), pseudo_labels=1, max_epochs=5
    )
    row = execute(spec)
    values = json.loads(json.dumps(row.as_dict()))
    assert Row.from_dict(values) == row
    assert row.percent("accuracy") == 100 * values["result"]["test"]["accuracy"]
    assert row.best_round is not None and len(row.best_round.loss("val")) == row.best_round.epochs
    assert "rounds" not in row.without_rounds().as_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "texas"},
        {"backbone": "gat"},
        {"method": MethodSpec(name="uniform", params={"epsilon": 0.1})},
        {"pseudo_labels": True},
        {"protocol": "stratified"},
        {"recipe": "raw"},
        {"fixed": {"lr": 0.05}},
    ],
)
def test_each_thing_asked_makes_another_topic(change: dict) -> None:
    asked = Question("cora", "gcn", LS)
    assert replace(asked, **change).topic != asked.topic and replace(asked, **change).key != asked.key


def test_one_round_is_not_rounds_without_limit() -> None:
    asked = Question("cora", "gcn", MethodSpec(name="postel"), pseudo_labels=True)
    assert replace(asked, pseudo_labels=1).topic != asked.topic


def test_splits_and_budget_change_the_key_and_not_the_topic() -> None:
    asked = Question("cora", "gcn", LS)
    for change in ({"splits": (0, 1)}, {"budget": Budget("trials", 8)}, {"fingerprint": "f"}):
        assert replace(asked, **change).topic == asked.topic and replace(asked, **change).key != asked.key


def test_what_is_left_open_is_not_compared(stored: list[dict]) -> None:
    cell = Cell.from_dict(stored[0])
    open_question = replace(cell.question, budget=None, search_splits=None, fingerprint=None)
    assert cell.answers(cell.question) and cell.answers(open_question)
    assert not cell.answers(replace(open_question, budget=Budget("trials", 999)))
    assert not cell.answers(replace(open_question, search_splits=7))


@pytest.mark.parametrize(
    ("low", "high", "p", "resampled", "corrected", "reads"),
    [
        (0.5, 2.0, 0.01, 0.02, None, "more"),
        (-2.0, -0.5, 0.01, 0.02, 0.04, "less"),
        (-0.5, 2.0, 0.01, 0.02, 0.04, "open"),
        (0.5, 2.0, 0.06, 0.02, 0.04, "open"),
        (0.5, 2.0, 0.01, 0.06, None, "open"),
        (0.5, 2.0, 0.01, 0.02, 0.2, "open"),
    ],
)
def test_clear_takes_interval_and_tests_together(
    low: float, high: float, p: float, resampled: float, corrected: float | None, reads: str
) -> None:
    interval = Interval((low + high) / 2, low, high)
    gain = Gain(PairedDifference(interval, p, interval, resampled), 10, corrected)
    assert gain.reads == reads and gain.is_clear == (reads != "open")


def test_gains_are_of_shared_splits_only() -> None:
    assert Score({0: 1.0}).gain_over(Score({1: 2.0})) is None
    gain = Score({0: 80.0, 1: 90.0, 5: 1.0}).gain_over(Score({5: 0.5, 0: 79.0}))
    assert gain is not None and gain.splits == 2 and gain.mean == pytest.approx(0.75)
