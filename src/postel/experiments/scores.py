"""How good something is over splits: the mean of a metric, how sure that is, and what it gains over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from postel.experiments.intervals import (
    NOMINAL_RATIO,
    Interval,
    PairedDifference,
    bootstrap_interval,
    holm,
    paired_difference,
)

#: A difference is clear if it would come by chance less often than this.
LEVEL = 0.05
#: Resamples of the intervals that the paper's code takes.
PAPER_RESAMPLES = 1000


@dataclass(frozen=True)
class Gain:
    """What one score gains over another on the splits that both have, in points.

    Args:
        difference: The mean paired difference with its intervals and p-values.
        splits: How many splits both have.
        corrected_p: The p-value that allows for shared nodes, corrected for the number of comparisons it is one
            of; None for a comparison by itself.
    """

    difference: PairedDifference
    splits: int
    corrected_p: float | None = None

    @property
    def mean(self) -> float:
        """The mean paired difference."""
        return self.difference.interval.mean

    @property
    def interval(self) -> Interval:
        """The mean with its 95 % bootstrap interval, as if splits were independent."""
        return self.difference.interval

    @property
    def resampled(self) -> Interval:
        """The mean with the wider 95 % interval that allows for nodes which splits share."""
        return self.difference.resampled or self.interval

    @property
    def p_value(self) -> float:
        """The p-value of no difference for this comparison alone, as if splits were independent."""
        return self.difference.p_value

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that a sign-flip test of so many splits can give."""
        return 2.0 ** (1 - self.splits)

    @property
    def corrected(self) -> float:
        """The p-value that allows for shared nodes and, in a table, for the number of its lines."""
        return self.difference.resampled_p if self.corrected_p is None else self.corrected_p

    @property
    def is_clear(self) -> bool:
        """Whether it is more than chance: the one rule of every table and page.

        As if splits were independent, the bootstrap interval leaves out 0 and the sign-flip test gives p < 5 %,
        which takes six splits; and the p-value of the corrected resampled t, which allows for nodes that splits
        share, is below 5 % after Holm's correction for the lines of the table.
        """
        outside = not self.interval.low <= 0 <= self.interval.high
        return outside and self.p_value < LEVEL and self.corrected < LEVEL

    @property
    def reads(self) -> Literal["more", "less", "open"]:
        """``"more"`` or ``"less"`` where the difference is clear, else ``"open"``."""
        if not self.is_clear:
            return "open"
        return "more" if self.mean > 0 else "less"


@dataclass(frozen=True)
class Score:
    """A metric in percent, by split.

    Args:
        by_split: The metric of every split.
        ratio: Test nodes to training nodes, which says how much splits overlap.

    Example:
        >>> score = Score({0: 80.0, 1: 82.0, 2: 81.0})
        >>> score.mean, score.splits, score.gain_over(Score({1: 81.0, 2: 80.0, 3: 70.0})).mean
        (81.0, 3, 1.0)
    """

    by_split: Mapping[int, float]
    ratio: float = NOMINAL_RATIO

    @property
    def values(self) -> list[float]:
        """The metric of every split, in the order of splits."""
        return list(self.by_split.values())

    @property
    def splits(self) -> int:
        """How many splits it is over."""
        return len(self.by_split)

    @cached_property
    def mean(self) -> float:
        """The mean over splits."""
        return sum(self.values) / len(self.values)

    @cached_property
    def interval(self) -> Interval:
        """The mean with the ordinary interval: 95 % percentiles of 10,000 bootstrap resamples."""
        return bootstrap_interval(self.values)

    @cached_property
    def paper_side(self) -> float:
        """What the paper's code writes after the ± sign: the larger side over 1000 resamples, seeded here."""
        return bootstrap_interval(self.values, resamples=PAPER_RESAMPLES).larger_side

    def gain_over(self, other: Score) -> Gain | None:
        """Return what this score gains over another one on the splits that both have.

        Args:
            other: The score to compare with.

        Returns:
            The gain, or None if they share no split.
        """
        shared = sorted(self.by_split.keys() & other.by_split.keys())
        if not shared:
            return None
        ours, theirs = ([score.by_split[split] for split in shared] for score in (self, other))
        return Gain(paired_difference(ours, theirs, ratio=max(self.ratio, other.ratio)), len(shared))


def corrected_gains(gains: Sequence[Gain | None]) -> list[Gain | None]:
    """Return the gains of one table with their p-values corrected for its number of lines, by Holm's method.

    Args:
        gains: One gain per line; None for a line without one, which does not count.

    Example:
        >>> gain = Score({0: 3.0, 1: 4.0, 2: 5.5}).gain_over(Score({0: 1.0, 1: 2.0, 2: 3.0}))
        >>> alone, among = corrected_gains([gain])[0], corrected_gains([gain, None, gain])[0]
        >>> among.corrected == 2 * alone.corrected == 2 * gain.corrected
        True
    """
    found = [gain for gain in gains if gain is not None]
    each = iter(holm([gain.difference.resampled_p for gain in found]))
    return [None if gain is None else replace(gain, corrected_p=next(each)) for gain in gains]
