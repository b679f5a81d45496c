"""How sure a mean over splits is: intervals, paired differences, tests, and what many comparisons cost.

The plain bootstrap and the sign-flip test take splits for independent. They are not: splits of one graph share
nodes. The corrected resampled t of Nadeau and Bengio (2003) widens the interval for that, and Holm's correction
(1979) asks more of each line the more lines a table has.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

#: Test nodes to training nodes where nothing is known of them: a fifth to three fifths.
NOMINAL_RATIO = 1 / 3
# Labelled nodes for every validation node, by protocol; of ``limited`` those that training nodes are drawn from.
_LABELLED = {"paper": 5.0, "limited": 5.0, "stratified": 5.0, "geom-gcn": 1 / 0.32}

# Up to this many pairs all sign flips are tried, so that the p-value is exact.
_EXACT_PAIRS = 14


@dataclass(frozen=True)
class Interval:
    """A mean with its interval.

    Args:
        mean: The mean.
        low: The lower end.
        high: The upper end.
        single: Whether the mean is of a single value, whose uncertainty is unknown.
    """

    mean: float
    low: float
    high: float
    single: bool = False

    @property
    def larger_side(self) -> float:
        """The longer of the two sides: what the paper's code reports after the ± sign."""
        return max(self.high - self.mean, self.mean - self.low)


@dataclass(frozen=True)
class PairedDifference:
    """Mean difference of two methods over the same splits, and how sure it is.

    Args:
        interval: The mean with its bootstrap interval, as if splits were independent.
        p_value: The p-value of an exact sign-flip test, as if splits were independent.
        resampled: The mean with the interval of the corrected resampled t, which allows for shared nodes; None
            with fewer than two splits.
        resampled_p: The p-value of the corrected resampled t; 1 with fewer than two splits.
    """

    interval: Interval
    p_value: float
    resampled: Interval | None = None
    resampled_p: float = 1.0


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Return a mean with its bootstrap percentile interval.

    The paper's code takes 1000 resamples and reports :attr:`Interval.larger_side`.

    Args:
        values: At least one value.
        level: The interval's level.
        resamples: How many resamples to draw.
        seed: Where the draws come from.

    Returns:
        The mean with its interval.

    Raises:
        ValueError: If there is no value.

    Example:
        >>> interval = bootstrap_interval([0.80, 0.82, 0.81, 0.79])
        >>> round(interval.mean, 4), round(interval.low, 4), round(interval.high, 4)
        (0.805, 0.795, 0.815)
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.size == 0:
        raise ValueError("there is no value to take an interval of")
    draws = np.random.default_rng(seed).integers(0, sample.size, (resamples, sample.size))
    means = sample[draws].mean(axis=1)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(float(sample.mean()), float(low), float(high), single=sample.size == 1)


def sign_flip_p_value(differences: Sequence[float], *, resamples: int = 100_000, seed: int = 0) -> float:
    """Return the two-sided p-value of no difference: how often flipping signs gives a mean as far from 0.

    It is exact for up to 14 pairs; beyond that, signs are drawn at random.

    Args:
        differences: One difference per pair.
        resamples: How many draws to make, if not all flips are tried.
        seed: Where the draws come from.

    Returns:
        The p-value.

    Example:
        >>> sign_flip_p_value([1.0, 2.0, 3.0])
        0.25
    """
    pairs = np.asarray(differences, dtype=np.float64)
    observed = abs(pairs.sum())
    # Sums that are equal but for rounding count as equal.
    bound = observed - 1e-12 * max(1.0, float(np.abs(pairs).sum()))
    if pairs.size <= _EXACT_PAIRS:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=pairs.size)))
        return float((np.abs(signs @ pairs) >= bound).mean())
    rng = np.random.default_rng(seed)
    signs = rng.choice((-1.0, 1.0), (resamples, pairs.size))
    return float((1 + (np.abs(signs @ pairs) >= bound).sum()) / (1 + resamples))


def overlap_ratio(protocol: str, val_nodes: int, test_nodes: int) -> float:
    """Return the test nodes for every training node, which says how much the splits of a protocol overlap.

    Rows do not say how many training nodes there were, and need not: the protocol fixes the share of validation
    nodes, and what is neither for validation nor for test is for training. Under ``limited`` it is the nodes that
    the training nodes are drawn from that count: two splits share test nodes as often as under ``paper``.

    Args:
        protocol: How nodes are split.
        val_nodes: How many validation nodes there are.
        test_nodes: How many test nodes there are.

    Returns:
        The ratio; a third where the protocol or the counts do not tell.

    Example:
        >>> overlap_ratio("paper", 37, 61), overlap_ratio("masks", 37, 61)
        (0.7011494252873564, 0.3333333333333333)
    """
    training = (_LABELLED.get(protocol, 0.0) - 1) * val_nodes - test_nodes
    return test_nodes / training if training > 0 and test_nodes > 0 else NOMINAL_RATIO


def resampled_t(
    differences: Sequence[float], *, ratio: float = NOMINAL_RATIO, level: float = 0.95
) -> tuple[Interval, float]:
    """Return the interval and two-sided p-value of a mean difference over splits that share nodes.

    The variance of the mean is ``(1 / J + ratio)`` times that of the J differences, where independent splits would
    have ``1 / J``: more splits of the same nodes never make it arbitrarily sure.

    Args:
        differences: One difference per split; at least two.
        ratio: Test nodes to training nodes.
        level: The interval's level.

    Example:
        >>> interval, p = resampled_t([1.0, 2.0, 3.0], ratio=0.0)
        >>> round(interval.low, 3), round(interval.high, 3), round(p, 4)
        (-0.484, 4.484, 0.0742)
    """
    sample = np.asarray(differences, dtype=np.float64)
    if sample.size < 2:
        raise ValueError(f"a t interval needs at least two values, got {sample.size}")
    mean = float(sample.mean())
    error = float(np.sqrt((1 / sample.size + ratio) * sample.var(ddof=1)))
    # What scipy.stats.t calls, to the bit; importing scipy.stats itself takes a fifth of the start of a command.
    half = float(stdtrit(sample.size - 1, (1 + level) / 2)) * error
    if error == 0.0:
        return Interval(mean, mean, mean), 1.0 if mean == 0.0 else 0.0
    return Interval(mean, mean - half, mean + half), float(2 * stdtr(sample.size - 1, -abs(mean) / error))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, so that all of them together err in 5 % of tables.

    Args:
        p_values: The p-values of the lines of one table.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def paired_difference(
    ours: Sequence[float], theirs: Sequence[float], *, ratio: float = NOMINAL_RATIO, seed: int = 0
) -> PairedDifference:
    """Return what ``ours`` gains over ``theirs``, value by value of the same splits.

    Args:
        ours: One value per split.
        theirs: One value for each of the same splits.
        ratio: Test nodes to training nodes, which says how much splits overlap.
        seed: The seed of the bootstrap.

    Example:
        >>> paired_difference([0.8, 0.9], [0.7, 0.8]).p_value
        0.5
    """
    differences = (np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)).tolist()
    interval, p_value = bootstrap_interval(differences, seed=seed), sign_flip_p_value(differences, seed=seed)
    if len(differences) < 2:
        return PairedDifference(interval, p_value)
    return PairedDifference(interval, p_value, *resampled_t(differences, ratio=ratio))
