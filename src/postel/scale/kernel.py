"""The one float64 kernel: from integer counts to soft labels, in numpy alone.

Every engine hands its integers to these functions, so their soft labels agree whatever counted and however the
rows were split. The module imports nothing but the settings: Spark sends both to executors that have no postel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postel.settings import PosteLSettings

Floats = NDArray[np.float64]
Counts = NDArray[np.integer[Any]]

# A share is kept as two whole numbers of this many bits each: sums of them are exact in any order.
SHARE_BITS = 30

# Stands for log 0 in sums: finite, so that 0 neighbors of an impossible class give 0 and not NaN.
_LOG_ZERO = -1e300
_OUT = -1e200


class Model(NamedTuple):
    """What the soft label of a node depends on besides its neighbors.

    Attributes:
        prior: Share of each class, [K].
        conditional: P(neighbor's class | class), [K, K].
        settings: The settings of the method.
    """

    prior: Floats
    conditional: Floats
    settings: PosteLSettings

    @property
    def num_classes(self) -> int:
        """Number of classes, K."""
        return self.prior.size

    @property
    def width(self) -> int:
        """Columns of a histogram: neighbors by class."""
        return self.prior.size

    def soft_labels(self, histograms: Counts, own: Counts) -> Floats:
        """Compute one distribution per row: see :func:`soft_labels`.

        Args:
            histograms: Labelled neighbors by class, [R, K].
            own: The training class of each node, [R]; negative where it has none.

        Returns:
            The distributions, float64 [R, K].
        """
        return soft_labels(histograms, own, self)


def normalize_rows(counts: NDArray[Any]) -> Floats:
    """Scale rows (the last axis) to sum to 1; a row of zeros becomes uniform.

    Args:
        counts: Numbers of at least 0.

    Returns:
        The distributions, float64.

    Example:
        >>> normalize_rows(np.array([[1, 3], [0, 0]])).tolist()
        [[0.25, 0.75], [0.5, 0.5]]
    """
    totals = counts.sum(axis=-1, keepdims=True)
    shares = counts / np.where(totals > 0, totals, 1)
    return np.where(totals > 0, shares, 1.0 / counts.shape[-1])


def split_shares(counts: Counts, totals: Counts) -> tuple[Counts, Counts]:
    """Write ``counts / totals`` as two whole numbers of ``SHARE_BITS`` bits each, rounded down.

    Args:
        counts: Whole numbers.
        totals: Whole numbers above 0 that broadcast with them.

    Returns:
        The upper and the lower bits.

    Example:
        >>> high, low = split_shares(np.array([1]), np.array([3]))
        >>> float(join_shares(high, low)[0])
        0.3333333333333333
    """
    scaled = counts.astype(np.int64) << SHARE_BITS
    return scaled // totals, ((scaled % totals) << SHARE_BITS) // totals


def join_shares(high: Counts, low: Counts) -> Floats:
    """Turn sums of split shares back into numbers: see :func:`split_shares`.

    Args:
        high: Sums of the upper bits.
        low: Sums of the lower bits.

    Returns:
        The sums of shares, float64.
    """
    unit = 0.5**SHARE_BITS
    return (high.astype(np.float64) + low.astype(np.float64) * unit) * unit


def log_joint(histograms: Counts, model: Model) -> Floats:
    """Compute the logarithm of prior times likelihood (Eq. 2).

    Args:
        histograms: Labelled neighbors by class, [R, K].
        model: Prior, conditional and settings.

    Returns:
        One row per node, [R, K]; -inf for a class that the prior or a neighbor rules out.
    """
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(model.conditional), _LOG_ZERO)
        log_prior = np.log(model.prior)
    # Not a matrix product: its order of summation, hence the last bits of a hub's sum, depends on the number of
    # rows, and with it on how an engine happened to split them.
    sums: Floats = np.einsum("rm,km->rk", histograms.astype(np.float64), logs)
    sums[sums < _OUT] = -np.inf
    return sums + log_prior


def soft_labels(histograms: Counts, own: Counts, model: Model) -> Floats:
    """Compute one distribution per row (Eq. 1, 2, 4).

    Args:
        histograms: Labelled neighbors by class, [R, K].
        own: The training class of each node, [R]; negative where it has none, and its row is the noisy posterior.
        model: Prior, conditional and settings.

    Returns:
        The distributions, float64 [R, K].

    Example:
        >>> model = Model(np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.8, 0.2]]), PosteLSettings(0.5, 0.0))
        >>> soft_labels(np.array([[0, 1], [0, 1], [0, 0]]), np.array([-1, 0, -1]), model)
        array([[0.8, 0.2],
               [0.9, 0.1],
               [0.5, 0.5]])
    """
    settings, k = model.settings, model.prior.size
    weights = log_joint(histograms, model)
    best = weights.max(axis=1, keepdims=True)
    impossible = np.isneginf(best)
    rows = np.exp(weights - np.where(impossible, 0.0, best))
    rows /= np.where(impossible, 1.0, rows.sum(axis=1, keepdims=True))
    rows = np.where(impossible, model.prior, rows)
    train = np.flatnonzero(own >= 0)
    one_hot = np.zeros((train.size, k))
    one_hot[np.arange(train.size), own[train]] = 1.0
    if settings.isolated == "one-hot":
        alone = (impossible[:, 0] | (histograms.sum(axis=1) == 0))[train]
        rows[train[alone]] = one_hot[alone]
    noisy: Floats
    if settings.noise == "uniform":
        noisy = (rows + settings.beta / k) / (1 + settings.beta)
    else:
        # A node that is not in training has no own class to spare: its noise is spread over all.
        noisy = (1 - settings.beta) * rows + settings.beta / k
        noisy[train] = (1 - settings.beta) * rows[train] + settings.beta / (k - 1) * (1 - one_hot)
    noisy[train] = settings.alpha * noisy[train] + (1 - settings.alpha) * one_hot
    return noisy
