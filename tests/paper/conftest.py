"""A store with hand-made rows and cells: numbers that a test can recompute without training anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from postel.experiments.results import Cell, Row, Setting
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.paper.planning import Planned

Fill = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "rows.sqlite")


@pytest.fixture
def fill(store: Store) -> Fill:
    """Puts a cell with the given test accuracies, a split each, into the store."""

    def put(
        planned: Planned, accuracies: Sequence[float], *, collapsed: Sequence[bool] = (), **result: Any
    ) -> None:
        rows = []
        for split, accuracy in enumerate(accuracies):
            spec = RunSpec(
                dataset=planned.dataset,
                fingerprint="f",
                protocol=planned.protocol,
                split=split,
                seed=split,
                backbone=planned.backbone,
                method=MethodSpec(name=planned.variant.method, params=planned.variant.params),
                pseudo_labels=planned.variant.pseudo_labels,
            )
            row = made_row(spec, accuracy, collapsed[split] if collapsed else False, result)
            store.add(row)
            rows.append(row)
        store.add_cell(
            Cell.from_dict(
                {
                    "key": f"{planned.dataset} {planned.backbone} {planned.variant.slug} {len(accuracies)}",
                    "dataset": planned.dataset,
                    "protocol": planned.protocol,
                    "recipe": "paper",
                    "backbone": planned.backbone,
                    "method": rows[0].spec.method.model_dump(),
                    "pseudo_labels": planned.variant.pseudo_labels,
                    "settings": Setting.of(rows[0].spec).training(),
                    "budget": {
                        "kind": "trainings",
                        "amount": 16,
                        "trials": 16,
                        "search_splits": 3,
                        "text": "16 trials, 3 search splits",
                    },
                    "splits": list(range(len(accuracies))),
                    "run_keys": [row.key for row in rows],
                    "target": "table-main",
                    "asked": planned.asked(),
                }
            )
        )

    return put


def made_row(spec: RunSpec, accuracy: float, collapsed: bool, result: dict[str, Any]) -> Row:
    scores = {
        "accuracy": accuracy,
        "macro_f1": 0.5,
        "balanced_accuracy": 0.5,
        "majority": 0.25,
        "ece": 0.1,
        "nll": 1.0,
        "count": 8,
    }
    curves = {"objective": [1.0, 0.5], "loss": {"train": [1.0, 0.5], "val": [1.1, 0.7], "test": [1.2, 0.8]}}
    return Row.from_dict(
        {
            "key": spec.key,
            "spec": spec.model_dump(mode="json"),
            "result": {
                "val": scores,
                "test": scores,
                "val_loss": 0.7,
                "best_epoch": 2,
                "best_round": 0,
                "improved_rounds": 0,
                "trainings": 2,
                "epochs": 200,
                "seconds": 1.0,
                **result,
            },
            "collapsed": collapsed,
            "rounds": [
                {
                    "round": 0,
                    "best_epoch": 2,
                    "epochs": 2,
                    "improved": True,
                    "val_loss": 0.7,
                    "agreement": {},
                    "conditional": None,
                    "curves": curves,
                }
            ],
        }
    )
