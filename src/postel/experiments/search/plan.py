"""How a search spends its budget: how many settings each rung has, and on how many splits each is trained.

The budget is in trainings, the same for every method. A method with a small grid is searched whole, and on more
splits at once if the budget allows; one with a large grid gets a first rung as large as the budget allows. No
setting is cut before it was scored on 300 validation nodes: on a small graph the first rung has as many splits as
that takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

#: A setting may be cut when it was scored on so many validation nodes, or on all splits.
NODES = 300
#: Settings of the first rung, of the rung with pseudo-labels and of the last one, in the standard search.
FIRST, THIRD, LAST = 160, 6, 3
#: Trainings of a run with pseudo-labels: the first, the 1.28 that help in the paper's mean, and one too many.
ROUNDS = 3.28

_SPLITS = 3


@dataclass(frozen=True)
class Plan:
    """How many settings each rung takes, and on how many replicates (splits, or repetitions of a single one).

    Args:
        first: Settings of the first rung.
        second: Settings of the second rung, the three splits.
        third: Settings that get their pseudo-labels; 0 if the method has none.
        last: Settings of the last rung.
        cut_on: Replicates of the first rung: enough for a cut.
        compared_on: Replicates of the second and third rung.
        decided_on: Replicates of the last rung.
        whole: Whether the first rung is the whole grid.
    """

    first: int
    second: int
    third: int
    last: int
    cut_on: int
    compared_on: int
    decided_on: int
    whole: bool

    @property
    def runs(self) -> int:
        """How many runs it takes, with or without pseudo-labels."""
        compared = self.second * (self.compared_on - self.cut_on) + self.third * self.compared_on
        return self.first * self.cut_on + compared + self.last * (self.decided_on - self.compared_on)

    def trainings(self, each: int = 1) -> float:
        """Estimate how many trainings the plan takes.

        Args:
            each: Trainings per run without pseudo-labels.

        Returns:
            The estimate.
        """
        run = each * (ROUNDS if self.third else 1)
        cost = float(self.first * self.cut_on * each)
        cost += self.second * (self.compared_on - self.cut_on) * each
        if self.third:
            cost += self.third * self.compared_on * run
        return cost + self.last * (self.decided_on - self.compared_on) * run


def plan_rungs(
    size: int,
    *,
    replicates: int,
    nodes: int,
    rounds: bool,
    each: int = 1,
    splits: int | None = None,
    budget: float | None = None,
) -> Plan:
    """Plan the rungs of a search.

    Args:
        size: How many settings the grid has.
        replicates: How many splits, or repetitions of a single one, there are.
        nodes: Number of validation nodes per split.
        rounds: Whether the method is to be run with pseudo-labels.
        each: Trainings per run without pseudo-labels: two for a method with a teacher.
        splits: How many of the replicates are different splits; all if None.
        budget: How many trainings may be spent; None for the standard rungs, whatever they cost.

    Returns:
        The plan.

    Example:
        >>> plan = plan_rungs(1120, replicates=10, nodes=500, rounds=True)
        >>> plan.first, plan.second, plan.third, plan.last, plan.cut_on, round(plan.trainings())
        (160, 54, 6, 3, 1, 396)
        >>> plan_rungs(1120, replicates=10, nodes=37, rounds=False).cut_on
        9
    """
    distinct = replicates if splits is None else splits
    cut_on = min(distinct, math.ceil(NODES / max(nodes, 1)))
    compared_on = min(replicates, max(_SPLITS, cut_on))
    standard = Plan(FIRST, 0, THIRD if rounds else 0, LAST, cut_on, compared_on, replicates, False)
    limit = standard.trainings(each) if budget is None else budget
    for on in dict.fromkeys((replicates, compared_on)):
        plan = _whole(size, on, replicates, rounds)
        if plan.trainings(each) <= limit:
            return plan

    def sized(first: int, third: int, last: int) -> Plan:
        first = min(first, size)
        second = min(first, max(math.ceil(first / 3), third, last))
        kept = min(second, third)
        few = kept if rounds else 0
        return Plan(first, second, few, min(last, kept), cut_on, compared_on, replicates, first == size)

    if budget is None:
        return sized(FIRST, THIRD, LAST)
    for third, last in ((THIRD, LAST), (4, 2), (2, 2), (2, 1)):
        tail = replace(sized(size, third, last), first=0, second=0).trainings(each)
        # What decides at the end may take half of the budget, or nothing would be left to choose from.
        if tail <= budget / 2 and sized(1, third, last).trainings(each) <= budget:
            plans = (sized(first, third, last) for first in range(min(size, int(budget)), 0, -1))
            return next(plan for plan in plans if plan.trainings(each) <= budget)
    # Too little for a last rung on all splits: there is one rung, on as many as a cut would need.
    each_setting = each * cut_on * (ROUNDS if rounds else 1)
    return _whole(max(1, min(size, int(budget // each_setting))), cut_on, cut_on, rounds, of=size)


def _whole(first: int, on: int, decided_on: int, rounds: bool, of: int | None = None) -> Plan:
    """Return a plan that compares ``first`` settings as they will be used, from the beginning."""
    last = first if on == decided_on else min(first, LAST)
    whole = of is None or first == of
    if rounds:
        return Plan(first, 0, first, last, 0, on, decided_on, whole)
    return Plan(first, first, 0, last, on, on, decided_on, whole)
