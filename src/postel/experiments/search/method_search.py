"""The search of one method, driven from outside: it asks for runs and receives their outcomes."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from postel.experiments.budget import Budget
from postel.experiments.search.choice import Measured
from postel.experiments.search.lattice import Place
from postel.experiments.search.plan import Plan, least_trainings, plan_rungs
from postel.experiments.search.rungs import Found, Known, Purse, Task, best_so_far, climb
from postel.experiments.search.spaces import Space, Values, size_of, values_at


@dataclass
class MethodSearch:
    """The search of one method; it does not know where its runs are made and stored.

    Args:
        space: What is searched.
        start: The default setting.
        budget: What may be spent.
        replicates: How many splits, or repetitions of a single one, there are.
        splits: How many of the replicates are different splits.
        nodes: Number of validation nodes per split.
        rounds: Whether the method is to be run with pseudo-labels.
        each: Trainings of a run without pseudo-labels.
        seed: Shifts the lattice.
        workers: How many runs are made at a time, which is how fast minutes are spent.
        with_rounds: Trainings of a run with pseudo-labels, on average; the paper's mean if None.
        most: Trainings of a run with pseudo-labels, at most; None if they are not bounded.
        final: How many runs the chosen setting is to have in the end, made by others and paid from the budget too.

    Example:
        >>> search = MethodSearch({"lr": [1, 2]}, {"lr": 1}, Budget("trainings", 9), 3, 3, 500, rounds=False)
        >>> while tasks := search.tasks():
        ...     search.tell({task: Measured(task.replicate, 0.1 * task.place[0], 1.0) for task in tasks})
        >>> search.found.place, search.trainings
        ((1,), 6)
    """

    space: Space
    start: Values
    budget: Budget
    replicates: int
    splits: int
    nodes: int
    rounds: bool
    each: int = 1
    seed: int = 0
    workers: int = 1
    with_rounds: float | None = None
    most: int | None = None
    final: int = 0
    known: Known = field(default_factory=dict, init=False)
    plan: Plan | None = field(default=None, init=False)
    found: Found | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._steps = self._search()
        self._pending: list[Task] = []

    def tasks(self) -> list[Task]:
        """Return the runs to make next, each until its outcome is known; none when the search is over."""
        self._pending = [task for task in self._pending if task not in self.known]
        if not self._pending and self.found is None:
            try:
                self._pending = list(next(self._steps))
            except StopIteration as end:
                self.found = end.value
                return []
        if self._time_is_up():
            self.finish()
            return []
        return list(self._pending)

    def tell(self, outcomes: Mapping[Task, Measured | None]) -> None:
        """Receive the outcomes of runs.

        Args:
            outcomes: What was measured by task, None for runs that failed.
        """
        self.known.update(outcomes)

    def finish(self) -> None:
        """End the search with the best so far."""
        self._steps.close()
        self._pending = []
        self.found = best_so_far(self.known)

    @property
    def place_of_start(self) -> Place:
        """The place of the default setting in the grid."""
        return tuple(values.index(self.start[name]) for name, values in self.space.items())

    @property
    def trainings(self) -> int:
        """How many trainings were spent so far."""
        return sum(run.trainings for run in self.known.values() if run is not None)

    @property
    def expected(self) -> int:
        """About how many trainings it will take in all; 0 until that is known."""
        return 0 if self.plan is None else round(self.plan.trainings(self.each, self.with_rounds))

    @property
    def least(self) -> int:
        """The smallest budget of trainings that a search can keep."""
        most = self.each if not self.rounds or self.most is None else self.most
        return least_trainings(
            size_of(self.space), nodes=self.nodes, splits=self.splits, most=most, final=self.final
        )

    @property
    def is_too_small(self) -> bool:
        """Whether the budget does not allow to compare two settings; then no run is asked for."""
        return self.budget.kind == "trainings" and self.budget.amount < self.least

    @property
    def method_was_searched(self) -> bool:
        """Whether settings of the method itself were compared, or it has none."""
        own = [axis for axis, name in enumerate(self.space) if name.startswith("method.")]
        places = {task.place for task in self.known}
        return not own or len({tuple(place[axis] for axis in own) for place in places}) > 1

    def values(self, place: Place) -> Values:
        """Return the setting at a place of the grid.

        Args:
            place: One index per name of the space.

        Returns:
            The value of every name.
        """
        return values_at(self.space, place)

    def summary(self) -> str:
        """Return what the rungs did, in words."""
        if self.found is None:
            return "nothing was found"
        size = size_of(self.space)
        if not self.found.rungs:
            return f"{self.found.tried} of {size} settings, ended early, {self.trainings} trainings"
        of = {"cover": f" of {size} settings", "compare": "", "pseudo-labels": " with pseudo-labels", "decide": ""}
        parts = []
        for number, rung in enumerate(self.found.rungs):
            which = of[rung.name] if number or rung.name == "cover" else f" of {size} settings{of[rung.name]}"
            unit = ("split" if self.splits == self.replicates else "run") + ("s" if rung.replicates > 1 else "")
            parts.append(f"{rung.tried}{which} on {rung.replicates} {unit}")
        return f"{', '.join(parts)}; {self.trainings} trainings"

    def _search(self) -> Generator[list[Task], None, Found | None]:
        if self.is_too_small:
            return None
        counted = self.budget.kind == "trainings"
        allowed: float | None = self.budget.amount if counted else None
        if self.budget.kind == "grid":
            allowed = math.inf
        if self.budget.kind == "minutes":
            # How much fits into the time is read off one run: its row says how long it took, whenever it was made.
            probe = Task(self.place_of_start, 0, False)
            if probe not in self.known:
                yield [probe]
            run = self.known[probe]
            each = 1.0 if run is None else run.seconds / run.trainings
            allowed = max(1.0, 60 * self.budget.amount * self.workers / max(each, 1e-3))
        self.plan = plan_rungs(
            size_of(self.space),
            replicates=self.replicates,
            nodes=self.nodes,
            rounds=self.rounds,
            each=self.each,
            splits=self.splits,
            budget=allowed,
            with_rounds=self.with_rounds,
            most=self.most if counted else None,
            final=self.final if counted else 0,
        )
        purse = None
        if counted and self.rounds and self.most is not None:
            purse = Purse(self.budget.amount, self.each, self.most, self.final)
        sizes = [len(values) for values in self.space.values()]
        start, seed = self.place_of_start, self.seed
        steps = climb(sizes, self.plan, self.known, rounds=self.rounds, start=start, seed=seed, purse=purse)
        return (yield from steps)

    def _time_is_up(self) -> bool:
        if self.budget.kind != "minutes":
            return False
        spent = math.fsum(run.seconds for run in self.known.values() if run is not None)
        return spent > 60 * self.budget.amount * self.workers
