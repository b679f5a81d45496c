"""Where runs happen: in this process, in processes of one thread each, or on the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from postel.errors import InputError, require_extra
from postel.experiments.rows import Failure, Row
from postel.experiments.running.execute import execute
from postel.experiments.running.forks import can_fork, die_with, map_in_forks
from postel.experiments.spec import RunSpec

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# Seconds for a cluster to answer, and for it to have a worker.
_ANSWER = 20


class WorkerDiedError(RuntimeError):
    """A process that was running something is gone; what was under way has to be run again."""


Outcomes = Generator[Row | Failure, None, None]
Pool = Callable[[Iterable[RunSpec]], Outcomes]


def attempt(spec: RunSpec, data_root: str | None) -> Row | Failure:
    """Run a spec; nothing is raised but an interruption.

    Args:
        spec: What to run.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        The row, or the failure.
    """
    try:
        row = execute(spec, data_root)
        json.dumps(row.as_dict(), allow_nan=False)  # what cannot be stored is this run's failure, not the study's
        return row
    except Exception:
        return Failure(spec, traceback.format_exc())


def call_in_worker(function: Callable[[Item], Outcome], item: Item, study: int) -> Outcome:
    """Call a function in a worker process, which ends when its study does, in the middle of a call if need be.

    Args:
        function: What to call.
        item: What to call it on.
        study: The process number of the study.

    Returns:
        What it returns.
    """
    _begin(study)
    return function(item)


@functools.cache
def _begin(study: int) -> None:
    # A worker starts with its garbage collector off: what importing torch leaves is never garbage, and looking
    # through it again and again is a tenth of the start. From here on it is left out of the search.
    gc.freeze()
    gc.enable()
    die_with(study)


def one_by_one(specs: Iterable[RunSpec], data_root: str | None) -> Outcomes:
    """Run specs in this process.

    Args:
        specs: What to run.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Yields:
        The outcome of each spec.
    """
    for spec in specs:
        yield attempt(spec, data_root)


def in_processes(specs: Iterable[RunSpec], data_root: str | None, workers: int) -> Outcomes:
    """Run specs in processes of one thread each.

    Args:
        specs: What to run; a spec is taken when a process is about to be free for it.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.
        workers: How many processes.

    Yields:
        The outcome of each spec, in the order in which they finish.

    Raises:
        WorkerDiedError: If a process was killed or ran out of memory.
    """
    yield from map_in_processes(functools.partial(attempt, data_root=data_root), specs, workers)


def map_in_processes(
    function: Callable[[Item], Outcome], items: Iterable[Item], workers: int
) -> Generator[Outcome, None, None]:
    """Call a function on items in processes of one thread each, which stay warm for the next call.

    They are forked where that is safe (:func:`~postel.experiments.running.forks.can_fork`), else started anew.

    Args:
        function: A function that can be pickled.
        items: What to call it on; an item is taken when a process is about to be free for it.
        workers: How many processes.

    Yields:
        What it returns, in the order in which calls finish.

    Raises:
        WorkerDiedError: If a process was killed or ran out of memory.
    """
    joblib = require_extra("joblib", "experiments")
    broken = require_extra("joblib.externals.loky.process_executor", "experiments").BrokenProcessPool
    try:
        if can_fork():
            yield from map_in_forks(function, items, workers)
            return
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            run = joblib.delayed(call_in_worker)
            calls = (run(function, item, os.getpid()) for item in items)
            yield from _parallel(joblib, calls, workers, initializer=gc.disable)
    except (broken, BrokenProcessPool) as error:
        raise WorkerDiedError("a worker process was killed or ran out of memory") from error


def on_cluster(specs: Iterable[RunSpec], data_root: str | None, scheduler: str) -> Outcomes:
    """Run specs on the workers of a Dask cluster; Dask itself retries what a lost worker was running.

    Args:
        specs: What to run.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.
        scheduler: The address of the cluster's scheduler.

    Yields:
        The outcome of each spec, in the order in which they finish.

    Raises:
        InputError: If no cluster with a worker answers, or it goes away.
        WorkerDiedError: If several workers die one after another.
    """
    joblib = require_extra("joblib", "experiments")
    distributed = require_extra("distributed", "cluster")
    with contextlib.ExitStack() as stack:
        try:
            client = stack.enter_context(distributed.Client(scheduler, timeout=_ANSWER, set_as_default=False))
            client.wait_for_workers(1, timeout=_ANSWER)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"no Dask cluster with a worker answers at {scheduler}; start one with dask scheduler and "
                f"dask worker {scheduler} --nthreads 1"
            ) from error
        try:
            with joblib.parallel_config(backend="dask", client=client):
                run = joblib.delayed(attempt)
                yield from _parallel(joblib, (run(spec, data_root) for spec in specs), -1)
        except distributed.scheduler.KilledWorker as error:
            raise WorkerDiedError("several workers of the cluster died, one after another") from error
        except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
            raise InputError(f"the Dask cluster at {scheduler} went away; start it and go on") from error


def _parallel(joblib: Any, calls: Iterator[Any], workers: int, **more: Any) -> Iterator[Any]:
    # Nothing here is large enough for memory maps, which would leave files behind a killed study.
    pool = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, max_nbytes=None, **more)
    yield from pool(calls)
