"""Calibrated posteriors from counts, in numpy alone: what the engines for tables hand over is enough.

A training node's own label is left out of all counts. For that its row needs two histograms side by side, [R, 2K]:
its labelled neighbors by class, and the centers that have it as their neighbor. Like the other kernel, this module
is sent to Spark's executors, and imports nothing that is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postel.scale.kernel import Counts, Floats
from postel.settings import CalibratedSettings


class CalibratedModel(NamedTuple):
    """What the calibrated soft label of a node depends on besides its own rows of counts.

    Attributes:
        classes: Labelled nodes of each class, [K]; expected ones where pseudo-labels are probabilities.
        pairs: Entries by class of center and of neighbor, [K, K], as they are.
        exponents: Those of prior, sum and mean.
        settings: The settings of the method.
    """

    classes: NDArray[Any]
    pairs: NDArray[Any]
    exponents: tuple[float, float, float]
    settings: CalibratedSettings

    @property
    def num_classes(self) -> int:
        """Number of classes, K."""
        return self.classes.size

    @property
    def width(self) -> int:
        """Columns of a histogram: neighbors by class, then centers by class."""
        return 2 * self.classes.size

    def soft_labels(self, histograms: Counts, own: Counts) -> Floats:
        """Compute one distribution per row.

        Args:
            histograms: Neighbors and centers by class, [R, 2K].
            own: The training class of each node, [R]; negative where it has none.

        Returns:
            The distributions, float64 [R, K].
        """
        log_prior, sums, means = log_parts(histograms, own, self)
        prior, total, mean = self.exponents
        logits = prior * log_prior + total * sums + mean * means
        rows: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
        rows /= rows.sum(axis=1, keepdims=True)
        train = np.flatnonzero(own >= 0)
        rows[train] *= self.settings.alpha
        rows[train, own[train]] += 1 - self.settings.alpha
        return rows


def log_parts(histograms: Counts, own: Counts, model: CalibratedModel) -> tuple[Floats, Floats, Floats]:
    """Take logarithms of prior and likelihood, with one count spread over the classes added to each row.

    Args:
        histograms: Neighbors and centers by class, [R, 2K].
        own: The training class of each node, [R]; negative where it has none.
        model: The counts; its exponents are not looked at.

    Returns:
        Log prior, and the neighbors' log-likelihood as a sum and as a mean over them, [R, K] each.

    Example:
        >>> model = CalibratedModel(np.array([1, 2]), np.array([[0, 2], [2, 0]]), (1, 1, 0), CalibratedSettings())
        >>> log_prior, sums, means = log_parts(np.array([[0, 2, 0, 2]]), np.array([0]), model)
        >>> np.exp(log_prior).round(4).tolist(), np.exp(sums).round(4).tolist()
        ([[0.1667, 0.8333]], [[0.25, 0.25]])
    """
    k = model.classes.size
    forward, reverse = histograms[:, :k].astype(np.float64), histograms[:, k:].astype(np.float64)
    pairs, share = model.pairs.astype(np.float64), 1.0 / k
    totals, number = pairs.sum(axis=1), forward.sum(axis=1, keepdims=True)
    logs = np.log(pairs + share)
    # Not a matrix product: its order of summation depends on how an engine happened to split the rows.
    sums = np.einsum("rm,km->rk", forward, logs)
    denominators = np.tile(np.log(totals + 1), (own.size, 1))
    counts = np.tile(model.classes.astype(np.float64), (own.size, 1))
    left = np.flatnonzero(own >= 0) if model.settings.leave_one_out else np.empty(0, dtype=np.int64)
    if left.size:
        classes, at, mine, theirs = own[left], np.arange(left.size), forward[left], reverse[left]
        counts[left, classes] -= 1
        denominators[left] = np.log(totals - theirs + 1)
        column = np.log(pairs.T[classes] - theirs + share) - logs.T[classes]
        rest = sums[left] + mine[at, classes, None] * column
        row = pairs[classes] - mine
        row[at, classes] -= theirs[at, classes]
        rest[at, classes] = (np.log(row + share) * mine).sum(axis=1)
        denominators[left, classes] = np.log(totals[classes] - number[left, 0] - theirs[at, classes] + 1)
        sums[left] = rest
    sums = sums - number * denominators
    log_prior = np.log(counts + share) - np.log(counts.sum(axis=1, keepdims=True) + 1)
    means = np.where(number > 0, sums / np.where(number > 0, number, 1.0), 0.0)
    return log_prior, sums, means
