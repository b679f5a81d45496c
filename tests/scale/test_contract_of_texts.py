"""One contract for all engines: names of files and columns, and texts of cells, mean the same to each."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.scale import Columns, smooth_tables
from postel.smoothers.postel import posterior_soft_labels

QUICK = {"spark.sql.shuffle.partitions": "2"}
LABELS = "node,label\n1,0\n2,1\n3,1\n"


def outcome(engine: str, edges: object, labels: object, folder: Path, **settings: Any) -> Any:
    """The rows of a job by node, or that it was refused."""
    out = folder / f"out-{engine}"
    shutil.rmtree(out, ignore_errors=True)
    out.unlink(missing_ok=True) if out.is_file() else None
    (folder / f"out-{engine}.json").unlink(missing_ok=True)
    try:
        smooth_tables(
            str(edges), str(labels), out, engine=engine, spark_conf=QUICK, flow="target_to_source", **settings
        )
    except InputError as error:
        return "refused" if "\n" not in str(error) else str(error)
    rows = pq.read_table(out).to_pydict()
    return {node: np.round(row, 12).tolist() for node, row in zip(rows["node"], rows["soft_label"], strict=True)}


@pytest.mark.parametrize(
    ("place", "form"),
    [
        ("e[1]", "csv"),
        ("e*", "parquet"),
        ("e?", "csv"),
        ("run[3]/e", "parquet"),
        ("{a,b}", "csv"),
        ("label=0/e", "csv"),
        ("source=7/target=8/e", "parquet"),
        ("e #%41", "parquet"),
    ],
)
def test_a_name_means_one_file_in_every_engine(
    place: str, form: str, engine: str, tmp_path: Path, store: Callable[..., Path]
) -> None:
    """Each of these is a pattern, a partition or an escape to some engine; the files beside are what it finds."""
    folder = tmp_path / "in"
    for name, table in (
        (place, {"source": [1, 2, 3], "target": [2, 3, 1]}),
        *((other, {"source": [1, 1], "target": [3, 3]}) for other in ("e1", "ex", "run3/e", "a", "b", "e #A")),
    ):
        path = folder / f"{name}.{form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "csv":
            rows = zip(*table.values(), strict=True)
            path.write_text("source,target\n" + "".join(f"{source},{target}\n" for source, target in rows))
        else:
            store(f"in/{name}", table)
    labels = tmp_path / "label=1" / "labels[0].csv"
    labels.parent.mkdir()
    labels.write_text(LABELS)
    expected = smooth_rows({"source": [1, 2, 3], "target": [2, 3, 1]})
    assert outcome(engine, folder / f"{place}.{form}", labels, tmp_path, nodes="all") == expected
    if "/" in place:  # the folder as a whole, too
        top = folder / place.split("/")[0]
        assert outcome(engine, top, labels, tmp_path, nodes="all") == expected


def smooth_rows(edges: dict[str, list[int]]) -> dict[int, list[float]]:
    """Soft labels of the three nodes of ``LABELS`` by the in-memory method."""
    known = KnownLabels.from_index(torch.tensor([1, 2, 3]), torch.tensor([0, 1, 1]), num_nodes=4)
    soft = posterior_soft_labels(torch.tensor([edges["source"], edges["target"]]), known)
    return {node: np.round(soft[node].numpy(), 12).tolist() for node in (1, 2, 3)}


WRONG = ("1.5", "2e0", "1_0", "0x10", "+3", "007", "1e400", "9223372036854775808", "x", "٣")


def test_what_is_no_whole_number_is_refused_by_every_engine(engine: str, tmp_path: Path) -> None:
    edges, labels = tmp_path / "edges.csv", tmp_path / "labels.csv"
    labels.write_text(LABELS)
    # Past what is looked at first, so that only the engine can see it.
    before = "source,target,note\n" + f"1,2,{'x' * 2000}\n" * 600
    for value in WRONG[::3] if engine == "spark" else WRONG:
        edges.write_text(before + f"{value},2,\n")
        assert outcome(engine, edges, labels, tmp_path) == "refused", value


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ("source,target\n 1,2 \n2,\t3\n3,1\n", LABELS),
        ('source,target\n"1",2\n2,"3"\n3,1\n"",2\n', LABELS),
        ("target,other,source\n2,,1\n3,x,2\n1,y,3\n", LABELS),
        ("source,target\r\n1,2\r\n2,3\r\n3,1\r\n", LABELS),
        ("\ufeffsource,target\n1,2\n2,3\n3,1\n", LABELS),
        ("Source,source,Target,target\n9,1,9,2\n9,2,9,3\n9,3,9,1\n", "LABEL,label,node\n1,0,1\n0,1,2\n0,1,3\n"),
        ("source,target,x,x\n1,2,0,0\n2,3,0,0\n3,1,0,0\n", LABELS),
    ],
)
def test_texts_mean_the_same_in_every_engine(edges: str, labels: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(edges, newline="")
    (tmp_path / "labels.csv").write_text(labels)
    found = outcome(engine, tmp_path / "edges.csv", tmp_path / "labels.csv", tmp_path, nodes="all")
    assert found == smooth_rows({"source": [1, 2, 3], "target": [2, 3, 1]})


@pytest.mark.parametrize("rows", ["1,2\n2\n", "1,2\n2,3,4\n", "1,2\ncaf\xe9,2\n"])
def test_rows_that_do_not_fit_are_refused_by_every_engine(rows: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_bytes(("source,target\n" + rows).encode("latin-1"))
    (tmp_path / "labels.csv").write_text(LABELS)
    columns = {"columns": Columns(id_type="string")} if "caf" in rows else {}
    assert outcome(engine, tmp_path / "edges.csv", tmp_path / "labels.csv", tmp_path, **columns) == "refused"


def test_names_with_leading_zeros_stay_names(engine: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n01,7\n007,01\n")
    (tmp_path / "labels.csv").write_text("node,label\n01,0\n007,1\n7,1\n1,0\n")
    found = outcome(engine, tmp_path / "edges.csv", tmp_path / "labels.csv", tmp_path, nodes="all")
    assert set(found) == {"01", "007", "7", "1"}


def test_files_of_one_table_may_order_their_columns_as_they_like(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "edges"
    folder.mkdir()
    (folder / "a.csv").write_text("source,target\n1,2\n2,3\n")
    (folder / "b.csv").write_text("target,weight,source\n1,5,3\n")
    (tmp_path / "labels.csv").write_text(LABELS)
    found = outcome(engine, folder, tmp_path / "labels.csv", tmp_path, nodes="all")
    assert found == smooth_rows({"source": [1, 2, 3], "target": [2, 3, 1]})


def test_columns_that_differ_in_capitals_only_are_refused_by_every_engine(
    engine: str, tmp_path: Path, store: Callable[..., Path]
) -> None:
    edges = store("edges", {"Source": [9], "source": [1], "target": [2]})
    (tmp_path / "labels.csv").write_text(LABELS)
    assert outcome(engine, edges, tmp_path / "labels.csv", tmp_path) == "refused"


@pytest.mark.parametrize("value", ["1.5", "007"])
def test_texts_in_parquet_are_no_numbers_either(
    value: str, engine: str, tmp_path: Path, store: Callable[..., Path]
) -> None:
    edges = store("edges", {"source": ["1", value], "target": ["2", "1"]})
    (tmp_path / "labels.csv").write_text(LABELS)
    forced = Columns(id_type="integer")
    assert outcome(engine, edges, tmp_path / "labels.csv", tmp_path, columns=forced) == "refused"
