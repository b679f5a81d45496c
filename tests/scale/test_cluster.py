"""A standalone Spark cluster of two workers on loopback, one of which is killed while the job runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from postel.scale import smooth_tables

JOB = """
import json, sys
from postel.scale import smooth_tables
edges, labels, out, master, conf = sys.argv[1:]
def progress(stage, share):
    print(stage, share, flush=True)
smooth_tables(edges, labels, out, master=master, undirected=True, spark_conf=json.loads(conf), progress=progress)
"""


class Cluster:
    """A master and two workers as processes of ours; ``kill_worker`` takes its executor with it."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        # A postel that cannot be imported: executors must not need one.
        (folder / "path").mkdir()
        (folder / "path" / "postel.py").write_text("raise ImportError('executors have no postel')\n")
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_JAVA_OPTS": f"-XX:TieredStopAtLevel=1 -Djava.io.tmpdir={folder}",
            "SPARK_LOCAL_DIRS": str(folder),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYTHONPATH": str(folder / "path"),
        }
        self._program, self._folder = str(home / "bin" / "spark-class"), folder
        self._processes: list[subprocess.Popen[bytes]] = []
        port = _free_port()
        self.master = f"spark://127.0.0.1:{port}"
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        _wait_for(lambda: _answers(port), "the master to answer")
        self.workers = [self._start_worker(number) for number in range(2)]
        log = folder / "master.Master.log"
        _wait_for(lambda: log.read_text().count("Registering worker") == 2, "both workers to register")

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        folder = self._folder / f"worker{number}"
        settings = ("--cores", "1", "--memory", "700m", "--webui-port", "0", "--work-dir", str(folder))
        return self._start("worker.Worker", "--host", "127.0.0.1", *settings, self.master)

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{name}.log").open("ab")
        command = [self._program, f"org.apache.spark.deploy.{name}", *arguments]
        process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        log.close()
        self._processes.append(process)
        return process

    def kill_worker(self, number: int) -> int:
        """The number of executor processes that were killed with the worker."""
        worker = psutil.Process(self.workers[number].pid)
        family = [*worker.children(recursive=True), worker]
        executors = [one for one in family if "CoarseGrainedExecutorBackend" in _command(one)]
        # The worker goes first: it would only start the executor again.
        for process in reversed(family):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        return len(executors)

    def stop(self) -> None:
        """Nothing; every process of the cluster has ended."""
        for process in self._processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
            process.kill()
            process.wait()


@pytest.fixture
def cluster(java: None, tmp_path: Path) -> Iterator[Cluster]:
    """Two workers on loopback."""
    pytest.importorskip("pyspark")
    folder = tmp_path / "cluster"
    folder.mkdir()
    made = Cluster(folder)
    yield made
    made.stop()


def test_a_killed_worker_changes_no_number(
    cluster: Cluster,
    tmp_path: Path,
    store: Callable[..., Path],
    read_soft: Callable[[Path], dict[Any, np.ndarray]],
) -> None:
    rng = np.random.default_rng(1)
    edges = store(
        "edges", {"source": rng.integers(9000, size=40_000), "target": rng.integers(9000, size=40_000)}, parts=8
    )
    labels = store("labels", {"node": np.arange(8000), "label": rng.integers(5, size=8000)})
    events, out = tmp_path / "events", tmp_path / "soft"
    (events / "java").mkdir(parents=True)
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={events}/java"
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{events}",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.executor.memory": "500m",
        # Small jobs: compiling for speed takes longer than they run.
        "spark.executor.extraJavaOptions": options,
        "spark.driver.extraJavaOptions": options,
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # What the lost worker held is not asked for again and again.
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "500ms",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        # A task a file, so that there are tasks to lose.
        "spark.sql.files.openCostInBytes": str(128 << 20),
    }
    command = [sys.executable, "-c", JOB, str(edges), str(labels), str(out), cluster.master, json.dumps(conf)]
    # The driver has postel; only the executors' path is poisoned.
    environment = {name: value for name, value in cluster.environment.items() if name != "PYTHONPATH"}
    killed, when = 0, ""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        for line in job.stdout:
            stage, _, share = line.strip().rpartition(" ")
            if not killed and (
                stage == "writing" or (stage == "counting" and share != "None" and float(share) > 0.2)
            ):
                killed, when = cluster.kill_worker(0), stage
    assert job.returncode == 0
    assert killed == 1 and when in ("counting", "writing")

    log = next(path for path in events.iterdir() if path.is_file() and not path.name.startswith("."))
    told = [json.loads(line) for line in log.read_text().splitlines()]
    removed = [event for event in told if event["Event"] == "SparkListenerExecutorRemoved"]
    started = [event for event in told if event["Event"] == "SparkListenerExecutorAdded"]
    assert len(started) >= 2
    assert any(
        re.search("lost|exited|terminated|disassociated|Remote RPC", event["Removed Reason"]) for event in removed
    )
    after = [event for event in told if event["Event"] == "SparkListenerTaskEnd"]
    lost_at = min(event["Timestamp"] for event in removed)
    assert any(event["Task Info"]["Finish Time"] > lost_at for event in after)

    smooth_tables(edges, labels, tmp_path / "memory.parquet", engine="memory", undirected=True)
    expected, found = read_soft(tmp_path / "memory.parquet"), read_soft(out)
    assert set(found) == set(expected)
    np.testing.assert_allclose([found[n] for n in expected], list(expected.values()), rtol=0, atol=1e-12)
    assert sorted(path.name for path in tmp_path.iterdir() if "soft" in path.name) == ["soft"]


def _command(process: psutil.Process) -> str:
    # Python workers come and go under an executor, and may be zombies when asked.
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _wait_for(done: Callable[[], bool], what: str, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.2)
