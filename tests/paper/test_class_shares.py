"""Models weighted by the class shares of validation nodes, against a count by hand."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
import torch

from postel.errors import InputError
from postel.experiments.graphs import run_fingerprint
from postel.experiments.results import Row
from postel.experiments.running.execute import classifier_of, execute, load_data
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.experiments.store.measurements import Measurements
from postel.paper import weighing
from postel.paper.requests import Options, request_cells
from postel.paper.running import run_target
from postel.paper.tables import class_shares
from postel.paper.target import find_target
from postel.paper.variants import LS, ONE_HOT

DATASETS = ("chameleon", "cora")
TWO = Options(datasets=DATASETS, methods=("one_hot", "ls"), splits=2, workers=1)
NAME = "table-class-shares"


@pytest.fixture(scope="module")
def row() -> Row:
    """A run on a graph whose training nodes have other class shares than its test nodes."""
    graph = {"dataset": "karate", "protocol": "paper", "fingerprint": run_fingerprint("karate", "paper")}
    return execute(RunSpec(**graph, method=MethodSpec(name="one_hot"), max_epochs=30, lr=0.05))


def test_a_run_is_trained_again_and_weighted(row: Row) -> None:
    found, data = weighing.weigh(row), load_data(row.spec)
    assert row.result.test is not None
    assert found["plain"] == pytest.approx([100 * row.result.val.accuracy, 100 * row.result.test.accuracy])
    train, val, test = (data.y[mask].tolist() for mask in (data.train_mask, data.val_mask, data.test_mask))
    common = max(range(4), key=test.count)
    shares = [100 * train.count(common) / len(train), 100 * test.count(common) / len(test)]
    assert found["largest"] == pytest.approx(shares)

    logits = classifier_of(row.spec).fit(data).logits_.double()
    losses = {}
    for step in range(-300, 301):  # the temperature by trying all of them
        tried = torch.log_softmax(logits / 1.01**step, 1)[data.val_mask]
        losses[1.01**step] = -tried.gather(1, data.y[data.val_mask].unsqueeze(1)).mean().item()
    scaled = logits / min(losses, key=losses.__getitem__)
    odds = torch.tensor(
        [(val.count(k) + 1) / (len(val) + 4) * (len(train) + 4) / (train.count(k) + 1) for k in range(4)]
    )
    right = (torch.softmax(scaled, 1) * odds).argmax(1) == data.y
    by_hand = [100 * right[mask].double().mean().item() for mask in (data.val_mask, data.test_mask)]
    assert found["weighted"] == pytest.approx(by_hand)


def test_equal_weights_change_nothing(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "class_weights", lambda known, wanted, classes: torch.full((classes,), 3.0))
    found = weighing.weigh(row)
    assert found["weighted"] == found["plain"]


def test_one_class_of_all_the_weight_is_a_constant_answer(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "class_weights", lambda known, wanted, classes: torch.eye(classes)[0])
    data = load_data(row.spec)
    share = 100 * (data.y[data.test_mask] == 0).double().mean().item()
    assert weighing.weigh(row)["weighted"][1] == pytest.approx(share)


def test_a_run_that_comes_out_differently_is_not_used(row: Row) -> None:
    assert row.result.test is not None
    other = replace(row.result.test, accuracy=row.result.test.accuracy / 2 + 0.01)
    with pytest.raises(InputError, match="karate, split 0, does not come out again here"):
        weighing.weigh(replace(row, result=replace(row.result, test=other)))


@pytest.fixture
def measured(store: Store, fill: Any, monkeypatch: pytest.MonkeyPatch) -> Store:
    """One-hot labels and LS on two graphs; weighting adds 4 points to the former, and 1 to the latter.

    On validation nodes of Cora weighting costs LS 3 points.
    """
    for name in DATASETS:
        plain, uniform = request_cells(Options(splits=2), [name], ["gcn"], [ONE_HOT, LS])
        fill(plain, [0.60, 0.62])
        fill(uniform, [0.62, 0.65])

    def weigh(row: Row, data_root: str | None) -> dict[str, list[float]]:
        assert row.result.test is not None
        plain, more = 100 * row.result.test.accuracy, 4.0 if row.spec.method.name == "one_hot" else 1.0
        loses = (row.spec.dataset, row.spec.method.name) == ("cora", "uniform")
        weighted = [67.0 if loses else 72.0, plain + more]
        return {"largest": [20.0 + row.split, 50.0], "plain": [70.0, plain], "weighted": weighted}

    monkeypatch.setattr(class_shares, "weigh", weigh)
    run_target(find_target(NAME)(TWO), store)
    return store


def test_each_line_compares_before_with_before_and_after_with_after(measured: Store) -> None:
    rendering = find_target(NAME)(TWO).render(measured)
    plain, _, uniform, _ = rendering.values.records()
    assert (plain["variant"], plain["accuracy"], plain["weighted"]) == ("one_hot", *map(pytest.approx, (61, 65)))
    assert (plain["weighting_gains"], plain["weighting_gains_on_validation"]) == (
        pytest.approx(4),
        pytest.approx(2),
    )
    assert (plain["share_in_training"], plain["share_in_test"]) == (20.5, 50)
    assert plain["over_one_hot"] is plain["told_over_one_hot"] is None
    assert (uniform["variant"], uniform["weighting_gains"]) == ("uniform", pytest.approx(1))
    assert uniform["over_one_hot"] == pytest.approx(2.5)
    assert uniform["told_over_one_hot"] == pytest.approx(-0.5)
    assert [uniform["told_low"], uniform["told_high"]] == pytest.approx([-1, 0])

    chameleon, cora, mean = rendering.printed.records()
    assert (chameleon["largest class"], chameleon["LS"]) == ("20.5 → 50.0", "+2.50 → -0.50 [-1.00, +0.00]")
    assert cora["LS"] == "+2.50 → -1.50 [-2.00, -1.00]"
    assert (mean["dataset"], mean["LS"]) == ("mean of 2 graphs", "+2.50 → -1.00")
    assert mean["weighting gains"] == pytest.approx(4) and mean["on validation"] == pytest.approx(2)


def test_a_method_is_weighted_only_where_that_gains_on_validation_nodes(measured: Store) -> None:
    *_, chameleon, cora = find_target(NAME)(TWO).render(measured).values.records()
    assert (chameleon["told"], cora["told"]) == ("weighted", "as it was")
    assert cora["weighting_gains"] == pytest.approx(1) and cora["weighting_gains_on_validation"] == pytest.approx(
        -3
    )
    assert cora["told_over_one_hot"] == pytest.approx(63.5 - 65)


def test_runs_are_measured_once_and_missing_ones_are_not_guessed(
    measured: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_shares, "weigh", lambda row, data_root: pytest.fail("was measured before"))
    run_target(find_target(NAME)(TWO), measured)
    with measured.writing() as connection:
        one = next(key for target, key, _ in Measurements(measured).all() if target == NAME)
        connection.execute("DELETE FROM measured WHERE key = ?", (one,))
    states = [line["state"] for line in find_target(NAME)(TWO).render(measured).values.records()]
    assert sorted(states) == ["not run", "run", "run", "run"]


def test_workers_weigh_what_one_process_does(row: Row) -> None:
    rows = [row, *(execute(row.spec.model_copy(update={"split": split})) for split in (1, 2))]
    weighed = find_target(NAME)(replace(TWO, workers=2))._weighed(rows)
    assert {one.key: found for one, found in weighed} == {one.key: weighing.weigh(one) for one in rows}


def _end(row: Row, data_root: str | None) -> None:
    os._exit(1)


def test_a_worker_that_is_killed_is_told_in_one_sentence(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_shares, "_weigh_one", _end)
    with pytest.raises(InputError, match="killed or ran out of memory; run the same command again"):
        list(find_target(NAME)(replace(TWO, workers=2))._weighed([row]))


def test_settings_that_were_given_do_not_count(store: Store, fill: Any) -> None:
    fill(request_cells(Options(splits=2), ["cora"], ["gcn"], [ONE_HOT])[0], [0.6, 0.6], searched=False)
    run_target(find_target(NAME)(TWO), store)
    assert {line["state"] for line in find_target(NAME)(TWO).render(store).values.records()} == {"not run"}


def test_one_hot_labels_have_to_be_there() -> None:
    with pytest.raises(InputError, match="add one_hot to --method"):
        find_target(NAME)(Options(methods=("ls",)))
