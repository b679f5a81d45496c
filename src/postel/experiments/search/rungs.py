"""The search of one method: rungs of ever fewer settings on ever more splits.

1. *cover*: a lattice over the grid of network and method settings, or all of a small grid, without pseudo-labels;
   then twice as many settings, a few at a time, where a surface through the scores so far promises most.
2. *compare*: the better third on three splits.
3. *pseudo-labels*: the best few, for methods that use them.
4. *decide*: the last few on all splits.

Rounds of pseudo-labels cost what they cost, so with a budget of trainings the last two rungs go step by step, and
start only what fits into the budget however many rounds it takes.

What is tried next depends on outcomes alone, so a search that was killed and finds its rows again goes the same
way, whatever the number of workers.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

from postel.experiments.search.choice import Measured, Runs, choose, mean_score, ranked
from postel.experiments.search.lattice import Place, lattice
from postel.experiments.search.plan import Plan
from postel.experiments.search.surface import promising

# Settings that the surface proposes at a time, at least, and as a share of the first rung: what is tried depends
# on it, so it must not depend on the workers.
_BATCH, _SHARE = 4, 1 / 20
# The share of a first rung that covers the grid before any score is looked at.
_COVERING = 1 / 3


@dataclass(frozen=True)
class Task:
    """A run that the search asks for.

    Args:
        place: The setting's place in the grid.
        replicate: The number of the split, or of the repetition where there are too few splits.
        rounds: Whether with the rounds of pseudo-labels that were asked for.
    """

    place: Place
    replicate: int
    rounds: bool


@dataclass(frozen=True)
class Taken:
    """What one rung did.

    Args:
        name: ``cover``, ``compare``, ``pseudo-labels`` or ``decide``.
        tried: How many settings it trained.
        replicates: On how many replicates each of them has then been trained.
        trainings: How many trainings that took.
        seconds: How long they took.
    """

    name: str
    tried: int
    replicates: int
    trainings: int
    seconds: float


@dataclass(frozen=True)
class Found:
    """What a search came to.

    Args:
        place: The setting that was chosen.
        runs: Its runs in the last rung.
        rungs: What each rung did.
        tried: How many settings were tried in all.
        rounds: Whether the runs had pseudo-labels.
    """

    place: Place
    runs: Runs
    rungs: tuple[Taken, ...]
    tried: int
    rounds: bool


#: What every run that was asked for came to, None if it failed.
Known = dict[Task, Measured | None]


def climb(
    sizes: Sequence[int],
    plan: Plan,
    known: Known,
    *,
    rounds: bool,
    start: Place,
    seed: int = 0,
    purse: Purse | None = None,
) -> Generator[list[Task], None, Found | None]:
    """Ask for runs, rung by rung, and returns what was found.

    Args:
        sizes: How many values each axis of the grid has.
        plan: The rungs.
        known: What every run that was asked for came to; whoever drives the search puts it in.
        rounds: Whether the chosen setting is to have pseudo-labels.
        start: The default setting, which the first rung always has.
        seed: Shifts the lattice.
        purse: What runs with pseudo-labels may cost; None for whatever they do.

    Yields:
        Tasks that are not in ``known``, at least one; they have to be there when it goes on.

    Returns:
        What was found; None if every setting of a rung failed.
    """
    book = _Book(known)
    blind = plan.first if plan.whole or not plan.cut_on else math.ceil(_COVERING * plan.first)
    places = list(dict.fromkeys([start, *lattice(sizes, blind, seed)]))[: plan.first]
    batch = max(_BATCH, math.ceil(_SHARE * plan.first))
    if plan.cut_on:
        scores = yield from book.rung("cover", places, plan.cut_on, rounds=False)
        while scores and len(places) < plan.first:
            means = {place: mean_score(runs) for place, runs in scores.items()}
            # A setting that failed has no score, and is not to be tried again.
            means |= {place: min(means.values()) for place in places if place not in means}
            more = promising(sizes, means, min(batch, plan.first - len(places)), seed)
            if not more:
                break
            places += more
            scores |= yield from book.rung("cover", more, plan.cut_on, rounds=False)
        places = ranked(scores)[: plan.second]
        scores = yield from book.rung("compare", places, plan.compared_on, rounds=False)
        places = ranked(scores)[: plan.third or plan.last]
    if rounds and purse is not None:
        scores = yield from _pseudo_labels_within(purse, book, plan, places)
        finalists = yield from _decide_within(purse, book, plan, ranked(scores)[: plan.last])
        return _found(book, finalists, rounds=True)
    if rounds:
        scores = yield from book.rung("pseudo-labels", places, plan.compared_on, rounds=True)
        places = ranked(scores)[: plan.last]
    finalists = yield from book.rung("decide", places, plan.decided_on, rounds=rounds)
    return _found(book, finalists, rounds=rounds)


def _found(book: _Book, finalists: dict[Place, Runs], *, rounds: bool) -> Found | None:
    if not finalists:
        return None
    chosen = choose(finalists)
    return Found(chosen, finalists[chosen], tuple(book.taken.values()), len(book.places), rounds)


def _pseudo_labels_within(
    purse: Purse, book: _Book, plan: Plan, places: list[Place]
) -> Generator[list[Task], None, dict[Place, Runs]]:
    """As many of ``places`` with pseudo-labels as surely fit, then as many more as what is left allows."""
    after = purse.runs_to_the_end(plan, plan.compared_on)
    scores: dict[Place, Runs] = {}
    while places:
        fit = max(0, purse.runs_left(book) - after) // plan.compared_on
        if not fit:
            break
        scores |= yield from book.rung("pseudo-labels", places[:fit], plan.compared_on, rounds=True)
        places = places[fit:]
    return scores


def _decide_within(
    purse: Purse, book: _Book, plan: Plan, places: list[Place]
) -> Generator[list[Task], None, dict[Place, Runs]]:
    """All of ``places`` on ever more replicates; where not all fit the worst gives way, so that one gets there."""
    on = plan.compared_on
    while places and on < plan.decided_on:
        spare, steps = purse.runs_left(book) - purse.runs_to_the_end(plan, on), plan.decided_on - on
        if len(places) > 1:
            steps = min(steps, max(0, spare) // (len(places) - 1))
        if not steps:
            places = places[:-1]
            continue
        on += steps
        places = ranked((yield from book.rung("decide", places, on, rounds=True)))
    return measured(book.known, places, on, rounds=True)


@dataclass(frozen=True)
class Purse:
    """What a search with pseudo-labels may spend.

    Args:
        trainings: How many trainings.
        each: Trainings of a run without pseudo-labels.
        most: Trainings of a run with them, at most.
        final: How many runs the chosen setting is to have in the end.
    """

    trainings: float
    each: int
    most: int
    final: int = 0

    def runs_left(self, book: _Book) -> int:
        """Return how many runs with pseudo-labels surely fit.

        Args:
            book: What was done; a run that failed counts as if it had gone to its end.
        """
        spent = 0
        for task in book.counted:
            run = book.known[task]
            spent += run.trainings if run is not None else self.most if task.rounds else self.each
        return int((self.trainings - spent) // self.most)

    def runs_to_the_end(self, plan: Plan, on: int) -> int:
        """Return how many runs the chosen setting has still before it.

        Args:
            plan: The rungs.
            on: How many replicates it has been run on.
        """
        return max(plan.decided_on, self.final) - on


class _Book:
    """What the rungs have done so far."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.counted: set[Task] = set()
        self.places: set[Place] = set()
        self.taken: dict[str, Taken] = {}
        self.tried: dict[str, set[Place]] = {}

    def rung(
        self, name: str, places: Sequence[Place], replicates: int, *, rounds: bool
    ) -> Generator[list[Task], None, dict[Place, Runs]]:
        """The runs of ``places`` on ``replicates`` replicates, asked for where they are not known."""
        tasks = [Task(place, number, rounds) for place in places for number in range(replicates)]
        missing = [task for task in tasks if task not in self.known]
        if missing:
            yield missing
        fresh = [task for task in tasks if task not in self.counted]
        self.counted.update(fresh)
        self.places.update(places)
        runs = [run for task in fresh if (run := self.known[task]) is not None]
        if fresh:
            before = self.taken.get(name, Taken(name, 0, 0, 0, 0.0))
            # Places that come later join a rung; those that get further than others are what it has come to.
            tried = self.tried.get(name, set()) if replicates == before.replicates else set()
            self.tried[name] = tried | set(places)
            self.taken[name] = Taken(
                name,
                len(self.tried[name]),
                replicates,
                before.trainings + sum(run.trainings for run in runs),
                before.seconds + math.fsum(run.seconds for run in runs),
            )
        return measured(self.known, places, replicates, rounds=rounds)


def measured(known: Known, places: Iterable[Place], replicates: int, *, rounds: bool) -> dict[Place, Runs]:
    """Return the runs of the places none of whose runs failed.

    Args:
        known: What every run that was asked for came to.
        places: The settings.
        replicates: How many runs of each are looked at.
        rounds: Whether those with pseudo-labels.
    """
    found: dict[Place, Runs] = {}
    for place in places:
        runs = [known.get(Task(place, number, rounds)) for number in range(replicates)]
        if all(run is not None for run in runs):
            found[place] = [run for run in runs if run is not None]
    return found


def best_so_far(known: Known) -> Found | None:
    """Return the best of what is known when a search ends before its time.

    Settings that got furthest are compared: with pseudo-labels before without, and on the most replicates that any
    of them has.

    Args:
        known: What every run that was asked for came to.
    """
    for rounds in (True, False):
        done = {task for task, run in known.items() if run is not None and task.rounds == rounds}
        places = sorted({task.place for task in done})
        for replicates in range(1 + max((task.replicate for task in done), default=-1), 0, -1):
            finalists = measured(known, places, replicates, rounds=rounds)
            if finalists:
                chosen = choose(finalists)
                tried = len({task.place for task in known})
                return Found(chosen, finalists[chosen], (), tried, rounds)
    return None
