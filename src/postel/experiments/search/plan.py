"""How a search spends its budget: how many settings each rung has, and on how many splits each is trained.

The budget is in trainings, the same for every method. A method with a small grid is searched whole, and on more
splits at once if the budget allows; one with a large grid gets a first rung as large as the budget allows. No
setting is cut before it was scored on 300 validation nodes: on a small graph the first rung has as many splits as
that takes.

How many rounds of pseudo-labels a run has is known only when it is over. A budget of trainings is kept all the
same: rounds are bounded (:func:`rounds_within`), settings are planned at what runs cost on average, and what the
budget must hold for certain, two settings to compare and the runs of the better one, at what they cost at most.
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
#: Rounds of pseudo-labels in a search whose budget is trainings: of 2,526 kept runs 12 had more.
MOST_ROUNDS = 7

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

    def trainings(self, each: int = 1, with_rounds: float | None = None) -> float:
        """Estimate how many trainings the plan takes.

        Args:
            each: Trainings per run without pseudo-labels.
            with_rounds: Trainings per run with them, on average; the paper's mean if None.

        Returns:
            The estimate.
        """
        run = each * ROUNDS if with_rounds is None else with_rounds
        run = run if self.third else each
        cost = float(self.first * self.cut_on * each)
        cost += self.second * (self.compared_on - self.cut_on) * each
        if self.third:
            cost += self.third * self.compared_on * run
        return cost + self.last * (self.decided_on - self.compared_on) * run

    def certain(self, each: int, most: int, final: int) -> int:
        """Return what the budget must hold for certain: rungs without pseudo-labels, two settings, and the choice.

        Args:
            each: Trainings per run without pseudo-labels.
            most: Trainings per run with them, at most.
            final: How many runs the chosen setting has in the end.
        """
        plain = (self.first * self.cut_on + self.second * (self.compared_on - self.cut_on)) * each
        compared = min(2, self.third) * self.compared_on
        return plain + most * (compared + max(self.decided_on, final) - self.compared_on)


def rounds_within(budget: float, asked: bool | int, runs: int) -> bool | int:
    """Bound the rounds of pseudo-labels so that half of a budget is enough for the runs of one setting.

    Args:
        budget: How many trainings may be spent.
        asked: Whether, or for how many rounds, pseudo-labels are wanted.
        runs: How many runs the chosen setting has.

    Returns:
        At most how many rounds a run of the search has; False if none are wanted.

    Example:
        >>> rounds_within(200, True, 10), rounds_within(100, True, 10), rounds_within(200, 2, 10)
        (7, 4, 2)
    """
    if asked is False:
        return False
    bound = max(1, min(MOST_ROUNDS, int(budget // (2 * runs)) - 1))
    return bound if asked is True else min(asked, bound)


def least_trainings(size: int, *, nodes: int, splits: int, most: int, final: int = 0) -> int:
    """Return the smallest budget that a search can keep: to compare two settings, and run the better one.

    Args:
        size: How many settings the grid has; with one there is nothing to compare.
        nodes: Number of validation nodes per split.
        splits: How many different splits settings are compared on.
        most: Trainings of a run as it will be used, at most.
        final: How many runs the chosen setting has in the end.

    Example:
        >>> least_trainings(8, nodes=37, splits=10, most=2), least_trainings(8, nodes=500, splits=10, most=1)
        (36, 2)
    """
    on = _cut_on(nodes, splits)
    return most * (min(2, size) * on + max(0, final - on))


def plan_rungs(
    size: int,
    *,
    replicates: int,
    nodes: int,
    rounds: bool,
    each: int = 1,
    splits: int | None = None,
    budget: float | None = None,
    with_rounds: float | None = None,
    most: int | None = None,
    final: int = 0,
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
        with_rounds: Trainings per run with pseudo-labels, on average; the paper's mean if None.
        most: Trainings per run with pseudo-labels at most; None if they are not bounded and the budget is a wish.
        final: How many runs the chosen setting has in the end; what a plan does not have of them is paid too.

    Returns:
        The plan.

    Example:
        >>> plan = plan_rungs(1120, replicates=10, nodes=500, rounds=True)
        >>> plan.first, plan.second, plan.third, plan.last, plan.cut_on, round(plan.trainings())
        (160, 54, 6, 3, 1, 396)
        >>> plan_rungs(1120, replicates=10, nodes=37, rounds=False).cut_on
        9
    """
    cut_on = _cut_on(nodes, replicates if splits is None else splits)
    compared_on = min(replicates, max(_SPLITS, cut_on))

    def whole(on: int) -> Plan:
        return _whole(size, on, replicates, rounds)

    def sized(first: int, third: int, last: int) -> Plan:
        first = min(first, size)
        second = min(first, max(math.ceil(first / 3), third, last))
        kept = min(second, third)
        few = kept if rounds else 0
        return Plan(first, second, few, min(last, kept), cut_on, compared_on, replicates, first == size)

    if budget is None:
        standard = Plan(FIRST, 0, THIRD if rounds else 0, LAST, cut_on, compared_on, replicates, False)
        wholes = (whole(on) for on in (replicates, compared_on))
        small = (plan for plan in wholes if plan.trainings() <= standard.trainings())
        return next(small, sized(FIRST, THIRD, LAST))

    run = (each * ROUNDS if with_rounds is None else with_rounds) if rounds else each
    dear = most if rounds and most is not None else run

    def fits(plan: Plan) -> bool:
        missing = max(0, final - plan.decided_on)
        # A run is started only if it fits at its dearest, so that much may be left over in the end.
        if plan.trainings(each, run) + missing * run + (dear - run) > budget:
            return False
        return not rounds or most is None or plan.certain(each, most, final) <= budget

    for on in dict.fromkeys((replicates, compared_on)):
        if fits(whole(on)):
            return whole(on)
    for third, last in ((THIRD, LAST), (4, 2), (2, 2), (2, 1)):
        tail = replace(sized(size, third, last), first=0, second=0).trainings(each, run)
        # What decides at the end may take half of the budget, or nothing would be left to choose from.
        if tail <= budget / 2 and fits(sized(2, third, last)):
            plans = (sized(first, third, last) for first in range(min(size, int(budget)), 0, -1))
            return next(plan for plan in plans if fits(plan))
    # Too little for a last rung on all splits: there is one rung, on as many as a cut would need.
    left = budget - max(0, final - cut_on) * dear
    return _whole(max(1, min(size, int(left // (cut_on * run)))), cut_on, cut_on, rounds, of=size)


def _cut_on(nodes: int, splits: int) -> int:
    """How many splits a cut takes."""
    return min(splits, math.ceil(NODES / max(nodes, 1)))


def _whole(first: int, on: int, decided_on: int, rounds: bool, of: int | None = None) -> Plan:
    """Return a plan that compares ``first`` settings as they will be used, from the beginning."""
    last = first if on == decided_on else min(first, LAST)
    whole = of is None or first == of
    if rounds:
        return Plan(first, 0, first, last, 0, on, decided_on, whole)
    return Plan(first, first, 0, last, on, on, decided_on, whole)
