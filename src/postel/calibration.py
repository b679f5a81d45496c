"""Calibrating a posterior: how much the prior, the neighbors together and their average count on this graph.

The posterior multiplies over neighbors as if they were independent, so that a hub's is near 0 or 1 whatever the
truth is. Here its logarithms get exponents, q = softmax(a log prior + b sum + c mean), with sum and mean those of
the neighbors' log-likelihoods, fitted by maximum likelihood on the training labels. The fit is convex and has
three numbers. (1, 1, 0) is the plain posterior.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from postel.expected_statistics import LogEvidence
from postel.exponents import LARGEST, MOST_LABELS, Exponents, Vector, newton_in_box
from postel.posterior import mix
from postel.settings import Calibration
from postel.statistics import for_each_block

# Nodes whose posterior is made at a time.
_ROWS = 1 << 12


def fit_exponents(evidence: LogEvidence, classes: Tensor, calibration: Calibration = "exponents") -> Exponents:
    """Fit the exponents by maximum likelihood on the nodes' own labels, which the evidence has left out.

    Args:
        evidence: Logarithms of R training nodes.
        classes: Their classes [R].
        calibration: ``"exponents"`` fits all three, ``"temperature"`` one for prior and sum together, ``"none"``
            none.

    Returns:
        The exponents, each from 0 to its entry of ``LARGEST``.

    Example:
        >>> logs = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]], dtype=torch.float64).log()
        >>> even = torch.full((1, 2), 0.5, dtype=torch.float64).log()
        >>> evidence = LogEvidence(logs, torch.ones(4), even, torch.zeros(4, dtype=torch.int64))
        >>> fitted = fit_exponents(evidence, torch.tensor([0, 0, 1, 1]), "temperature")
        >>> round(fitted.total, 3)  # right three times of four: 0.75 and not 0.9
        0.5
    """
    if calibration == "none":
        return Exponents()
    parts = _contrasts(evidence, classes)
    if calibration == "temperature":
        common = minimize_in_box([parts[0] + parts[1]], start=(1.0,), largest=(LARGEST[0],))[0]
        return Exponents(common, common, 0.0)
    return Exponents(*minimize_in_box(parts, start=(1.0, 1.0, 0.0), largest=LARGEST))


def calibrated_posterior(
    evidence: LogEvidence,
    exponents: Exponents,
    *,
    own: Tensor | None = None,
    alpha: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Return the posterior with these exponents, mixed with the one-hot labels of nodes that have one.

    Args:
        evidence: Logarithms of R nodes.
        exponents: How much each part of them counts.
        own: Training class of each node, -1 where it has none [R]; nothing is mixed without it.
        alpha: Weight of the posterior against the one-hot label.
        dtype: Type of the result; the arithmetic is float64 always.

    Returns:
        One distribution per node over the classes [R, K].

    Example:
        >>> logs = torch.tensor([[0.9, 0.1]], dtype=torch.float64).log()
        >>> evidence = LogEvidence(logs, torch.ones(1), torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64))
        >>> calibrated_posterior(evidence, Exponents(1.0, 0.5, 0.0))
        tensor([[0.7500, 0.2500]], dtype=torch.float64)
    """
    size, k = evidence.sums.shape
    out = torch.empty(size, k, dtype=dtype, device=evidence.sums.device)

    def finish(place: slice) -> None:
        logits = exponents.prior * evidence.log_prior(place)
        logits = logits + exponents.total * evidence.sums[place] + exponents.mean * evidence.means(place)
        rows = torch.softmax(logits, dim=1)
        if own is not None:
            train = (own[place] >= 0).nonzero().view(-1)
            rows[train] = mix(rows[train], own[place][train], alpha)
        out[place] = rows

    places = [slice(first, first + _ROWS) for first in range(0, size, _ROWS)]
    for_each_block(finish, places, torch.get_num_threads() if out.device.type == "cpu" else 1)
    return out


def _contrasts(evidence: LogEvidence, classes: Tensor) -> list[Tensor]:
    """Log prior, sum and mean of every class less that of the node's own, [R, K] each."""
    size = classes.numel()
    chosen = torch.arange(size, device=classes.device)
    if size > MOST_LABELS:
        chosen = chosen[:MOST_LABELS] * size // MOST_LABELS
    own = classes[chosen].unsqueeze(1)
    parts = [evidence.log_prior(chosen), evidence.sums[chosen], evidence.means(chosen)]
    return [(part - part.gather(1, own)).to(torch.float64) for part in parts]


def minimize_in_box(parts: list[Tensor], start: tuple[float, ...], largest: tuple[float, ...]) -> list[float]:
    """Minimize the mean of logsumexp(sum of x_f parts_f) over x with 0 <= x_f <= largest_f.

    Newton's method: each step goes to the minimum of the quadratic model in the box, found among all ways in which
    the bounds can hold, and is halved until the value falls. A pull of weight 1e-6 towards ``start``, relative to
    the size of the box, makes the minimum unique where the data leave it open.

    Args:
        parts: Contrasts [R, K] of each of the few variables.
        start: Where to begin, inside the box.
        largest: The upper bounds.

    Returns:
        The minimum, the same on every run.

    Example:
        >>> contrasts = torch.tensor([[0.0, -1.0], [0.0, -1.0], [0.0, 1.0]], dtype=torch.float64)
        >>> round(minimize_in_box([contrasts], (1.0,), (10.0,))[0], 3)  # two of three: log 2
        0.693
        >>> minimize_in_box([contrasts[:2]], (1.0,), (10.0,))  # told apart perfectly: the bound
        [10.0]
    """
    return newton_in_box(lambda x: _value(parts, x), lambda x: _derivatives(parts, x), start, largest)


def _value(parts: list[Tensor], x: Vector) -> float:
    return float(torch.logsumexp(_combined(parts, x), dim=1).mean())


def _derivatives(parts: list[Tensor], x: Vector) -> tuple[Vector, Vector]:
    weights = torch.softmax(_combined(parts, x), dim=1)
    means = [(part * weights).sum(dim=1, keepdim=True) for part in parts]
    # Differences from the mean first: a difference of second moments need not be positive in floating point.
    apart = [part - mean for part, mean in zip(parts, means, strict=True)]
    weighted = [part * weights for part in apart]
    curvature = [[float(torch.dot(a.view(-1), b.view(-1))) for b in apart] for a in weighted]
    return np.array([float(mean.mean()) for mean in means]), np.array(curvature) / weights.size(0)


def _combined(parts: list[Tensor], x: Vector) -> Tensor:
    total = float(x[0]) * parts[0]
    for part, weight in zip(parts[1:], x[1:], strict=True):
        total = total.add_(part, alpha=float(weight))
    return total
