"""Figures are drawn at settings that a search has chosen where the store has them, and say so on the image."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paper.conftest import made_row
from postel.experiments.budget import Budget
from postel.experiments.results import Setting
from postel.experiments.store import Store
from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import settings_in_words
from postel.paper.requests import Options, request_cells
from postel.paper.running import run_target
from postel.paper.target import find_target
from postel.paper.variants import ONE_HOT, POSTEL, SALS, Variant


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


@pytest.mark.parametrize("name", ["figure-loss", "figure-tsne"])
def test_one_hot_labels_are_drawn_at_the_setting_of_the_labels_beside_them(
    store: Store, fill: Any, name: str
) -> None:
    fill(tuned("squirrel", ONE_HOT), [0.5])
    fill(tuned("squirrel", POSTEL), [0.6])
    (own,) = (cell for cell in store.cells() if cell.question.method.name == "one_hot")
    slow = store.rows(own.run_keys)[0].spec.model_copy(update={"lr": 0.001})
    moved = made_row(slow, 0.9, False, {})
    store.add_many([moved])
    store.add_cell(replace(own, run_keys=(moved.key,), chosen=Setting.of(slow)))
    target = find_target(name)(Options(datasets=("squirrel",)))
    plain, ours = (request.answer(Reader(store), rounds=True) for request in target.requests)
    assert plain.chosen.lr == ours.chosen.lr == 0.01 and own.run_keys == plain.run_keys
    assert (
        "One-hot labels are trained at the learning rate and weight decay of PosteL: only labels differ."
        in caption(target, store)
    )
    assert "of its own" not in caption(target, store)
    alone = find_target(name)(Options(datasets=("squirrel",), methods=("one_hot",)))
    assert alone.requests[0].answer(Reader(store)).chosen.lr == 0.001
    assert "One-hot labels are trained" not in caption(alone, store)


def test_a_method_that_keeps_its_own_setting_is_named(store: Store, fill: Any) -> None:
    for variant in (ONE_HOT, POSTEL, SALS):
        fill(tuned("squirrel", variant), [0.5])
    shown = caption(find_target("figure-loss-all")(Options(datasets=("squirrel",))), store)
    assert "weight decay of PosteL: only labels differ. SALS has a setting of its own." in shown


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
    cells = [Reader(store).answer(tuned(name, POSTEL).question) for name in ("cora", "texas", "cornell")]
    assert settings_in_words(cells) == (
        "Paper protocol, n = 1 to 2 splits; 3 cells: 1 tuned (16 trainings), 1 not tuned (published settings), 1 "
        "not tuned by today's search (16 trials on 3 splits)."
    )
    assert settings_in_words([None]) == "Nothing was run."
