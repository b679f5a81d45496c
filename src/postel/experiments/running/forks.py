"""Worker processes forked from this one: what is imported here is imported there, so they start at once.

Importing torch and torch_geometric takes seconds, as long as a hundred tiny trainings. A forked process has them
already; as in torch's own data loaders it takes one thread before it computes anything.
"""

from __future__ import annotations

import functools
import gc
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

import torch

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# Calls handed out beyond those that are computed, so that no worker waits for the next.
_AHEAD = 2


def can_fork() -> bool:
    """Tell whether processes may be forked: on Linux without a GPU, whose threads a forked process would lack."""
    return sys.platform == "linux" and not torch.cuda.is_available()


def map_in_forks(function: Callable[[Item], Outcome], items: Iterable[Item], workers: int) -> Iterator[Outcome]:
    """Call a function on items in forked processes, which stay for the next call.

    Closing the iterator before its end kills them, in the middle of a call if need be.

    Args:
        function: A function that can be pickled.
        items: What to call it on; an item is taken when a worker is about to be free for it.
        workers: How many processes.

    Yields:
        Outcomes in the order in which they come.

    Raises:
        BrokenProcessPool: If a process is gone; nothing is known of the items that were under way.
    """
    pool = _pool(workers, os.getpid(), _surroundings())
    rest = iter(items)
    under_way: set[Future[Outcome]] = set()
    at_end = False
    try:
        while True:
            for item in itertools.islice(rest, workers + _AHEAD - len(under_way)):
                under_way.add(pool.submit(function, item))
            if not under_way:
                at_end = True
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        if not at_end:
            _kill(pool)


@functools.lru_cache(maxsize=1)
def _pool(workers: int, process: int, surroundings: tuple[Any, ...]) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(process,))


def _surroundings() -> tuple[Any, ...]:
    """Return what a forked worker inherits and would not notice to have changed."""
    try:
        folder = os.getcwd()  # noqa: PTH109 - the same as a path, only that it may be gone
    except FileNotFoundError:
        folder = ""
    return folder, tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("POSTEL_")))


def _begin(study: int) -> None:
    """Make this process a worker of the one numbered ``study``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the study's to answer
    torch.set_num_threads(1)
    gc.freeze()  # what was there before is the study's, and never garbage here
    die_with(study)


def die_with(study: int) -> None:
    """End this process, in the middle of a call if need be, when its parent ``study`` has ended.

    Args:
        study: The number of the parent process.
    """

    def watch() -> None:
        while os.getppid() == study:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _kill(pool: ProcessPoolExecutor) -> None:
    _pool.cache_clear()
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.kill()
    # Its thread is waited for: as Python exits it would write to the pipe that the thread is about to close.
    pool.shutdown(wait=True, cancel_futures=True)
