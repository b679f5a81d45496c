"""How long a plan takes: counts of runs, epochs that are learnt from rows, seconds that are measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paper.conftest import Fill, made_row
from postel.experiments.rates import Rate
from postel.experiments.store import Store
from postel.paper.estimate import estimate, work_of
from postel.paper.requests import CellRequest, Options, request_cells
from postel.paper.running import run_target
from postel.paper.target import find_target
from postel.paper.variants import LS, ONE_HOT, POSTEL, Variant

SMALL: dict[str, Any] = {
    "datasets": ("karate",),
    "backbones": ("gcn",),
    "methods": ("ls",),
    "splits": 2,
    "budget": "fixed",
    "max_epochs": 6,
    "workers": 1,
}


def _request(variant: Variant, budget: str) -> CellRequest:
    return request_cells(Options(budget=budget), ["cora"], ["gcn"], [variant])[0]


def fixed_rate(dataset: str, backbone: str) -> Rate:
    return Rate(0.01, False, "2026-01-31")


def _never(dataset: str, backbone: str) -> Rate:
    raise AssertionError("nothing is left to do")


def test_the_estimate_counts_runs_and_learns_from_rows(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    cells = find_target("table-main")(
        Options(datasets=("karate",), backbones=("gcn",), methods=("ls", "postel"))
    ).requests
    before = estimate(cells, store, 1, fixed_rate)
    work = [work_of(cell) for cell in cells]
    assert (before.cells, before.done, before.runs) == (2, 0, sum(one.runs for one in work))
    assert before.trainings == sum(round(one.trainings) for one in work)
    assert before.seconds == pytest.approx(sum(one.trainings for one in work) * 400 * 0.01)
    assert before.how == (
        "from epochs measured on this machine on 2026-01-31 for 1 of 1 pair of dataset and backbone; "
        "400 epochs per training are assumed for 1 of which the store has none"
    )
    stand_in = estimate(cells, store, 1, lambda *_: Rate(0.01, True, "2026-01-31"))
    assert "on random graphs of the published size on 2026-01-31 for 1 whose dataset is not" in stand_in.how
    assert work_of(_request(LS, "grid")).runs == 72 * 10
    assert work_of(_request(POSTEL, "30m")).minutes == 30.0
    assert work_of(_request(POSTEL, "400")).trainings <= 400
    small = find_target("table-main")(Options(**SMALL))
    run_target(small, store)
    nodes = store.all_rows()[0].result.val.count
    longer = sum(work_of(cell, nodes).trainings for cell in cells)
    assert estimate(cells, store, 1, fixed_rate).seconds == pytest.approx(longer * 400 * 0.01)
    assert longer > sum(one.trainings for one in work), "few validation nodes take more splits"
    told = estimate(cells, Store(tmp_path / "new.sqlite"), 1, lambda *_: Rate(0.01, False, "2026-01-31", nodes))
    assert told.trainings == sum(round(work_of(cell, nodes).trainings) for cell in cells)
    done = estimate(small.requests, store, 1, _never)
    assert (done.done, done.runs, done.seconds) == (1, 0, 0.0)


def test_a_search_tries_every_learning_rate_not_only_the_chosen_one(store: Store, fill: Fill) -> None:
    fill(_request(ONE_HOT, "16"), [0.5, 0.5])
    chosen = store.all_rows()
    assert {row.spec.lr for row in chosen} == {0.01}
    cells = [_request(LS, "standard")]
    trainings = work_of(cells[0], nodes=8).trainings

    def seconds(request: CellRequest) -> float:
        return estimate([request], store, 1, fixed_rate).seconds

    # 200 epochs of two trainings, with a hundredth of a second each, whatever seconds the rows have.
    assert {row.result.seconds / row.result.epochs for row in chosen}.isdisjoint({0.01})
    assert seconds(cells[0]) == pytest.approx(trainings * 100 * 0.01)
    for row in chosen:
        slow = row.spec.model_copy(update={"lr": 0.001})
        store.add(made_row(slow, 0.5, False, {"trainings": 1, "epochs": 900}))
        elsewhere = row.spec.model_copy(update={"lr": 0.003})
        store.add(made_row(elsewhere, 0.5, False, {"trainings": 1, "epochs": 5000}))
    assert seconds(cells[0]) == pytest.approx(trainings * (100 + 900) / 2 * 0.01)
    given = replace(cells[0], question=replace(cells[0].question, fixed={"lr": 0.001}))
    assert seconds(given) == pytest.approx(work_of(given, nodes=8).trainings * 900 * 0.01)
