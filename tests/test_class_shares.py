"""Probabilities weighted by the class shares of validation nodes, against a count by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postel.experiments.graphs import run_fingerprint
from postel.experiments.results import Row
from postel.experiments.running.execute import execute, load_data
from postel.experiments.spec import MethodSpec, RunSpec
from support import results_script

LABELS = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@pytest.fixture(scope="module")
def script() -> Any:
    return results_script("class_shares")


@given(known=LABELS, wanted=LABELS)
def test_weights_are_ratios_of_shares(script: Any, known: list[int], wanted: list[int]) -> None:
    found = script.class_weights(torch.tensor(known), torch.tensor(wanted), 4)
    for label in range(4):
        share = (Counter(wanted)[label] + 1) / (len(wanted) + 4)
        before = (Counter(known)[label] + 1) / (len(known) + 4)
        assert found[label].item() == pytest.approx(share / before)


@pytest.fixture(scope="module")
def row() -> Row:
    """A run on a graph whose training nodes have other class shares than its test nodes."""
    graph = {"dataset": "karate", "protocol": "paper", "fingerprint": run_fingerprint("karate", "paper")}
    return execute(RunSpec(**graph, method=MethodSpec(name="one_hot"), max_epochs=30, lr=0.05))


def test_a_run_is_trained_again_and_weighted(script: Any, row: Row) -> None:
    found, data = script.weigh(row), load_data(row.spec)
    assert row.result.test is not None
    assert found.plain == pytest.approx((100 * row.result.val.accuracy, 100 * row.result.test.accuracy))
    train, test = (data.y[mask].tolist() for mask in (data.train_mask, data.test_mask))
    common = max(range(4), key=test.count)
    assert found.largest == pytest.approx(
        (100 * train.count(common) / len(train), 100 * test.count(common) / len(test))
    )


def test_equal_weights_change_nothing(script: Any, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "class_weights", lambda known, wanted, classes: torch.full((classes,), 3.0))
    found = script.weigh(row)
    assert found.weighted == found.plain


def test_one_class_of_all_the_weight_is_a_constant_answer(
    script: Any, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "class_weights", lambda known, wanted, classes: torch.eye(classes)[0])
    data = load_data(row.spec)
    share = 100 * (data.y[data.test_mask] == 0).double().mean().item()
    assert script.weigh(row).weighted[1] == pytest.approx(share)


def test_a_run_that_comes_out_differently_is_not_used(script: Any, row: Row) -> None:
    assert row.result.test is not None
    other = replace(row.result.test, accuracy=row.result.test.accuracy / 2 + 0.01)
    with pytest.raises(RuntimeError, match="karate, split 0 does not come out again"):
        script.weigh(replace(row, result=replace(row.result, test=other)))
