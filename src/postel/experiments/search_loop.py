"""A search under way: batches of trials, each run split by split, until the budget is spent."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from postel.experiments.budget import Budget
from postel.experiments.problem import Problem
from postel.experiments.proposals import Setting, propose, untried
from postel.experiments.running.execute import Row
from postel.experiments.spaces import start_of
from postel.experiments.spec import RunSpec
from postel.experiments.trials import Trials, Verdict

# Trials that are thought up at a time, before any of them is run: the settings tried depend on it, and so on the
# number of workers only where there are more of them.
_BATCH = 4

# Settings of a full grid that are handed out at a time: enough for every worker to be busy.
_GRID_BATCH = 64

# Seconds between looks at trials of other processes.
_LOOK = 1.0


@dataclass(frozen=True)
class Best:
    """What a search came to: the setting, its means over the search splits, and how many trials there were."""

    setting: Setting
    validation: dict[str, float]
    trials: int


@dataclass
class Search:
    """Spends a budget on a problem; ``run`` gives the rows of specs, without those that failed."""

    problem: Problem
    trials: Trials
    budget: Budget
    splits: Sequence[int]
    seed: int
    workers: int
    run: Callable[[Sequence[RunSpec]], list[Row]]
    on_trial: Callable[[int, int], None]

    def best(self) -> Best | None:
        """The best setting on validation nodes, after the budget is spent; None if every trial failed."""
        while True:
            adopted = [trial for trial in self.trials.orphans() if not self.trials.close(trial)]
            batch = [*adopted, *self._new(adopted)]
            if batch:
                self._evaluate(batch)
            elif any(not trial.state.is_finished() for trial in self.trials.known()):
                time.sleep(_LOOK)
            else:
                break
        # What a larger budget has tried before does not count: equal budgets are equal whatever was there.
        known = self.trials.known()
        known = known[: self._limit(known)]
        complete = [trial for trial in known if trial.state.name == "COMPLETE"]
        if not complete:
            return None
        winner = min(complete, key=lambda trial: (-trial.value, trial.user_attrs["verdict"]["loss"], trial.number))
        said = winner.user_attrs["verdict"]
        return Best(winner.params, {"accuracy": said["accuracy"], "loss": said["loss"]}, len(known))

    @property
    def _is_grid(self) -> bool:
        return self.budget.kind == "grid"

    def _limit(self, known: Sequence[Any]) -> int:
        """How many trials there may be in all."""
        size = self.problem.size
        if self.budget.kind == "trials":
            return min(size, int(self.budget.amount))
        spent = sum(trial.user_attrs.get("verdict", {}).get("seconds", 0.0) for trial in known)
        return size if self._is_grid or spent < 60 * self.budget.amount else len(known)

    def _new(self, adopted: Sequence[Any]) -> list[Any]:
        """New trials, up to the end of a batch; none if those taken over are the rest of a full one."""
        known = self.trials.known()
        batch = _GRID_BATCH if self._is_grid else max(_BATCH, self.workers)
        if adopted and len(known) % batch == 0:
            return []
        count = min(self._limit(known) - len(known), batch - len(known) % batch)
        opened = []
        for setting in self._settings(known, count):
            trial = self.trials.open(setting)
            if trial is not None:
                opened.append(trial)
                known.append(trial)
        return opened

    def _settings(self, known: Sequence[Any], count: int) -> Iterator[Setting]:
        """The next ``count`` settings; ``known`` grows as they are opened."""
        space = self.problem.space
        if self._is_grid:
            yield from itertools.islice(untried(space, known), max(count, 0))
            return
        start = start_of(space, self.problem.backbone, self.problem.method.name)
        for _ in range(count):
            yield propose(space, known, self.seed, len(known), start)

    def _evaluate(self, batch: Sequence[Any]) -> None:
        """Run the trials of ``batch``, report after every split, cut short what is hopeless, and close them."""
        started = time.monotonic()
        rows: dict[int, list[Row]] = {trial.number: [] for trial in batch}
        verdicts: dict[int, Verdict] = {}
        # A grid cuts nothing short, so its splits need not wait for each other.
        waves = [list(self.splits)] if self._is_grid else [[split] for split in self.splits]
        for wave in waves:
            going = [trial for trial in batch if trial.number not in verdicts]
            specs = {trial.number: [self.problem.spec(trial.params, split) for split in wave] for trial in going}
            done = {row["key"]: row for row in self.run(list(itertools.chain(*specs.values())))}
            for trial in going:
                for spec in specs[trial.number]:
                    if spec.key not in done:
                        verdicts[trial.number] = Verdict("FAIL")
                        break
                    rows[trial.number].append(done[spec.key])
                    self.trials.report(trial, len(rows[trial.number]) - 1, mean_accuracy(rows[trial.number]))
                over = trial.number in verdicts or len(rows[trial.number]) == len(self.splits)
                if not over and self.trials.hopeless(trial):
                    verdicts[trial.number] = Verdict("PRUNED")
        for number, found in rows.items():
            if number not in verdicts:
                verdicts[number] = Verdict("COMPLETE", mean_accuracy(found), mean_loss(found))
        self.trials.finish([(trial, verdicts[trial.number]) for trial in batch], time.monotonic() - started)
        known = self.trials.known()
        self.on_trial(sum(trial.state.is_finished() for trial in known), self._limit(known))


def mean_accuracy(rows: Sequence[Row]) -> float:
    """The mean accuracy on validation nodes."""
    return math.fsum(row["result"]["val"]["accuracy"] for row in rows) / len(rows)


def mean_loss(rows: Sequence[Row]) -> float:
    """The mean of the lowest losses on validation nodes."""
    return math.fsum(row["result"]["val_loss"] for row in rows) / len(rows)
