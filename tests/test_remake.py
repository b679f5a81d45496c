"""README shows gains once enough of them were searched, with sentences that follow from the cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postel.experiments.results import Cell, Row, Setting, Spent
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.experiments.store.reader import Reader
from postel.paper.figures.gains import FigureGains
from postel.paper.names import DATASETS
from postel.paper.requests import Options, request_cells
from postel.paper.variants import LS, ONE_HOT, POSTEL
from postel.training.metrics import Scores
from postel.training.result import Result
from support import results_script

GRAPHS = ("cora", "citeseer", "texas", "cornell")


@pytest.fixture(scope="module")
def remake() -> Any:
    return results_script("remake")


def reader(
    path: Path,
    graphs: tuple[str, ...],
    searched: bool = True,
    majority: float = 0.25,
    constant: tuple[str, ...] = GRAPHS,
) -> Reader:
    store = Store(path)
    for request in request_cells(Options(), graphs, ["gcn"], [ONE_HOT, LS, POSTEL]):
        question, rows = request.question, []
        smoothing = {"cora": 0.0, "cornell": 0.02}.get(request.dataset, 0.01)
        gain = {"one_hot": 0.0, "uniform": smoothing, "postel": -0.02}[request.variant.method]
        for split in range(10):
            spec = RunSpec(
                dataset=request.dataset, fingerprint="f", split=split, seed=split, method=question.method,
                pseudo_labels=question.pseudo_labels,
            )  # fmt: skip
            scores = Scores(
                0.7 + gain + 0.001 * (split % 2) * (gain > 0),
                0.5,
                0.5,
                1.0,
                0.1,
                majority if request.dataset in constant else 0.25,
                80,
            )
            result = Result(
                scores, scores, val_loss=0.7, best_epoch=2, best_round=0, improved_rounds=0, trainings=1, epochs=9,
                seconds=1.0,
            )  # fmt: skip
            rows.append(Row(spec.key, spec, result, False))
        store.add_many(rows)
        asked = request_cells(
            Options(budget="standard", search_splits=10), [request.dataset], ["gcn"], [request.variant]
        )
        spent = Spent(80, 10, "made up", method_searched=searched)
        keys = tuple(row.key for row in rows)
        store.add_cell(
            Cell(f"{request.dataset}{keys[0]}", asked[0].question, Setting.of(rows[0].spec), spent, keys)
        )
    return Reader(store)


@pytest.mark.parametrize(("graphs", "searched"), [(GRAPHS[:3], True), (GRAPHS, False)])
def test_too_few_cells_show_nothing(remake: Any, tmp_path: Path, graphs: Any, searched: bool) -> None:
    assert remake.gains_of(FigureGains(), reader(tmp_path / "rows.sqlite", graphs, searched)) == ""


def test_sentences_count_what_is_clear(remake: Any, tmp_path: Path) -> None:
    shown = remake.gains_of(FigureGains(), reader(tmp_path / "rows.sqlite", GRAPHS))
    assert shown.startswith("![") and "(results/study/figure-gains.png)" in shown
    assert (
        "With GCN on Cora, CiteSeer, Texas and Cornell, every method" in shown
        and "([standard rungs](docs/" in shown
    )
    assert (
        "is +1.0 with LS and -2.0 with PosteL (as released: by the paper's code; calibrated: our form), where the "
        "paper has +5.4 for PosteL" in shown
    )
    assert "Clearly better after correction for 8 comparisons:" in shown
    assert "LS on Texas; LS on Cornell; clearly worse: PosteL on Cora; PosteL on CiteSeer; PosteL on" in shown
    assert "A constant answer" not in shown  # it scores 25


def test_graphs_are_not_named_if_there_are_all(remake: Any, tmp_path: Path) -> None:
    shown = remake.gains_of(FigureGains(), reader(tmp_path / "rows.sqlite", DATASETS))
    assert "With GCN on all of the paper's graphs, every method" in shown


def test_a_constant_answer_is_named_where_it_scores_as_much(remake: Any, tmp_path: Path) -> None:
    shown = remake.gains_of(FigureGains(), reader(tmp_path / "rows.sqlite", GRAPHS, majority=0.67))
    assert "about as much as PosteL on Cora (67.0), CiteSeer (67.0), Texas (67.0) and Cornell (67.0)." in shown


def test_gains_are_told_without_the_graphs_of_a_constant_answer(remake: Any, tmp_path: Path) -> None:
    rows = reader(tmp_path / "rows.sqlite", GRAPHS, majority=0.67, constant=("cornell",))
    shown = remake.gains_of(FigureGains(), rows)
    assert "as PosteL on Cornell (67.0); without them the means are +0.7 with LS and -2.0 with PosteL." in shown


def test_claims_are_counted_by_verdict(remake: Any, tmp_path: Path) -> None:
    path = tmp_path / "table-claims.csv"
    path.write_text("claim,verdict\na,holds\nb,not run\nc,does not hold\nd,not run\n")
    said = remake.claims_in_words(path)
    assert said.startswith("The paper's 4 [claims](docs/reproduction.md#the-papers-claims) so far: ")
    assert said.endswith("holds 1, holds in part 0, does not hold 1, not run 2.")
