"""A few points that cover a grid evenly: every value of every axis equally often, and pairs of values too.

The points are a rank-1 lattice, ``(k * g + shift) mod m`` on each axis with a generator ``g`` of its own, read off
on the grid's values. Its generators are found axis by axis so that the points fill the cube as evenly as they can;
whole numbers decide about every point, so the same request has the same answer on every machine.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

#: Where a setting is in a grid: an index per axis.
Place = tuple[int, ...]

# Grids up to this size are looked through for points that are not taken yet, of larger ones a part.
_SMALL = 5_000


def lattice(sizes: Sequence[int], count: int, seed: int = 0) -> list[Place]:
    """Return places that cover a grid evenly.

    Args:
        sizes: How many values each axis has.
        count: How many places are wanted; the whole grid is returned if it has no more.
        seed: Shifts the lattice: another seed covers the grid as evenly with other places.

    Returns:
        ``count`` distinct places. Of an axis with ``n`` values each occurs close to ``count / n`` times.

    Example:
        >>> lattice([2, 2], 8)
        [(0, 0), (0, 1), (1, 0), (1, 1)]
        >>> sorted(first for first, _ in lattice([3, 7], 7))
        [0, 0, 0, 1, 1, 2, 2]
    """
    whole = math.prod(sizes)
    if whole <= count:
        return list(itertools.product(*map(range, sizes)))
    points = _prime_up_to(count)
    shifts = [int(shift) for shift in np.random.SeedSequence(seed).generate_state(len(sizes))]
    generators = _generators(points, len(sizes))
    found: dict[Place, None] = {}
    for k in range(points):
        place = tuple(
            (k * generator + shift) % points * size // points
            for generator, shift, size in zip(generators, shifts, sizes, strict=True)
        )
        found.setdefault(place)
    places = list(found)
    if len(places) < count:
        places += _least_crowded(sizes, places, count - len(places), seed)
    return places


def _prime_up_to(count: int) -> int:
    """The largest prime up to ``count``: a prime number of points has the most generators to choose from."""
    return next(n for n in range(count, 0, -1) if all(n % d for d in range(2, math.isqrt(n) + 1)))


@functools.cache
def _generators(count: int, axes: int) -> tuple[int, ...]:
    """A generator for each axis, each the one whose worst pair with those before it is the most even.

    How uneven a pair of axes is filled is the error of integrating smooth periodic functions over it, which for a
    lattice is a sum over its points of a product of two weights.
    """
    k = np.arange(count, dtype=np.int64)
    offered = range(1, max(2, (count + 1) // 2))
    weights = np.stack([_weight(k * g % count, count) for g in offered])
    uneven = np.round(weights @ weights.T, 6)  # equal but for rounding is equal, so that ties fall the same way
    chosen = [0]
    while len(chosen) < axes:
        worst, total = uneven[chosen].max(axis=0), uneven[chosen].sum(axis=0)
        chosen.append(min(range(len(offered)), key=lambda place: (worst[place], total[place], place)))
    return tuple(offered[place] for place in chosen)


def _weight(residues: np.ndarray, count: int) -> np.ndarray:
    x = residues / count
    return x * x - x + 1 / 6


def _least_crowded(sizes: Sequence[int], taken: Sequence[Place], count: int, seed: int) -> list[Place]:
    """``count`` more places, each where the values and pairs of values have been used least."""
    offered: set[Place]
    if math.prod(sizes) <= _SMALL:
        offered = set(itertools.product(*map(range, sizes)))
    else:
        drawn = np.random.default_rng(seed).integers(0, sizes, (_SMALL, len(sizes)))
        offered = {tuple(place) for place in drawn.tolist()}
    free = np.array(sorted(offered - set(taken)), dtype=np.int64)
    subsets = [pair for width in (1, 2) for pair in itertools.combinations(range(len(sizes)), width)]
    used = {subset: np.zeros([sizes[axis] for axis in subset]) for subset in subsets}

    def use(place: Sequence[int]) -> None:
        for subset in subsets:
            used[subset][tuple(place[axis] for axis in subset)] += 1

    for place in taken:
        use(place)
    added: list[Place] = []
    for _ in range(count):
        crowd = sum(
            used[subset][tuple(free[:, axis] for axis in subset)] * math.prod(sizes[axis] for axis in subset)
            for subset in subsets
        )
        least = int(np.argmin(crowd))
        added.append(tuple(int(index) for index in free[least]))
        use(added[-1])
        free = np.delete(free, least, axis=0)
    return added
