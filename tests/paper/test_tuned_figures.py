"""Figures are drawn at settings that a search has chosen where the store has them, and say so on the image."""

from __future__ import annotations

from typing import Any

import pytest

from postel.experiments.budget import Budget
from postel.experiments.store import Store
from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import settings_in_words
from postel.paper.requests import Options, request_cells
from postel.paper.running import run_target
from postel.paper.target import find_target
from postel.paper.variants import ONE_HOT, POSTEL, Variant


def tuned(dataset: str, variant: Variant) -> Any:
    return request_cells(Options(), [dataset], ["gcn"], [variant])[0]


def caption(target: Any, store: Store) -> str:
    (figure,) = target.render(store).figures.values()
    return " ".join(figure._supxlabel.get_text().split())


@pytest.mark.parametrize(("searched", "words"), [(True, "tuned (16 trainings)"), (False, "Nothing was run.")])
def test_a_figure_takes_what_a_search_of_the_method_has_chosen(
    store: Store, fill: Any, searched: bool, words: str
) -> None:
    for variant in (ONE_HOT, POSTEL):
        fill(tuned("squirrel", variant), [0.5, 0.6], searched=searched)
    target = find_target("figure-loss")()
    assert [row["state"] for row in target.render(store).values.records()] == [
        "run" if searched else "not run"
    ] * 2
    assert words in caption(target, store)


def test_nothing_is_trained_for_a_figure_whose_cells_are_tuned(store: Store, fill: Any) -> None:
    for variant in (ONE_HOT, POSTEL):
        fill(tuned("squirrel", variant), [0.5, 0.6])
    rows = len(store)
    run_target(find_target("figure-loss")(), store)  # Squirrel is not even at hand
    assert len(store) == rows


def test_a_budget_that_was_asked_for_is_kept_to(store: Store, fill: Any) -> None:
    fill(tuned("squirrel", POSTEL), [0.5, 0.6])
    fixed = find_target("figure-loss")(Options(budget="fixed"))
    assert {row["state"] for row in fixed.render(store).values.records()} == {"not run"}


def test_a_caption_says_how_settings_were_found(store: Store, fill: Any) -> None:
    fill(tuned("cora", POSTEL), [0.5, 0.6])
    fill(tuned("texas", POSTEL), [0.5], budget=Budget("fixed"), searched=False)
    fill(tuned("cornell", POSTEL), [0.5], budget=Budget("trials", 16), searched=None)
    cells = [tuned(name, POSTEL).answer(Reader(store)) for name in ("cora", "texas", "cornell")]
    assert settings_in_words(cells) == (
        "Paper protocol, n = 1 to 2 splits; tuned (16 trainings): 1; not tuned, published settings: 1; not "
        "tuned by today's search (16 trials on 3 splits): 1."
    )
    assert settings_in_words([None]) == "Nothing was run."
