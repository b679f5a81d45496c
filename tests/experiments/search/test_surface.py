"""The surface proposes settings that were not tried, where the scores point to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postel.experiments.search.lattice import lattice
from postel.experiments.search.surface import promising


@settings(deadline=None, max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    seed=st.integers(0, 50),
    count=st.integers(1, 5),
    level=st.booleans(),
)
def test_proposals_are_new_distinct_and_the_same_again(sizes, seed, count, level):
    rng = np.random.default_rng(seed)
    done = lattice(sizes, 4, seed)
    scores = {place: 0.5 if level else float(rng.random()) for place in done}
    found = promising(sizes, scores, count, seed)
    assert len(set(found)) == len(found) == min(count, int(np.prod(sizes)) - len(done))
    assert not set(found) & set(done)
    assert promising(sizes, dict(reversed(list(scores.items()))), count, seed) == found


@pytest.mark.parametrize("peak", [(0, 0), (7, 3), (9, 9)])
def test_the_top_of_a_hill_is_found(peak):
    sizes = [10, 10]

    def height(place):
        return -sum((index - top) ** 2 for index, top in zip(place, peak, strict=True))

    scores = {place: height(place) for place in lattice(sizes, 12)}
    for _ in range(8):
        scores |= {place: height(place) for place in promising(sizes, scores, 2)}
    assert max(scores, key=scores.__getitem__) == peak


def test_a_grid_too_large_to_be_looked_at_whole():
    sizes = [10] * 6
    scores = {place: float(place[0] == 9) for place in lattice(sizes, 60)}
    found = promising(sizes, scores, 4)
    assert len(found) == 4 and all(place[0] >= 8 for place in found)


def test_failures_do_not_hide_the_hill():
    """Some settings fail by far: how far must not matter."""
    places = list(itertools.product(range(8), range(2)))
    near = {place: -abs(place[0] - 5) * 0.01 - 0.2 * (place[1] == 0) for place in places[::2] + places[1::6]}
    far = {place: score - 5.0 * (place[1] == 0) for place, score in near.items()}
    assert promising([8, 2], near, 1)[0][1] == promising([8, 2], far, 1)[0][1] == 1


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), power=st.sampled_from([0.3, 2.0, 3.0]))
def test_only_the_order_of_scores_matters(seed, power):
    """Whether bad settings fail by two points or by twenty is no news of the good ones."""
    rng = np.random.default_rng(seed)
    scores = {place: round(float(rng.random()), 2) for place in lattice([4, 2, 10], 20, seed)}
    stretched = {place: score**power for place, score in scores.items()}
    assert promising([4, 2, 10], scores, 3) == promising([4, 2, 10], stretched, 3)


def test_the_best_is_found_among_settings_that_hardly_differ():
    """A block of good settings beside one that fails by twenty points, with steps of single nodes in both."""
    sizes = [2, 10, 10]
    rng = np.random.default_rng(0)
    heights = 0.45 + 0.2 * np.array([0, 1])[:, None, None] + 0.005 * np.add.outer(np.arange(10), np.arange(10))
    heights = np.round((heights + 0.004 * rng.normal(size=sizes)) * 111) / 111
    found = []
    for seed in range(5):
        scores = {place: float(heights[place]) for place in lattice(sizes, 8, seed)}
        while len(scores) < 24:
            scores |= {place: float(heights[place]) for place in promising(sizes, scores, 4)}
        found.append(heights.max() - max(scores.values()))
    assert np.mean(found) < 0.005
