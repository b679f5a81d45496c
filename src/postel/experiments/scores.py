"""How good something is over splits: the mean of a metric, how sure that is, and what it gains over another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from postel.experiments.intervals import Interval, PairedDifference, bootstrap_interval, paired_difference

#: A difference is clear if it would come by chance less often than this.
LEVEL = 0.05
#: Resamples of the intervals that the paper's code takes.
PAPER_RESAMPLES = 1000


@dataclass(frozen=True)
class Gain:
    """What one score gains over another on the splits that both have, in points.

    Args:
        difference: The mean paired difference with its interval and p-value.
        splits: How many splits both have.
        corrected_p: The p-value corrected for the number of comparisons it is one of; None where it is not.
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
        """The mean with its 95 % interval."""
        return self.difference.interval

    @property
    def p_value(self) -> float:
        """The p-value of no difference, as it is for this comparison alone."""
        return self.difference.p_value

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that a sign-flip test of so many splits can give."""
        return 2.0 ** (1 - self.splits)

    @property
    def is_clear(self) -> bool:
        """Whether it is more than chance: the one rule of every table and page.

        The interval leaves out 0 and the p-value, corrected where a correction is there, is below 5 %. The test
        needs six splits to say anything; intervals of fewer splits are too short.
        """
        p = self.p_value if self.corrected_p is None else self.corrected_p
        return p < LEVEL and not self.interval.low <= 0 <= self.interval.high

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

    Example:
        >>> score = Score({0: 80.0, 1: 82.0, 2: 81.0})
        >>> score.mean, score.splits, score.gain_over(Score({1: 81.0, 2: 80.0, 3: 70.0})).mean
        (81.0, 3, 1.0)
    """

    by_split: Mapping[int, float]

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
        return Gain(paired_difference(ours, theirs), len(shared))
