"""The picture of gains draws what was fairly searched, and says on the image what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from postel.experiments.budget import Budget
from postel.experiments.store import Store
from postel.experiments.store.reader import Reader
from postel.paper.figures.gains import FigureGains, budgets_by_graph, fair_pairs, gains_figure
from postel.paper.requests import Options, request_cells
from postel.paper.variants import LS, ONE_HOT, POSTEL, Variant

OPTIONS = Options(datasets=("texas", "cora"))
LOW = [0.70, 0.72, 0.71, 0.73, 0.70, 0.72, 0.71, 0.73, 0.70, 0.72]
HIGH = [score + 0.1 + 0.001 * (place % 3) for place, score in enumerate(LOW)]
NEAR = [score + (0.02 if place % 2 else -0.015) for place, score in enumerate(LOW)]


def asked(dataset: str, variant: Variant) -> Any:
    return request_cells(OPTIONS, [dataset], ["gcn"], [variant])[0]


def drawn(store: Store) -> tuple[Any, str]:
    figure = gains_figure(FigureGains(OPTIONS).pairs(Reader(store).evidence))
    return figure, " ".join(figure._supxlabel.get_text().split())


def marks(figure: Any, marker: str) -> list[float]:
    return [
        float(line.get_xdata()[0]) for axes in figure.axes for line in axes.lines if line.get_marker() == marker
    ]


def test_ours_is_filled_and_the_papers_hollow(store: Store, fill: Any) -> None:
    for variant, scores in ((ONE_HOT, LOW), (LS, NEAR), (POSTEL, HIGH)):
        fill(asked("texas", variant), scores, searched=True)
    figure, caption = drawn(store)
    gains = [sum(b - a for a, b in zip(LOW, scores, strict=True)) * 10 for scores in (NEAR, HIGH)]
    assert marks(figure, "o") == pytest.approx(gains)
    assert marks(figure, "D") == pytest.approx([77.87 - 77.38, 80.82 - 77.38])
    sizes = [line.get_markersize() for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert sizes[1] > sizes[0]  # the second is clear
    assert "n = 10 splits" in caption and "16 trainings" in caption and "for 2 lines" in caption
    assert "Not run with a search: Texas (PosteL as released, calibrated), Cora." in caption


@pytest.mark.parametrize(
    ("budget", "searched"),
    [(Budget("trials", 16), True), (Budget("trainings", 16), False), (Budget("trainings", 16), None)],
)
def test_what_was_not_searched_is_not_drawn(store: Store, fill: Any, budget: Budget, searched: Any) -> None:
    fill(asked("texas", ONE_HOT), LOW, searched=True)
    fill(asked("texas", POSTEL), HIGH, budget=budget, searched=searched)
    figure, caption = drawn(store)
    assert marks(figure, "o") == [] == marks(figure, "D")
    assert caption == "Not run with a search: Texas, Cora."
    states = {line["state"] for line in FigureGains(OPTIONS).render(store).values.records()}
    assert states == {"not run"}


def test_unequal_budgets_are_left_out_and_named(store: Store, fill: Any) -> None:
    fill(asked("texas", ONE_HOT), LOW, searched=True)
    fill(asked("texas", LS), NEAR, searched=True)
    fill(asked("texas", POSTEL), HIGH, budget=Budget("trainings", 400), searched=True)
    figure, caption = drawn(store)
    assert len(marks(figure, "o")) == 1
    assert "Left out, searched with unequal budgets: Texas (PosteL)." in caption
    lines = {line["method"]: line for line in FigureGains(OPTIONS).render(store).values.records() if line["gain"]}
    assert lines["PosteL"]["reads"] == "unequal search"
    assert lines["LS"]["corrected_p"] == lines["LS"]["resampled_p"], "the only line that is compared"


def test_a_graph_with_another_budget_is_named(store: Store, fill: Any) -> None:
    for graph, budget in (
        ("texas", Budget("standard")),
        ("cora", Budget("standard")),
        ("pubmed", Budget("trainings", 240)),
    ):
        for variant, scores in ((ONE_HOT, LOW), (POSTEL, HIGH)):
            fill(asked(graph, variant), scores, budget=budget)
    pairs = FigureGains(Options(datasets=("pubmed", "texas", "cora"))).pairs(Reader(store).evidence)
    assert budgets_by_graph(fair_pairs(pairs)) == "standard rungs; on PubMed 240 trainings"
    assert "(standard rungs; on PubMed 240 trainings)" in " ".join(
        gains_figure(pairs)._supxlabel.get_text().split()
    )
