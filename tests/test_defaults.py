"""The form and the pair of alpha and beta that validation nodes prefer, on made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from paper.conftest import made_row
from postel.experiments.results import Row
from postel.experiments.spec import RunSpec
from support import results_script


@pytest.fixture(scope="module")
def script() -> Any:
    return results_script("defaults")


def rows_of(
    script: Any, graph: str, splits: int, accuracy: Callable[[RunSpec], float], **changes: Any
) -> list[Row]:
    """Every run of a graph, with the validation accuracy that is given for it."""
    rows = []
    for spec in script.specs_of("karate", range(splits)):
        spec = spec.model_copy(update={"dataset": graph, **changes})
        rows.append(scored(made_row(spec, 0.1, False, {}), accuracy(spec)))
    return rows


def scored(row: Row, accuracy: float) -> Row:
    """The same run with another validation accuracy."""
    return replace(row, result=replace(row.result, val=replace(row.result.val, accuracy=accuracy)))


def liking(alpha: float, beta: float, gain: float) -> Callable[[RunSpec], float]:
    """Half of the nodes are right, and some more with one pair of the text's form and one network."""

    def accuracy(spec: RunSpec) -> float:
        best = spec.method.name == "postel" and spec.method.params == {"alpha": alpha, "beta": beta}
        return 0.5 + gain * (best and spec.lr == 0.05 and spec.weight_decay == 0)

    return accuracy


def test_pairs_are_ranked_by_what_their_best_network_gains_over_one_hot_labels(script: Any) -> None:
    rows = rows_of(script, "cora", 2, liking(0.2, 9.0, 0.02)) + rows_of(script, "texas", 3, liking(0.5, 1.5, 0.05))
    first, second, *rest = script.ranked(script.scores_of(rows))
    assert first == (pytest.approx(2.5), 0, "postel alpha=0.5 beta=1.5")
    assert second == (pytest.approx(1.0), 0, "postel alpha=0.2 beta=9.0")
    assert len(rest) == 25 and {line[:2] for line in rest} == {(0, 0)}


def test_every_pair_has_the_same_runs(script: Any) -> None:
    rows = rows_of(script, "cora", 2, liking(0.2, 9.0, 0.02))
    assert len(rows) == 28 * 4 * 2
    odd = rows_of(script, "cora", 2, liking(0.8, 0.4, 0.4), protocol="stratified")
    odd += rows_of(script, "cora", 2, liking(0.8, 0.4, 0.4), backbone="mlp")
    odd += rows_of(script, "cora", 2, liking(0.8, 0.4, 0.4), pseudo_labels=True)
    assert script.scores_of(rows + odd) == script.scores_of(rows)
    # A split that one of them lacks counts for none, and a graph without a split for nothing.
    lacking = [row for row in rows if (row.split, row.spec.method.label) != (1, "one_hot")]
    better = [scored(row, 0.9) if row.split == 1 else row for row in lacking]
    assert script.scores_of(better) == script.scores_of([row for row in rows if row.split == 0])
    assert script.scores_of([row for row in rows if row.spec.lr == 0.01]) == {}


def test_small_graphs_have_more_splits(script: Any) -> None:
    assert script.splits_of("karate") == range(10)
