"""Where to look next: a smooth surface through the scores so far, and the places where it promises most.

The surface is a Gaussian process over the ranks of values: settings beside each other score alike, and how far
"beside" reaches on each axis is taken from the scores themselves. The scores enter by rank too: where half of the
settings fail by twenty points, the two points between the good ones are what counts. It is used for one thing
only, to place the greater part of the first rung; nothing is cut and nothing is chosen by it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import erf, ndtri

from postel.experiments.search.lattice import Place

Floats = np.ndarray[Any, np.dtype[np.float64]]

# How far a value tells of others, in shares of its axis; the last one means that the axis does not matter.
_REACHES = (0.15, 0.3, 0.6, 1.2, 8.0)
# The part of the scores' variance that is noise.
_NOISES = (0.02, 0.1, 0.3, 0.6)
# Grids up to this size are looked at whole, larger ones at as many places.
_LOOKED_AT = 10_000


def promising(sizes: Sequence[int], scores: Mapping[Place, float], count: int, seed: int = 0) -> list[Place]:
    """Return places without a score where the best score so far is most likely to be beaten, and by most.

    Args:
        sizes: How many values each axis of the grid has.
        scores: The scores so far; at least one.
        count: How many places are wanted.
        seed: Which places of a grid too large to be looked at whole are considered.

    Returns:
        Up to ``count`` places in the order of their expected improvement, each chosen as if the surface were right
        about those before it.

    Example:
        >>> scores = {(place,): -abs(place - 7.0) for place in range(0, 12, 2)}
        >>> promising([12], scores, 1)
        [(7,)]
    """
    done = list(scores)
    values = _levelled(np.array([scores[place] for place in done]))
    free = sorted(set(_considered(sizes, seed)) - set(done))
    if not free or not done:
        return free[:count]
    known, candidates = _coordinates(done, sizes), _coordinates(free, sizes)
    reaches, noise = _fitted(known, values)
    chosen: list[int] = []
    for _ in range(min(count, len(free))):
        mean, deviation, best = _predicted(known, values, candidates, reaches, noise)
        gain = np.round(_expected_improvement(mean, deviation, best), 9)
        gain[chosen] = -1.0
        chosen.append(int(np.argmax(gain)))
        known = np.vstack([known, candidates[chosen[-1]]])
        values = np.append(values, mean[chosen[-1]])
    return [free[place] for place in chosen]


def _considered(sizes: Sequence[int], seed: int) -> list[Place]:
    if math.prod(sizes) <= _LOOKED_AT:
        return list(itertools.product(*map(range, sizes)))
    drawn = np.random.default_rng(seed).integers(0, sizes, (_LOOKED_AT, len(sizes)))
    return [tuple(place) for place in drawn.tolist()]


def _levelled(values: Floats) -> Floats:
    """The scores as those of a normal distribution with the same order; equal scores stay equal."""
    _, places, counts = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    return np.asarray(ndtri((below + counts / 2) / len(values))[places.reshape(-1)], dtype=np.float64)


def _coordinates(places: Sequence[Place], sizes: Sequence[int]) -> Floats:
    return np.array(places, dtype=np.float64).reshape(len(places), len(sizes)) / np.maximum(
        np.array(sizes, dtype=np.float64) - 1, 1
    )


def _kernel(squares: Floats) -> Floats:
    """Matérn's kernel with smoothness 5/2 of squared distances."""
    r = np.sqrt(5 * np.maximum(squares, 0.0))
    return (1 + r + r * r / 3) * np.exp(-r)


def _between(one: Floats, other: Floats, reaches: Floats) -> Floats:
    """Squared distances of settings in units of the reaches."""
    a, b = one / reaches, other / reaches
    return (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2 * a @ b.T


def _fitted(known: Floats, values: Floats) -> tuple[Floats, float]:
    """Reaches of the axes and the share of noise under which the scores are most likely, one at a time."""
    axes, ones, diagonal = known.shape[1], np.ones(len(values)), np.arange(len(values))
    reaches, noise = np.full(axes, 0.6), 0.1
    apart = np.stack([np.subtract.outer(axis, axis) ** 2 for axis in known.T])

    def cost(tried: Floats, share: float) -> float:
        covariance = (1 - share) * _kernel(np.tensordot(tried**-2, apart, 1))
        covariance[diagonal, diagonal] += share
        factor = cho_factor(covariance, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(factor, np.stack([ones, values], axis=1), check_finite=False)
        middle = (solved[:, 0] @ values) / solved[:, 0].sum()
        rest = values - middle
        variance = max(float(rest @ (solved[:, 1] - middle * solved[:, 0])) / len(values), 1e-12)
        return round(len(values) * math.log(variance) + 2 * float(np.log(np.diag(factor[0])).sum()), 6)

    for _ in range(2):
        for axis in range(axes):
            options = [np.where(np.arange(axes) == axis, reach, reaches) for reach in _REACHES]
            reaches = min(options, key=lambda tried: cost(tried, noise))
        noise = min(_NOISES, key=lambda share: cost(reaches, share))
    return reaches, noise


def _predicted(
    known: Floats, values: Floats, candidates: Floats, reaches: Floats, noise: float
) -> tuple[Floats, Floats, float]:
    """The mean and deviation of the scores at ``candidates``, and the highest score among ``known``.

    Scores, not the smooth part of them: a setting's score on given splits is the same whenever it is asked for, so
    what is noise to the surface can be found all the same.
    """
    inner = (1 - noise) * _kernel(_between(known, known, reaches))
    factor = cho_factor(inner + noise * np.eye(len(values)), lower=True)
    weights = cho_solve(factor, np.ones(len(values)))
    middle = float(weights @ values) / float(weights.sum())
    solved = cho_solve(factor, values - middle)
    variance = max(float((values - middle) @ solved) / len(values), 1e-12)
    across = (1 - noise) * _kernel(_between(candidates, known, reaches))
    mean = middle + across @ solved
    left = 1.0 - np.einsum("ij,ji->i", across, cho_solve(factor, across.T))
    return mean, np.sqrt(variance * np.maximum(left, 1e-12)), float(values.max())


def _expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    z = (mean - best) / deviation
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return deviation * (z * 0.5 * (1 + erf(z / math.sqrt(2))) + density)
