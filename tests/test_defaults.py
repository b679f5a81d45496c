"""The pair of alpha and beta that validation nodes prefer, on made-up searches."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

from paper.conftest import made_row
from postel.experiments.spec import MethodSpec, RunSpec

SCRIPT = Path(__file__).resolve().parents[1] / "results" / "defaults.py"


def script() -> Any:
    spec = importlib.util.spec_from_file_location("defaults", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(dataset: str, alpha: float, accuracy: float, lr: float = 0.01, **changes: Any) -> Any:
    method = MethodSpec(name="postel", params={"alpha": alpha, "beta": 0.4})
    values = {"dataset": dataset, "fingerprint": "f", "split": 0, "method": method, "lr": lr, **changes}
    made = made_row(RunSpec(**{"pseudo_labels": False, **values}), 0.1, False, {})
    return replace(made, result=replace(made.result, val=replace(made.result.val, accuracy=accuracy)))


def test_pairs_are_ranked_by_mean_regret_on_validation_nodes() -> None:
    rows = [
        row("cora", 0.2, 0.80), row("cora", 0.2, 0.86, lr=0.05), row("cora", 0.8, 0.88),
        row("texas", 0.2, 0.70), row("texas", 0.8, 0.60),
        row("texas", 0.5, 0.99),  # on one graph only
        row("texas", 0.8, 0.99, split=1), row("texas", 0.8, 0.99, pseudo_labels=True),
        row("texas", 0.8, 0.99, protocol="stratified"), row("texas", 0.8, 0.99, backbone="mlp"),
    ]  # fmt: skip
    module = script()
    found = module.accuracies_of_pairs(rows)
    first, second = module.ranked(found, "postel")
    assert first[1:] == (2, 3, (0.2, 0.4)) and second[1:] == (2, 2, (0.8, 0.4))
    assert abs(first[0] - (2 + 29) / 2) < 1e-9 and abs(second[0] - (0 + 39) / 2) < 1e-9
    assert module.ranked(found, "postel_as_released") == []
