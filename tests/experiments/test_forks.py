"""Forked workers give the rows of any others, start at once, and go when they have to."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.studies import timeless, tiny_specs
from postel.experiments.running import workers
from postel.experiments.running.execute import alone_on_one_thread, execute
from postel.experiments.running.executor import run_all
from postel.experiments.running.forks import can_fork, map_in_forks
from postel.experiments.running.workers import WorkerDiedError, in_processes

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are not forked here")
SPECS = tiny_specs(2)


def _who(item: int) -> tuple[int, int, int, str]:
    time.sleep(0.05)
    return item, os.getpid(), torch.get_num_threads(), os.environ.get("POSTEL_DATA", "")


def _end(item: int) -> int:
    if item == 3:
        os._exit(1)
    return item


def _sleep(item: int) -> int:
    time.sleep(60)
    return item


def _forked() -> list[Any]:
    """Forked processes that are alive; joblib's are of another kind."""
    return [child for child in active_children() if isinstance(child, get_context("fork").Process)]


def test_rows_are_those_of_this_process_whatever_it_was_doing_when_it_forked():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with alone_on_one_thread():
            held.set()
            leave.wait()

    holder = threading.Thread(target=hold)
    try:
        weight = torch.rand(600, 600, requires_grad=True)
        (weight @ weight).sum().backward()  # its threads are not there in a forked process
        holder.start()
        held.wait()
        rows = {row.key: timeless(row) for row in run_all(SPECS, workers=2)}
    finally:
        leave.set()
        holder.join()
        torch.set_num_threads(threads)
    assert rows == {spec.key: timeless(execute(spec)) for spec in SPECS}


def test_rows_are_those_of_processes_that_were_started_anew(monkeypatch):
    monkeypatch.setattr(workers, "can_fork", lambda: False)
    rows = {row.key: timeless(row) for row in run_all(SPECS[:3], workers=2)}
    assert rows == {spec.key: timeless(execute(spec)) for spec in SPECS[:3]}


def test_workers_have_one_thread_and_stay_until_their_surroundings_change(tmp_path, monkeypatch):
    first = list(map_in_forks(_who, range(8), 2))
    again = list(map_in_forks(_who, range(8), 2))
    assert sorted(item for item, *_ in first) == list(range(8))
    pids = {pid for _, pid, *_ in first}
    assert len(pids) == 2 and os.getpid() not in pids and {pid for _, pid, *_ in again} == pids
    assert {threads for _, _, threads, _ in first} == {1}
    monkeypatch.setenv("POSTEL_DATA", str(tmp_path))
    other = list(map_in_forks(_who, range(4), 2))
    assert {data for *_, data in other} == {str(tmp_path)} and not {pid for _, pid, *_ in other} & pids


def test_items_are_taken_as_workers_get_free():
    taken = []

    def items():
        for item in range(20):
            taken.append(item)
            yield item

    outcomes = map_in_forks(_who, items(), 2)
    next(outcomes)
    assert len(taken) == 4
    assert len(list(outcomes)) == 19


def test_a_worker_that_ends_breaks_this_call_and_not_the_next():
    with pytest.raises(BrokenProcessPool):
        list(map_in_forks(_end, range(8), 2))
    assert sorted(map_in_forks(_end, range(3), 2)) == [0, 1, 2]


def test_a_killed_worker_is_told_as_such():
    outcomes = in_processes(SPECS, None, 2)
    next(outcomes)
    for child in _forked():
        child.kill()
    with pytest.raises(WorkerDiedError, match="killed or ran out of memory"):
        list(outcomes)


def test_an_iterator_that_is_closed_leaves_no_worker_and_no_thread_behind():
    def items():
        yield 0
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(map_in_forks(_sleep, items(), 2))
    assert _forked() == []
    # What runs a pool writes to it as Python exits, unless it is gone by then.
    modules = {type(thread).__module__ for thread in threading.enumerate()}
    assert ProcessPoolExecutor.__module__ not in modules


def test_a_study_starts_without_importing_anything(tmp_path: Path):
    list(map_in_forks(_who, range(2), 3))
    started = time.monotonic()
    list(map_in_forks(_who, range(2), 2))  # other workers than those that are there
    assert time.monotonic() - started < 3
