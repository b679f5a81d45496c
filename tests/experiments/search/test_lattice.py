"""A lattice covers a grid evenly: its axes, pairs of them, whatever its size, shift and number of points."""

from __future__ import annotations

import itertools
import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from postel.experiments.search.lattice import lattice
from postel.experiments.search.spaces import BACKBONE_SPACES, METHOD_SPACES, space_of

SIZES = st.lists(st.integers(1, 14), min_size=1, max_size=7)


@settings(deadline=None, max_examples=60)
@given(sizes=SIZES, count=st.integers(1, 200), seed=st.integers(0, 100))
def test_places_are_distinct_within_the_grid_and_as_many_as_asked(sizes, count, seed):
    places = lattice(sizes, count, seed)
    assert len(set(places)) == len(places) == min(count, math.prod(sizes))
    assert all(0 <= index < size for place in places for index, size in zip(place, sizes, strict=True))
    assert lattice(sizes, count, seed) == places


@settings(deadline=None, max_examples=60)
@given(sizes=SIZES, count=st.integers(20, 200), seed=st.integers(0, 100))
def test_every_axis_is_covered_evenly(sizes, count, seed):
    # Where the grid is hardly larger than the lattice, every place is nearly forced.
    if math.prod(sizes) < 3 * count:
        return
    places = lattice(sizes, count, seed)
    for axis, size in enumerate(sizes):
        seen = Counter(place[axis] for place in places)
        counts = [seen[index] for index in range(size)]
        assert max(counts) - min(counts) <= 4
        assert len(seen) == min(size, count)


def test_pairs_of_every_search_are_covered_evenly():
    for backbone, method in itertools.product(BACKBONE_SPACES, METHOD_SPACES):
        space = space_of(backbone, method) if method != "calibrated" else space_of(backbone, "one_hot")
        sizes = [len(values) for values in space.values()]
        if math.prod(sizes) <= 160:
            continue
        for seed in (0, 1):
            places = lattice(sizes, 80, seed)
            for one, other in itertools.combinations(range(len(sizes)), 2):
                seen = Counter((place[one], place[other]) for place in places)
                cells = itertools.product(range(sizes[one]), range(sizes[other]))
                counts = [seen[cell] for cell in cells]
                even = len(places) / len(counts)
                assert max(counts) <= math.ceil(even) + 4, (backbone, method, one, other)
                assert min(counts) >= math.floor(even) - 4
                # No two axes move together: a third of the pairs that could be seen are seen at least.
                assert len(seen) >= min(len(counts), len(places)) / 2


def test_another_seed_covers_with_other_places():
    one, other = (set(lattice([4, 2, 10, 14], 80, seed)) for seed in (0, 1))
    assert len(one & other) < 40
