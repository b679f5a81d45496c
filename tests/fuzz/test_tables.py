"""Tables, damaged at random, for ``convert`` and ``smooth``: what they say or one sentence, within a gigabyte."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.mutations import as_csv, bounded, changed_cells, damaged, one_gigabyte
from postel.datasets import StoredGraph, convert
from postel.errors import InputError

pa = pytest.importorskip("pyarrow")

NODES = [["node", "label", "x", "y", "split"]]
NODES += [[str(i), "ab"[i % 2], str(i % 3), f"{i / 4}", ("train", "val", "test", "")[i % 4]] for i in range(1, 11)]
EDGES = [["source", "target"]] + [[str(i), str(i % 10 + 1)] for i in range(1, 11)] + [["1", "1"], ["3", "7"]]
WHOLE = re.compile("-?(0|[1-9][0-9]*)")


def told(action: Any) -> Any:
    """What an action returns, or None where it refuses in one sentence; all else is a finding."""
    with one_gigabyte():
        try:
            return action()
        except InputError as refusal:
            sentence = str(refusal)
    assert 10 < len(sentence) < 3000 and "Traceback" not in sentence
    return None


def check(graph: StoredGraph, nodes: list[list[str]], edges: list[list[str]]) -> None:
    """The graph is what two tables say, read again in the plainest way."""
    column = {name: at for at, name in enumerate(nodes[0])}
    ids, labels = ([row[column[name]] for row in nodes[1:]] for name in ("node", "label"))
    ends = [[row[edges[0].index(end)] for row in edges[1:]] for end in ("source", "target")]
    if all(WHOLE.fullmatch(word.strip()) for word in [*ids, *ends[0], *ends[1]]):
        ids, ends = [word.strip() for word in ids], [[word.strip() for word in end] for end in ends]
    assert len(set(ids)) == len(ids) == graph.num_nodes
    found = Counter((ids[i], ids[j]) for i, j in graph.edge_index.T.tolist())
    assert found == Counter(zip(*ends, strict=True))
    given = [label if label.strip() else None for label in labels]
    if all(label is None or WHOLE.fullmatch(label.strip()) for label in given):
        given = [None if label is None else label.strip() for label in given]
    assert [None if k < 0 else graph.class_names[k] for k in graph.y.tolist()] == given
    for at, name in enumerate(graph.feature_names):
        values = [row[column[name]] for row in nodes[1:]] if name in column else None
        if values is not None and not {value.strip().lower() for value in values} <= {"true", "false"}:
            assert graph.x.toarray()[:, at].tolist() == pytest.approx([float(value) for value in values])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def converted(
    folder: Path, nodes: bytes, edges: bytes, suffix: str = ".csv", **options: Any
) -> StoredGraph | None:
    paths = folder / f"e{suffix}", folder / f"n{suffix}", folder / "g.npz"
    paths[0].write_bytes(edges)
    paths[1].write_bytes(nodes)
    return told(lambda: convert(*paths, directed=True, overwrite=True, **options))


@bounded(200)
@given(st.data())
def test_cells(folder: Path, data: st.DataObject) -> None:
    nodes, edges = NODES, EDGES
    if data.draw(st.booleans()):
        nodes = data.draw(changed_cells(NODES))
    else:
        edges = data.draw(changed_cells(EDGES))
    graph = converted(folder, as_csv(nodes), as_csv(edges))
    if graph is not None:
        plain = [
            [row for row in csv.reader(io.StringIO(as_csv(t).decode(), newline="")) if row] for t in (nodes, edges)
        ]
        check(graph, *plain)


@bounded(150)
@given(st.data())
def test_bytes(folder: Path, data: st.DataObject) -> None:
    nodes, edges = as_csv(NODES), as_csv(EDGES)
    if data.draw(st.booleans()):
        nodes = data.draw(damaged(nodes))
    else:
        edges = data.draw(damaged(edges))
    separator = data.draw(st.sampled_from((None, None, None, ";", "\t", "1")))
    graph = converted(folder, nodes, edges, separator=separator)
    if graph is not None:
        graph.fingerprint()


@bounded(120)
@given(st.data())
def test_parquet(folder: Path, data: st.DataObject) -> None:
    tables = []
    for rows in (NODES, EDGES):
        columns = {name: list(column) for name, column in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}
        for name in ("node", "source", "target", "x"):
            if name in columns and data.draw(st.booleans()):
                columns[name] = [int(value) for value in columns[name]]
        stream = io.BytesIO()
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.table(columns), stream)
        tables.append(stream.getvalue())
    which = data.draw(st.integers(0, 1))
    tables[which] = data.draw(damaged(tables[which]))
    converted(folder, *tables, suffix=".parquet")


@bounded(100)
@given(st.data())
def test_soft_labels_in_memory(folder: Path, data: st.DataObject) -> None:
    from postel.scale import smooth_tables

    nodes, edges = as_csv(NODES), as_csv(EDGES)
    kind = data.draw(st.sampled_from(("cells", "bytes")))
    if data.draw(st.booleans()):
        nodes = as_csv(data.draw(changed_cells(NODES))) if kind == "cells" else data.draw(damaged(nodes))
    else:
        edges = as_csv(data.draw(changed_cells(EDGES))) if kind == "cells" else data.draw(damaged(edges))
    (folder / "n.csv").write_bytes(nodes)
    (folder / "e.csv").write_bytes(edges)
    paths = folder / "e.csv", folder / "n.csv", folder / "o.parquet"
    made = told(lambda: smooth_tables(*paths, engine="memory", overwrite=True))
    if made is not None:
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(folder / "o.parquet").to_pylist()
        assert len(rows) == made.nodes and not list(folder.glob(".*"))
