"""Runs many specs: rows are stored as they come, none is run twice, and a failure does not stop the rest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial

from postel.experiments.rows import Failure, Row
from postel.experiments.running.claims import Claims
from postel.experiments.running.workers import Pool, WorkerDiedError, in_processes, on_cluster, one_by_one
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store

# Seconds between looks at what another study is running.
_LOOK = 0.25

# After as many deaths around it a run is tried alone; if its worker dies then too, the run is to blame.
_DEATHS = 2


def run_all(
    specs: Sequence[RunSpec],
    *,
    workers: int = 2,
    data_root: str | None = None,
    store: Store | None = None,
    on_row: Callable[[Row], None] = lambda row: None,
    on_start: Callable[[RunSpec], None] = lambda spec: None,
    on_failure: Callable[[RunSpec, str], None] = lambda spec, text: None,
    scheduler: str | None = None,
) -> list[Row]:
    """Run specs, but for those whose rows are already in the store.

    A run that fails has no row and is tried again by the next call. A run that another study on the same store is
    busy with is waited for.

    Args:
        specs: What to run.
        workers: How many processes, of one thread each. One per core is fastest for many small trainings; 1 runs
            everything in this process, and so do runs on another device than the CPU.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.
        store: Where rows are read from and added to; None to store nothing.
        on_row: Called with every row, those from the store first.
        on_start: Called with every spec that is handed to a worker, from any thread.
        on_failure: Called with the spec and the traceback of every run that fails.
        scheduler: The address of a Dask cluster to run on instead of processes.

    Returns:
        The rows in the order of ``specs``, without those of failed runs.

    Example:
        >>> from postel.experiments.comparison import comparison_specs
        >>> from postel.experiments.spec import MethodSpec
        >>> specs = comparison_specs("karate", [MethodSpec(name="one_hot")], range(2), max_epochs=5)
        >>> [row.split for row in run_all(specs, workers=1)]
        [0, 1]
    """
    wanted = {spec.key: spec for spec in specs}
    study = _Study(store, on_row, on_start, on_failure)
    for row in (store.get(wanted) if store is not None else {}).values():
        study.settle(row)
    missing = study.unsettled(wanted.values())
    if missing:
        pool: Pool
        if scheduler is not None:
            pool = partial(on_cluster, data_root=data_root, scheduler=scheduler)
        elif workers == 1 or any(spec.device != "cpu" for spec in missing):
            # A GPU that this process has looked at is lost to the processes it forks.
            pool = partial(one_by_one, data_root=data_root)
        else:
            pool = partial(in_processes, data_root=data_root, workers=workers)
        study.run(missing, pool)
    return [study.rows[key] for key in wanted if key in study.rows]


class _Study:
    """The state of a study while it runs: its rows, its failures and its claims."""

    def __init__(
        self,
        store: Store | None,
        on_row: Callable[[Row], None],
        on_start: Callable[[RunSpec], None],
        on_failure: Callable[[RunSpec, str], None],
    ) -> None:
        self.store, self.on_row, self.on_start, self.on_failure = store, on_row, on_start, on_failure
        self.rows: dict[str, Row] = {}
        self.failed: set[str] = set()
        self.claims: Claims | None = None
        self.deaths: Counter[str] = Counter()
        self.under_way: dict[str, RunSpec] = {}
        self.error: Exception | None = None

    def run(self, missing: list[RunSpec], pool: Pool) -> None:
        """Run specs until each has a row or a failure."""
        with ExitStack() as stack:
            if self.store is not None:
                stack.enter_context(self.store.kept_open())
                self.claims = stack.enter_context(Claims(self.store))
            while missing:
                suspects = [spec for spec in missing if self.deaths[spec.key] >= _DEATHS]
                for spec in suspects:
                    self._wave([spec], pool)
                    if self.deaths[spec.key] > _DEATHS:
                        self._fail(spec, "The worker process died each time (killed, or out of memory).\n")
                busy = self._wave([spec for spec in missing if spec not in suspects], pool)
                missing = self.unsettled(missing)
                if missing and not busy:
                    time.sleep(_LOOK)
                    self._look(missing)
                    missing = self.unsettled(missing)

    def settle(self, row: Row) -> None:
        """Take a row as the outcome of its spec."""
        self.rows[row.key] = row
        self.on_row(row)

    def unsettled(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """Return the specs that have neither a row nor a failure."""
        return [spec for spec in specs if spec.key not in self.rows and spec.key not in self.failed]

    def _wave(self, specs: Sequence[RunSpec], pool: Pool) -> bool:
        """Run the specs that no other study is running; return whether there was any."""
        self.under_way = {}
        busy = False
        try:
            # Closed at once when something is raised here: no worker goes on with what nobody will take.
            with closing(pool(self._claimed(specs))) as outcomes:
                for outcome in outcomes:
                    busy = True
                    if isinstance(outcome, Failure):
                        self._fail(self.under_way.pop(outcome.key), outcome.traceback)
                    else:
                        self.under_way.pop(outcome.key)
                        if self.store is not None:
                            self.store.add(outcome)
                        self.settle(outcome)
        except WorkerDiedError:
            busy = True
            self.deaths.update(list(self.under_way))
        if self.error is not None:
            raise self.error
        return busy

    def _claimed(self, specs: Sequence[RunSpec]) -> Iterator[RunSpec]:
        """Yield the specs that no other study is running, each claimed at the moment it is handed out.

        The pool asks for them from threads of its own, where an exception would be lost: it is raised later.
        """
        for spec in specs:
            try:
                if self.claims is not None and self.claims.take(spec.key) != "claimed":
                    continue
            except Exception as error:
                self.error = error
                return
            self.under_way[spec.key] = spec
            self.on_start(spec)
            yield spec

    def _fail(self, spec: RunSpec, text: str) -> None:
        if self.store is not None:
            self.store.add_failure(spec, text)
        self.failed.add(spec.key)
        self.on_failure(spec, text)

    def _look(self, missing: list[RunSpec]) -> None:
        """Take over what other studies have finished in the meantime."""
        assert self.store is not None and self.claims is not None
        for row in self.store.get(spec.key for spec in missing).values():
            self.settle(row)
        recent = {
            failure.key: failure.traceback for failure in self.store.failures() if failure.at >= self.claims.since
        }
        for spec in self.unsettled(missing):
            if spec.key in recent:
                self.failed.add(spec.key)
                self.on_failure(spec, recent[spec.key])
