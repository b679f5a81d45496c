"""The exponents that calibrate a posterior, and the convex fit in a box that finds them; nothing here needs torch.

The engines for tables fit with numpy alone, the in-memory method with torch: both hand their loss and its
derivatives to the same Newton's method.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The largest values that the exponents of prior, sum and mean may take, where labels can be told apart perfectly.
LARGEST = (10.0, 10.0, 100.0)

#: Three numbers need no more labels than this: more are represented by as many of them, evenly spaced.
MOST_LABELS = 1 << 14

# A pull towards the plain posterior, so weak that it only decides where the labels do not.
_RIDGE = 1e-6

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Exponents:
    """How much each part of the evidence counts; the defaults are the plain posterior.

    Attributes:
        prior: Exponent of the prior.
        total: Exponent of the product over the neighbors.
        mean: Exponent of their geometric mean: evidence that does not grow with their number.
    """

    prior: float = 1.0
    total: float = 1.0
    mean: float = 0.0

    @property
    def neighbors_count(self) -> bool:
        """Whether the neighbors change the posterior at all."""
        return self.total > 0 or self.mean > 0

    def __str__(self) -> str:
        return f"prior^{self.prior:.3g} sum^{self.total:.3g} mean^{self.mean:.3g}"


def newton_in_box(
    value_at: Callable[[Vector], float],
    derivatives_at: Callable[[Vector], tuple[Vector, Vector]],
    start: tuple[float, ...],
    largest: tuple[float, ...],
) -> list[float]:
    """Minimize a convex function of a few variables x with 0 <= x_f <= largest_f.

    Each step goes to the minimum of the quadratic model in the box, found among all ways in which the bounds can
    hold, and is halved until the value falls. A pull of weight 1e-6 towards ``start``, relative to the size of the
    box, makes the minimum unique where the function leaves it open.

    Args:
        value_at: The function.
        derivatives_at: Its gradient and its matrix of second derivatives.
        start: Where to begin, inside the box.
        largest: The upper bounds.

    Returns:
        The minimum, the same on every run.

    Example:
        >>> steep = lambda x: (2 * (x - 3), 2 * np.eye(1))
        >>> round(newton_in_box(lambda x: float((x[0] - 3) ** 2), steep, (1.0,), (10.0,))[0], 6)
        3.0
    """
    x, low, high = np.array(start), np.zeros(len(start)), np.array(largest)
    pull, anchor = 2 * _RIDGE / high**2, np.array(start)

    def penalized(point: Vector) -> float:
        return value_at(point) + float(0.5 * (pull * (point - anchor) ** 2).sum())

    value = penalized(x)
    for _ in range(200):
        gradient, curvature = derivatives_at(x)
        gradient, curvature = gradient + pull * (x - anchor), curvature + np.diag(pull)
        step = _box_step(gradient, curvature, low - x, high - x)
        slope = float(gradient @ step)
        if -slope <= 1e-15 * max(1.0, abs(value)):
            break
        length = 1.0
        while length > 1e-12:
            point = np.clip(x + length * step, low, high)
            trial = penalized(point)
            if trial <= value + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break
        x, value = point, trial
    return [float(entry) for entry in x]


def _box_step(gradient: Vector, curvature: Vector, low: Vector, high: Vector) -> Vector:
    """Minimum of g d + d H d / 2 over low <= d <= high, exactly: every choice of bounds that hold is tried."""
    # Variables of very different sizes (a hub's sum, a mean) are brought to the same one first.
    scale = 1 / np.sqrt(np.maximum(np.diag(curvature), np.finfo(float).tiny))
    best, best_value = np.zeros_like(gradient), 0.0
    for kinds in itertools.product((-1, 0, 1), repeat=gradient.size):
        kind = np.array(kinds)
        step = np.where(kind < 0, low, np.where(kind > 0, high, 0.0))
        free = np.flatnonzero(kind == 0)
        if free.size:
            inner = curvature[np.ix_(free, free)] * np.outer(scale[free], scale[free])
            right = -(gradient + curvature @ step)[free] * scale[free]
            step[free] = np.clip(np.linalg.lstsq(inner, right)[0] * scale[free], low[free], high[free])
        value = float(gradient @ step + 0.5 * step @ curvature @ step)
        if value < best_value:
            best, best_value = step, value
    return best
