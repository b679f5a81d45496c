"""A store with hand-made rows and cells: numbers that a test can recompute without training anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postel.experiments.budget import Budget
from postel.experiments.results import Cell, Round, Row, Setting, Spent
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.paper.requests import CellRequest
from postel.training.metrics import Scores
from postel.training.result import Result

Fill = Callable[..., list[Row]]
SEARCHED = Budget("trainings", 16)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "rows.sqlite")


@pytest.fixture
def fill(store: Store) -> Fill:
    """Puts a cell with the given test accuracies, a split each, into the store, and returns its rows.

    ``budget`` and ``searched`` say how its setting was found, and whether that compared settings of the method.
    """

    def put(
        asked: CellRequest,
        accuracies: Sequence[float],
        *,
        collapsed: Sequence[bool] = (),
        budget: Budget = SEARCHED,
        searched: bool | None = True,
        **result: Any,
    ) -> list[Row]:
        question = asked.question
        rows = []
        for split, accuracy in enumerate(accuracies):
            spec = RunSpec(
                dataset=question.dataset,
                fingerprint="f",
                protocol=question.protocol,
                split=split,
                seed=split,
                backbone=question.backbone,
                method=question.method,
                pseudo_labels=question.pseudo_labels,
            )
            rows.append(made_row(spec, accuracy, collapsed[split] if collapsed else False, result))
        store.add_many(rows)
        splits = tuple(range(len(accuracies)))
        store.add_cell(
            Cell(
                key=f"{question.dataset} {question.backbone} {asked.variant.slug} {len(accuracies)} {budget.kind}",
                question=replace(question, splits=splits, budget=budget, search_splits=3),
                chosen=Setting.of(rows[0].spec),
                spent=Spent(
                    trials=16, search_splits=3, text="16 trials, 3 search splits", method_searched=searched
                ),
                run_keys=tuple(row.key for row in rows),
                target="table-main",
            )
        )
        return rows

    return put


def made_row(spec: RunSpec, accuracy: float, collapsed: bool, changes: dict[str, Any]) -> Row:
    scores = Scores(accuracy, macro_f1=0.5, balanced_accuracy=0.5, nll=1.0, ece=0.1, majority=0.25, count=8)
    values: dict[str, Any] = {"val_loss": 0.7, "best_epoch": 2, "best_round": 0, "improved_rounds": 0, **changes}
    result = Result(scores, scores, **{"trainings": 2, "epochs": 200, "seconds": 1.0, **values})
    curves = {"objective": [1.0, 0.5], "loss": {"train": [1.0, 0.5], "val": [1.1, 0.7], "test": [1.2, 0.8]}}
    rounds = (Round(0, 0.7, True, 2, 2, {}, None, curves),)
    return Row(spec.key, spec, result, collapsed, rounds=rounds)
