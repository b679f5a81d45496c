"""A budget of trainings is a promise: no search exceeds it, however many rounds of pseudo-labels its runs have."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.search.test_tune import QUICK, graph, made_up, timeless
from postel import tune
from postel.errors import InputError
from postel.experiments.budget import Budget
from postel.experiments.search import memory
from postel.experiments.search.choice import Measured
from postel.experiments.search.decision import decide
from postel.experiments.search.driving import Driven
from postel.experiments.search.method_search import MethodSearch
from postel.experiments.search.plan import MOST_ROUNDS, plan_rungs, rounds_within
from postel.experiments.search.stored import TooSmallError, tune_dataset
from postel.experiments.search.template import Template
from postel.experiments.spec import MethodSpec
from postel.experiments.store import Store


def begin(method: str, budget: int, splits: int = 10, nodes: int = 500, final: int = 0, backbone: str = "gcn"):
    chosen = MethodSpec.parse(method)
    template = Template(
        "memory", "0", "masks", "as given", backbone, chosen, chosen.rounds(True), {}, range(splits)
    )
    return Driven.begin(template, Budget("trainings", budget), nodes, final=final)


# Small spaces: what is planned and paid does not depend on how many settings there are beyond a few hundred.
METHODS = ["one_hot", "uniform", "distillation", "postel:beta=0.4", "calibrated", "postel:accept=scaled,beta=0.4"]


def outcome(driven: Driven, task, generator: random.Random, share: float) -> Measured | None:
    """A run that takes as many rounds as it may with probability ``share``, and now and then fails."""
    template = driven.template
    if generator.random() < 0.02:
        return None
    score = 0.8 - 0.01 * sum(task.place) % 7 + generator.gauss(0, 0.01)
    cost = template.trainings_each
    if task.rounds:
        most = template.trainings_at_most
        cost = most if generator.random() < share else generator.randint(min(2, most), most)
    return Measured(template.replicates[task.replicate][0], score, 1 - score, nodes=100, trainings=cost)


def finish(driven: Driven, share: float, order: random.Random | None = None) -> MethodSearch:
    search = driven.search
    while tasks := search.tasks():
        if order is not None:
            order.shuffle(tasks)
            tasks = tasks[: order.randint(1, len(tasks))]  # outcomes come in any order and any number
        search.tell({task: outcome(driven, task, random.Random(str(task)), share) for task in tasks})
    return search


@settings(deadline=None, max_examples=25)
@given(
    method=st.sampled_from(METHODS),
    backbone=st.sampled_from(["gcn", "appnp"]),
    splits=st.sampled_from([1, 2, 3, 10]),
    nodes=st.sampled_from([7, 37, 200, 500]),
    budget=st.integers(1, 450),
    tests=st.booleans(),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_no_search_spends_more_than_its_budget(method, backbone, splits, nodes, budget, tests, share):
    driven = begin(method, budget, splits, nodes, final=splits if tests else 0, backbone=backbone)
    search = finish(driven, share)
    if driven.too_small:
        assert not search.known and search.found is None and "too small to search" in driven.too_small
        return
    price = driven.template.trainings_at_most if search.rounds else search.each
    failed = sum(run is None for run in search.known.values())
    if search.found is None:
        assert failed
        return
    missing = max(0, search.final - len(search.found.runs)) * price
    assert search.trainings + missing <= budget
    compared = {task.place for task in search.known}
    assert len(compared) > 1 and sum(rung.trainings for rung in search.found.rungs) == search.trainings


def test_most_of_the_budget_is_spent():
    for budget in (100, 200, 400):
        search = finish(begin("postel:beta=0.4", budget), share=0.0)
        assert 0.7 * budget <= search.trainings <= budget
        assert len(search.found.runs) == 10


def test_the_order_of_outcomes_changes_nothing():
    found = [finish(begin("calibrated", 150), 0.2, order=random.Random(seed)).found for seed in range(4)]
    assert found[0] is not None and all(other == found[0] for other in found)


def test_plans_without_rounds_and_standard_ones_do_not_know_of_it():
    for budget in (None, 240):
        for size in (8, 72, 800, 1120):
            for nodes in (37, 500):
                plain = {"replicates": 10, "nodes": nodes, "rounds": False, "budget": budget}
                assert plan_rungs(size, **plain, most=8, with_rounds=3.0, final=10) == plan_rungs(size, **plain)
    rounds = {"replicates": 10, "nodes": 500, "rounds": True}
    bounded = plan_rungs(1120, **rounds, each=2, most=8, with_rounds=3.0, final=10)
    assert bounded == plan_rungs(1120, **rounds)


def test_rounds_are_bounded_by_the_budget_and_not_more_than_asked():
    assert rounds_within(10_000, True, 10) == MOST_ROUNDS
    assert rounds_within(24, True, 10) == 1 and rounds_within(24, False, 10) is False
    assert rounds_within(24, 0, 10) == 0


def counted(monkeypatch) -> dict[str, int]:
    """Trainings by method, counted where they are made."""
    real, spent = memory._row, {}

    def row(spec, *rest):
        came = real(spec, *rest)
        spent[spec.method.name] = spent.get(spec.method.name, 0) + came.result.trainings
        return came

    monkeypatch.setattr(memory, "_row", row)
    return spent


@pytest.mark.parametrize("budget", [8, 24, 60])
def test_tune_in_memory_keeps_its_budget(budget, monkeypatch, tmp_path):
    spent = counted(monkeypatch)
    data = graph(3)
    methods = ["postel", "calibrated", "kd"]
    choice = tune(data, "gcn", methods=methods, budget=budget, store=tmp_path / "s.sqlite", **QUICK)
    assert spent == {line.method.name: line.trainings for line in choice.lines}
    assert max(spent.values()) <= budget and choice.chosen.trainings > 0
    kept = dict(spent)
    again = tune(data, "gcn", methods=methods, budget=budget, store=tmp_path / "s.sqlite", **QUICK)
    assert timeless(again) == timeless(choice) and spent == kept


def test_one_worker_and_four_spend_and_choose_the_same():
    data = graph(3)
    one, four = (
        tune(data, "gcn", methods=["calibrated"], budget=30, **{**QUICK, "workers": workers}) for workers in (1, 4)
    )
    assert timeless(one) == timeless(four) and one.trainings == four.trainings


def test_a_budget_that_is_too_small_is_a_sentence_and_no_verdict():
    data = graph(3)
    with pytest.raises(
        InputError, match=r"a budget of 1 training is too small to search one_hot.*; give a larger budget"
    ):
        tune(data, "gcn", methods=["ls"], budget=1, **QUICK)
    choice = tune(data, "gcn", methods=["ls", "postel"], budget=3, **QUICK)
    assert [line.method.name for line in choice.lines] == ["one_hot", "uniform"]
    (sentence,) = choice.left_out
    assert sentence == "a budget of 3 trainings is too small to search postel: comparing two settings may take 4."
    assert sentence in str(choice) and "postel" not in choice.reason
    alone = tune(data, "gcn", methods=["postel"], budget=3, **QUICK)
    assert alone.reason == "Only one_hot labels were searched: that says nothing of others."
    assert "one-hot labels:" not in str(alone) and "points" not in str(alone)


def test_the_command_pays_for_the_runs_on_all_splits_too(tmp_path: Path):
    def spent(store: Store) -> int:
        return sum(row.result.trainings for row in store.get(store.keys()).values())

    quick = {"workers": 1, "fixed": {"max_epochs": 3}}
    for number, (method, budget, search_splits) in enumerate(
        [("one_hot", "16", None), ("calibrated", "40", None), ("uniform", "20", 2), ("postel", "60", 2)]
    ):
        store = Store(tmp_path / f"{number}.sqlite")
        cell = tune_dataset(
            "karate",
            "gcn",
            method,
            splits=range(6),
            search_splits=search_splits,
            budget=budget,
            store=store,
            **quick,
        )
        assert len(cell.run_keys) == 6 and spent(store) <= int(budget)
        assert ("more to run the choice on all splits" in cell.spent.text) == (spent(store) > cell.spent.trainings)
    store = Store(tmp_path / "small.sqlite")
    with pytest.raises(
        TooSmallError, match=r"a budget of 10 trainings is too small to search one_hot.* on 6 splits may take 12"
    ):
        tune_dataset("karate", "gcn", "one_hot", splits=range(6), budget="10", store=store, **quick)
    assert len(store) == 0


def test_the_table_and_the_reason_rest_on_the_same_runs():
    one_hot = made_up("one_hot", [[1] * 60 + [0] * 40, [1] * 20 + [0] * 80, [1] * 90 + [0] * 10])
    soft = made_up("uniform", [[1] * 80 + [0] * 20])
    for lines in ([one_hot, soft], [soft, one_hot]):
        choice = decide(lines)
        scores = {line.method.name: line.score for line in choice.lines}
        assert choice.reason.startswith(
            f"Use uniform: {100 * (scores['uniform'] - scores['one_hot']):+.2f} points"
        )
        assert "60.00" in str(choice) and "56.67" not in str(choice)


def test_runs_are_paired_by_split():
    one_hot = made_up("one_hot", [[1] * 60 + [0] * 40, [1] * 20 + [0] * 80])
    soft = made_up("uniform", [[1] * 80 + [0] * 20, [1] * 30 + [0] * 70])
    choice = decide([one_hot, replace(soft, runs=soft.runs[1:])])  # its run on split 0 failed
    assert "+10.00 points" in choice.reason and {line.runs[0].split for line in choice.lines} == {1}
    with pytest.raises(InputError, match="no split has a run of every method"):
        decide([replace(one_hot, runs=one_hot.runs[:1]), replace(soft, runs=soft.runs[1:])])
