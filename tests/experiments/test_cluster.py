"""The same study on a real Dask cluster: a scheduler and two workers, each a process of its own, on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import Here
from experiments.studies import timeless, tiny_specs
from postel.experiments.running.execute import execute
from postel.experiments.running.executor import run_all
from postel.experiments.store import Store

Process = subprocess.Popen[bytes]


def dask(folder: Path, *arguments: str) -> Process:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "dask", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def worker(folder: Path, address: str) -> Process:
    # No nanny: the process that is killed is the worker, and nothing starts another.
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    return dask(folder, "worker", address, *options, "--local-directory", str(folder))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[Process]]]:
    """The scheduler's address and the two workers."""
    told = tmp_path / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told))
    scheduler = dask(tmp_path, "scheduler", *options)
    processes = [scheduler]
    try:
        deadline = time.monotonic() + 60
        while not told.exists():
            assert time.monotonic() < deadline and scheduler.poll() is None
            time.sleep(0.1)
        address = json.loads(told.read_text())["address"]
        processes += [worker(tmp_path, address) for _ in range(2)]
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_a_cluster_gives_the_same_rows_and_a_killed_worker_costs_a_retry(
    cluster: tuple[str, list[Process]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address, workers = cluster
    specs = tiny_specs(6)
    store = Store(tmp_path / "rows.sqlite")
    came = threading.Event()

    def kill_one() -> None:
        came.wait(120)
        os.kill(workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    rows = run_all(specs, store=store, scheduler=address, on_row=lambda row: came.set())
    killer.join()
    assert workers[0].wait(10) == -signal.SIGKILL
    assert [timeless(row) for row in rows] == [timeless(execute(spec)) for spec in specs]
    assert store.failures() == [] and len(store) == len(specs)

    # The command line reaches it, too.
    given = ("-m", "one_hot", "--splits", "2", "--max-epochs", "20", "--store", "more.sqlite", "--json")
    done = Here(monkeypatch, capsys)("compare", "karate", *given, "--scheduler", address, cwd=tmp_path)
    assert done.returncode == 0 and len(Store(tmp_path / "more.sqlite")) == 2, done.stderr


def test_no_cluster_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postel.experiments.running.workers._ANSWER", 1)
    with pytest.raises(ValueError, match=r"no Dask cluster with a worker answers at tcp://127\.0\.0\.1:9"):
        run_all(tiny_specs(1), scheduler="tcp://127.0.0.1:9")
