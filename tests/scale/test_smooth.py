"""What a job says and writes besides its numbers, and the way back into a ``Data``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch_geometric.data import Data

from postel.errors import InputError
from postel.scale import choice, join_soft_labels, smooth_tables

EDGES = {"source": ["a", "b"], "target": ["b", "c"]}
LABELS = {"node": ["a", "b"], "label": ["red", "blue"]}


def test_auto_chooses_by_size_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Callable[..., Path]
) -> None:
    edges, labels = store("edges", EDGES), store("labels", LABELS)
    said: list[str] = []
    made = smooth_tables(edges, labels, tmp_path / "a.parquet", progress=lambda stage, _: said.append(stage))
    assert made.engine == "memory" and said[0] == f"engine memory, because {made.reason}"
    pytest.importorskip("duckdb")
    monkeypatch.setattr(choice, "free_memory", lambda: 100)
    made = smooth_tables(edges, labels, tmp_path / "b.parquet")
    assert made.engine == "duckdb" and "of memory are free" in made.reason
    assert pq.read_table(tmp_path / "a.parquet") == pq.read_table(tmp_path / "b.parquet")


def test_free_memory_is_a_sensible_number() -> None:
    assert 10**7 < choice.free_memory() < 10**14


def test_tables_beside_the_output(engine: str, tmp_path: Path, store: Callable[..., Path]) -> None:
    made = smooth_tables(store("edges", EDGES), store("labels", LABELS), tmp_path / "soft.parquet", engine=engine)
    told = json.loads((tmp_path / "soft.json").read_text())
    assert told["classes"] == ["blue", "red"] and told["prior"] == [0.5, 0.5] and told["nodes"] == 2
    assert told["conditional"] == made.conditional.tolist() == [[0.0, 1.0], [0.5, 0.5]]  # b reads a, its source
    assert told["settings"]["method"]["alpha"] == 0.5


def test_spark_reads_and_writes_addresses(
    spark: Any, tmp_path: Path, store: Callable[..., Path], read_soft: Callable[[Path], dict[Any, np.ndarray]]
) -> None:
    edges, labels = store("edges", EDGES, parts=2), store("labels", LABELS, form="csv")
    out = f"file://{tmp_path}/soft"
    made = smooth_tables(f"file://{edges}", f"file://{labels}", out, alpha=0.0)
    assert made.engine == "spark" and "is at an address" in made.reason
    assert {node: row.tolist() for node, row in read_soft(tmp_path / "soft").items()} == {
        "a": [0.0, 1.0],
        "b": [1.0, 0.0],
    }
    with pytest.raises(InputError, match="is there already"):
        smooth_tables(f"file://{edges}", f"file://{labels}", out)
    with pytest.raises(InputError, match="only engine spark reads it"):
        smooth_tables(f"file://{edges}", f"file://{labels}", out, engine="duckdb")
    with pytest.raises(InputError, match=r"labels file:.* cannot be read"):
        smooth_tables(f"file://{edges}", f"file://{tmp_path}/none", f"{out}2")
    assert sorted(path.name for path in tmp_path.iterdir() if "soft" in path.name) == ["soft"]


def test_two_spark_jobs_of_one_process_leave_nothing(
    java: None, tmp_path: Path, store: Callable[..., Path]
) -> None:
    pytest.importorskip("pyspark")
    temp = tmp_path / "temp"
    temp.mkdir()
    settings = {
        "engine": "spark",
        "master": "local[1]",
        "temp_dir": str(temp),
        "spark_conf": {"spark.sql.shuffle.partitions": "2"},
    }
    script = f"""
from postel.scale import smooth_tables
for number in range(2):
    smooth_tables({str(store("edges", EDGES))!r}, {str(store("labels", LABELS))!r},
        {str(tmp_path)!r} + f"/soft{{number}}", **{settings!r})
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "soft0").is_dir() and (tmp_path / "soft1").is_dir()
    assert not list(temp.iterdir())


def test_a_large_label_table_is_not_broadcast(
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    store: Callable[..., Path],
    read_soft: Callable[[Path], dict[Any, np.ndarray]],
) -> None:
    from postel.scale import spark_engine

    rng = np.random.default_rng(3)
    edges = store("edges", {"source": rng.integers(50, size=300), "target": rng.integers(50, size=300)})
    labels = store("labels", {"node": np.arange(50), "label": rng.integers(3, size=50)})
    rows = {}
    for limit in (0, 10**6):
        monkeypatch.setattr(spark_engine, "BROADCAST_ROWS", limit)
        smooth_tables(edges, labels, tmp_path / f"soft{limit}", engine="spark", nodes="all", undirected=True)
        rows[limit] = {node: row.tolist() for node, row in read_soft(tmp_path / f"soft{limit}").items()}
    assert rows[0] == rows[10**6] and len(rows[0]) == 50


def test_soft_labels_join_a_data_by_id(tmp_path: Path, store: Callable[..., Path]) -> None:
    out = tmp_path / "soft.parquet"
    smooth_tables(store("edges", EDGES), store("labels", LABELS), out, alpha=0.0)
    data = Data(num_nodes=3, train_mask=torch.tensor([False, True, True]))
    joined = join_soft_labels(data, out, ids=["z", "b", "a"])
    assert joined.soft_y.tolist() == [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]] and joined.soft_y.dtype == torch.float32
    with pytest.raises(InputError, match="lacks 1 training nodes, the first has the id 'c'"):
        join_soft_labels(data, out, ids=["z", "b", "c"])
    with pytest.raises(InputError, match="has none of the nodes"):
        join_soft_labels(data, out, ids=["x", "y", "z"])
    with pytest.raises(InputError, match="ids must have one entry per node"):
        join_soft_labels(data, out, ids=["x"])
    with pytest.raises(InputError, match="ids must differ"):
        join_soft_labels(data, out, ids=["b", "b", "a"])
    with pytest.raises(InputError, match="node ids of type string"):
        join_soft_labels(data, out)
    with pytest.raises(InputError, match="has no column 'soft_label'"):
        join_soft_labels(data, store("labels2", LABELS), ids=["z", "b", "a"])
    with pytest.raises(InputError, match="must have one column 'node'"):
        join_soft_labels(data, store("edges2", EDGES), ids=["z", "b", "a"])
