"""Time and peak memory of ``postel smooth`` on every engine, each job a process of its own, start-up included.

    python benchmarks/scale.py                                    # 1 M and 10 M edges, all engines
    python benchmarks/scale.py --edges 62e6 --engines duckdb      # the size of ogbn-products

The graph is synthetic with a power law of degrees: undirected edges, 47 classes of uneven size, in the ratio of
nodes to edges of ogbn-products (2,449,029 nodes at 62 M edges). ``8 %`` labels a random part of the nodes, ``all``
every node. Memory is that of the whole tree of processes, sampled, and at least what the system counted for the
largest; temporary data is what lay in the job's own folder at most. Wall time depends on what else the machine
does: the load beside it says how much that was, and CPU time depends on it less.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq

from postel.errors import require_extra

CLASSES = 47
NODES_AN_EDGE = 2_449_029 / 62e6
CHUNK = 1 << 20

JOB = """
import json, sys
from postel.scale import smooth_tables
settings, shuffle = json.loads(sys.argv[1])
if shuffle:
    from postel.scale import spark_engine
    spark_engine.BROADCAST_ROWS = 0
made = smooth_tables(**settings)
print(made.nodes)
"""


def write_graph(folder: Path, edges: int, seed: int = 0) -> int:
    """The number of nodes; the folder then holds ``edges.parquet``, ``some.parquet`` (8 %) and ``all.parquet``."""
    rng = np.random.default_rng(seed)
    nodes = max(100, round(edges * NODES_AN_EDGE))
    names = rng.permutation(nodes)
    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    with pq.ParquetWriter(folder / "edges.parquet", schema) as writer:
        for first in range(0, edges, CHUNK):
            ends = [names[(nodes * rng.random(min(CHUNK, edges - first)) ** 2).astype(np.int64)] for _ in "st"]
            writer.write_table(pa.table(ends, schema=schema))
    shares = 1 / np.arange(1, CLASSES + 1)
    labels = rng.choice(CLASSES, nodes, p=shares / shares.sum())
    some = np.sort(rng.choice(nodes, max(50, nodes * 8 // 100), replace=False))
    for name, chosen in (("some", some), ("all", np.arange(nodes))):
        pq.write_table(pa.table({"node": chosen, "label": labels[chosen]}), folder / f"{name}.parquet")
    return nodes


def sizes(folder: Path) -> dict[str, float]:
    """Return bytes of Parquet, and counted rows (node, class) with all nodes labelled, per edge."""
    duckdb = require_extra("duckdb", "duckdb")
    edges, labels = f"'{folder}/edges.parquet'", f"'{folder}/all.parquet'"
    both = f"SELECT source AS a, target AS b FROM {edges} UNION ALL SELECT target, source FROM {edges}"
    query = f"SELECT count(*) FROM (SELECT DISTINCT a, label FROM ({both}) JOIN {labels} ON b = node WHERE a <> b)"
    count = pq.read_metadata(folder / "edges.parquet").num_rows
    rows = duckdb.connect().execute(query).fetchone()[0]
    size = (folder / "edges.parquet").stat().st_size
    return {"bytes_an_edge": round(size / count, 1), "rows_an_edge": round(rows / count, 2)}


def measure(folder: Path, engine: str, labelled: str, options: argparse.Namespace) -> dict[str, Any]:
    """What one job took: seconds, CPU seconds, peak and temporary megabytes, and on Spark the bytes shuffled."""
    temp, events = folder / "temp", folder / "events"
    for name in (temp, events):
        name.mkdir(exist_ok=True)
    settings: dict[str, Any] = {
        "edges": f"{folder}/edges.parquet",
        "labels": f"{folder}/{labelled}.parquet",
        "out": f"{folder}/soft",
        "engine": engine,
        "undirected": True,
        "memory_limit": options.memory_limit,
        "temp_dir": str(temp),
        "overwrite": True,
        "num_classes": CLASSES,
    }
    if engine == "spark":
        log = {"enabled": "true", "dir": f"file://{events}", "rolling.enabled": "false", "compress": "false"}
        settings["spark_conf"] = {f"spark.eventLog.{name}": value for name, value in log.items()}
        settings["master"] = options.master
    load = os.getloadavg()[0]
    started = time.perf_counter()
    job = subprocess.Popen(
        [sys.executable, "-c", JOB, json.dumps([settings, options.shuffle])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak, spilled, cpu = 0, 0, {}
    while job.poll() is None:
        memory = 0
        for process in [job.pid, *_children(job.pid)]:
            seen = _look(process)
            if seen is not None:
                memory += seen[0]
                cpu[process] = seen[1]
        peak = max(peak, memory)
        spilled = max(spilled, _size(temp))
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    rows, told = job.communicate()
    if job.returncode:
        raise SystemExit(f"the job on {engine} failed:\n{told}")
    return {
        "engine": engine,
        "labelled": "8 %" if labelled == "some" else "all",
        "rows": int(rows),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(sum(cpu.values()), 1),
        "peak_mb": round(peak / 1e6),
        "temporary_mb": round(spilled / 1e6),
        "shuffled_mb": round(_shuffled(events) / 1e6) if engine == "spark" else None,
        "load": round(load, 1),
    }


def _children(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _look(pid: int) -> tuple[int, float] | None:
    """Largest resident memory of a process so far (now, where the system does not keep it) and its CPU seconds."""
    try:
        process = psutil.Process(pid)
        times = process.cpu_times()
        memory = process.memory_info().rss
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                memory = int(line.split()[1]) * 1024
    except (psutil.Error, OSError):
        return None
    return memory, times.user + times.system


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            # Files come and go while the job runs.
            with contextlib.suppress(OSError):
                total += (Path(parent) / name).stat().st_size
    return total


def _shuffled(events: Path) -> int:
    """Bytes that tasks wrote for other tasks, from Spark's own log."""
    total = 0
    for path in events.iterdir():
        if not path.name.startswith("."):
            for line in path.read_text().splitlines():
                event = json.loads(line)
                if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                    total += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        path.unlink()
    return total


def main() -> None:
    """Print one line per job."""
    parser = argparse.ArgumentParser(description="Time and peak memory of postel smooth on every engine.")
    parser.add_argument("--edges", type=float, nargs="+", default=[1e6, 10e6])
    parser.add_argument("--engines", nargs="+", default=["memory", "duckdb", "spark"])
    parser.add_argument("--labelled", nargs="+", choices=["some", "all"], default=["some", "all"])
    parser.add_argument("--memory-limit", default="1GB")
    parser.add_argument("--master", help="Spark master; without it local[*]")
    parser.add_argument(
        "--shuffle", action="store_true", help="on Spark: join by shuffle, as for a large label table"
    )
    parser.add_argument("--sizes", action="store_true", help="only bytes and counted rows per edge, with DuckDB")
    parser.add_argument("--folder", type=Path, help="where the data goes; removed at the end")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    options = parser.parse_args()
    columns = f"{'edges':>11} {'nodes':>9} {'labelled':>8} {'engine':>7} {'rows':>9} {'wall s':>7} {'CPU s':>7}"
    if not options.json and not options.sizes:
        print(f"{columns} {'peak MB':>8} {'temp MB':>8} {'shuffled MB':>11} {'load':>5}")
    for edges in map(round, options.edges):
        with tempfile.TemporaryDirectory(prefix="postel-scale-", dir=options.folder) as name:
            nodes = write_graph(Path(name), edges)
            if options.sizes:
                print(json.dumps({"edges": edges, "nodes": nodes, **sizes(Path(name))}), flush=True)
                continue
            for engine in options.engines:
                for labelled in options.labelled:
                    row = measure(Path(name), engine, labelled, options)
                    if options.json:
                        print(json.dumps({"edges": edges, "nodes": nodes, **row}), flush=True)
                        continue
                    shuffled = "-" if row["shuffled_mb"] is None else str(row["shuffled_mb"])
                    print(
                        f"{edges:>11,} {nodes:>9,} {row['labelled']:>8} {engine:>7} {row['rows']:>9,} "
                        f"{row['seconds']:>7} {row['cpu_seconds']:>7} {row['peak_mb']:>8,} "
                        f"{row['temporary_mb']:>8,} {shuffled:>11} {row['load']:>5}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
