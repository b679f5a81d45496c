"""What goes wrong is one clear sentence, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postel.errors import InputError
from postel.scale import Columns, smooth_tables

GOOD_EDGES = {"source": [1, 2], "target": [2, 1]}
GOOD_LABELS = {"node": [1, 2], "label": [0, 1]}


def fails(words: str, folder: Path, edges: Path, labels: Path, **settings: Any) -> None:
    """The job fails with one sentence that has ``words``, and leaves no output and no temporary data."""
    temp = folder / "temp"
    temp.mkdir(exist_ok=True)
    with pytest.raises(InputError, match=words) as caught:
        smooth_tables(edges, labels, folder / "out.parquet", temp_dir=temp, **settings)
    assert "\n" not in str(caught.value)
    assert not list(temp.iterdir())
    assert not [path for path in folder.iterdir() if "out.parquet" in path.name]


def test_a_label_that_conflicts(engine: str, tmp_path: Path, store: Callable[..., Path]) -> None:
    edges = store("edges", GOOD_EDGES)
    labels = store("labels", {"node": [1, 2, 1], "label": [0, 1, 1]})
    fails("labels: node 1 has two labels, 0 and 1; keep one", tmp_path, edges, labels, engine=engine)
    labels = store("labels", GOOD_LABELS)
    pseudo = store("pseudo", {"node": [7, 7], "label": [0, 1]})
    words = "pseudo-labels: node 7 has two labels"
    fails(words, tmp_path, edges, labels, pseudo_labels=pseudo, engine=engine)


def test_a_value_that_does_not_fit(engine: str, tmp_path: Path, store: Callable[..., Path]) -> None:
    edges = tmp_path / "edges.csv"
    # Past what is looked at first, so that only the engine can see it.
    edges.write_text("source,target\n" + "1000001,1000002\n" * 150_000 + "1000001,x2\n")
    labels = store("labels", {"node": [1000001, 1000002], "label": [0, 1]})
    fails("edges .*edges.csv holds a value that does not fit", tmp_path, edges, labels, engine=engine)


def test_a_file_that_is_cut_inside(engine: str, tmp_path: Path, store: Callable[..., Path]) -> None:
    rng = np.random.default_rng(0)
    edges = store(
        "edges", {"source": rng.integers(10**9, size=50_000), "target": rng.integers(10**9, size=50_000)}
    )
    whole = bytearray(edges.read_bytes())
    whole[200 : len(whole) // 2] = os.urandom(len(whole) // 2 - 200)  # the footer stays
    edges.write_bytes(whole)
    labels = store("labels", {"node": rng.integers(10**9, size=50), "label": rng.integers(2, size=50)})
    fails("edges .*edges.parquet (cannot be read|holds a value)", tmp_path, edges, labels, engine=engine)


def test_tables_that_do_not_fit(tmp_path: Path, store: Callable[..., Path]) -> None:
    edges, labels = store("edges", GOOD_EDGES), store("labels", GOOD_LABELS)
    columns = Columns(source="from")
    fails("must have one column 'from', but it has source, target", tmp_path, edges, labels, columns=columns)
    floats = store("floats", {"node": [1, 2], "label": [0.0, 1.0]})
    fails("column 'label' holds values of type double, integers or strings", tmp_path, edges, floats)
    texts = store("texts", {"node": ["1", "2"], "label": [0, 1]})
    fails("edges column 'target' holds integers and labels column 'node' holds strings", tmp_path, edges, texts)
    smooth_tables(edges, texts, tmp_path / "cast.parquet", columns=Columns(id_type="string"))
    fails("there is no Parquet or CSV file at", tmp_path, tmp_path / "nothing*", labels)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no more")
    fails("broken.parquet cannot be read as Parquet", tmp_path, broken, labels)
    empty = store("empty", {"node": np.array([], dtype=np.int64), "label": np.array([], dtype=np.int64)})
    fails("there is no labelled node", tmp_path, edges, empty)
    negative = store("negative", {"node": [1, 2], "label": [-1, 1]})
    fails("labels must not be negative, got -1", tmp_path, edges, negative)
    fails(
        r"labels must lie in \[0, 1\], got 5",
        tmp_path,
        edges,
        store("high", {"node": [1], "label": [5]}),
        num_classes=2,
    )
    (tmp_path / "mixed").mkdir()
    store("mixed/a", GOOD_EDGES)
    store("mixed/b", {"source": ["x"], "target": ["y"]})
    fails("holds strings, but in other files integers", tmp_path, tmp_path / "mixed", labels)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 1.5}, r"alpha must lie in \[0, 1\], got 1.5"),
        ({"beta": -1}, "beta must be a number of at least 0, got -1"),
        ({"likelihood": "local"}, "likelihood must be one of 'edge', 'normalized'"),
        ({"engine": "sqlite"}, "engine must be one of"),
        ({"memory_limit": "much"}, "a size like 2GB"),
        ({"engine": "duckdb", "master": "local[2]"}, "goes with engine spark"),
        ({"temp_dir": "/no/such/folder"}, "is no folder"),
        ({"num_classes": 1}, "num_classes must be a whole number of at least 2, got 1"),
        ({"num_classes": 10_001}, "num_classes must be at most 10000, got 10001"),
        ({"threads": 0}, "threads must be a whole number above 0, got 0"),
    ],
)
def test_settings_are_checked_first(
    settings: dict[str, Any], words: str, tmp_path: Path, store: Callable[..., Path]
) -> None:
    with pytest.raises(InputError, match=words):
        smooth_tables(store("edges", GOOD_EDGES), store("labels", GOOD_LABELS), tmp_path / "out", **settings)


def test_an_output_that_is_there_is_kept(engine: str, tmp_path: Path, store: Callable[..., Path]) -> None:
    edges, labels, out = store("edges", GOOD_EDGES), store("labels", GOOD_LABELS), tmp_path / "out"
    out.write_text("precious")
    with pytest.raises(InputError, match="is there already"):
        smooth_tables(edges, labels, out, engine=engine)
    with pytest.raises(InputError, match="no Parquet file of this command and is not replaced, overwrite or not"):
        smooth_tables(edges, labels, out, engine=engine, overwrite=True)
    assert out.read_text() == "precious"
    out.unlink()
    smooth_tables(edges, labels, out, engine=engine)
    assert out.is_dir() == (engine == "spark")
    smooth_tables(edges, labels, out, engine=engine, overwrite=True)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]


def test_too_little_memory_is_said(tmp_path: Path, store: Callable[..., Path]) -> None:
    pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    edges = store("edges", {"source": rng.integers(10**5, size=10**6), "target": rng.integers(10**5, size=10**6)})
    labels = store("labels", {"node": np.arange(10**5), "label": rng.integers(30, size=10**5)})
    fails(
        "DuckDB needs more than the memory limit of 5 MB",
        tmp_path,
        edges,
        labels,
        engine="duckdb",
        memory_limit="5MB",
    )


@pytest.mark.parametrize("stage", ["reading labels", "counting", "writing"])
def test_an_interrupted_job_leaves_nothing(
    stage: str, engine: str, tmp_path: Path, store: Callable[..., Path]
) -> None:
    edges, labels, temp = store("edges", GOOD_EDGES), store("labels", GOOD_LABELS), tmp_path / "temp"
    temp.mkdir()

    def interrupt(now: str, share: float | None) -> None:
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        smooth_tables(edges, labels, tmp_path / "out", engine=engine, temp_dir=temp, progress=interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.parquet", "labels.parquet", "temp"]
    assert not list(temp.iterdir())


SLOW_JOB = """
import sys, time
from postel.cli.signals import tidy_ending
from postel.scale import smooth_tables
def progress(stage, share):
    if share is not None and stage == "writing":
        print("writing", flush=True)
        time.sleep(30)
edges, labels, out, temp, engine = sys.argv[1:]
with tidy_ending() as ending:
    try:
        smooth_tables(edges, labels, out, temp_dir=temp, engine=engine, progress=progress)
    except KeyboardInterrupt:
        sys.exit(ending.exit_code)
"""


@pytest.mark.parametrize(("number", "cleans"), [(signal.SIGTERM, True), (signal.SIGKILL, False)])
def test_a_killed_job_leaves_no_output(
    number: signal.Signals, cleans: bool, tmp_path: Path, store: Callable[..., Path]
) -> None:
    pytest.importorskip("duckdb")
    temp, out = tmp_path / "temp", tmp_path / "out.parquet"
    temp.mkdir()
    command = [sys.executable, "-c", SLOW_JOB, store("edges", GOOD_EDGES), store("labels", GOOD_LABELS), out, temp]
    with subprocess.Popen([*map(str, command), "duckdb"], stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stdout.readline() == "writing\n"
        job.send_signal(number)
        job.wait(timeout=30)
    assert job.returncode == (128 + number if cleans else -number)
    assert not out.exists()
    assert bool(list(temp.iterdir())) is not cleans


def test_no_java_and_a_wrong_master(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Callable[..., Path]
) -> None:
    sql = pytest.importorskip("pyspark.sql")
    edges, labels = store("edges", GOOD_EDGES), store("labels", GOOD_LABELS)
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", classmethod(lambda cls: None))
    fails("master must be .* got 'spork://x'", tmp_path, edges, labels, engine="spark", master="spork://x")
    words = "no Spark master answers at 'spark://127.0.0.1:1'"
    fails(words, tmp_path, edges, labels, master="spark://127.0.0.1:1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    fails("needs Java 17 or later, but there is no java on PATH", tmp_path, edges, labels, engine="spark")
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    fails("needs Java 17 or later, but .*java is 11", tmp_path, edges, labels, engine="spark")


def test_a_missing_package_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Callable[..., Path]
) -> None:
    from postel.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r'pip install "postel\[duckdb\]"'):
        smooth_tables(store("e", GOOD_EDGES), store("l", GOOD_LABELS), tmp_path / "o", engine="duckdb")
