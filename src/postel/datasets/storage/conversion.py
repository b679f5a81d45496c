"""An edge list and a node table (CSV or Parquet) to a graph file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from postel.datasets.storage.graph_file import write_graph_file
from postel.datasets.storage.stored_graph import PARTS, UNLABELLED, Bools, StoredGraph
from postel.errors import InputError, require_extra
from postel.outputs import Target, writing

_PART_NAMES = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}


def convert(
    edges: str | os.PathLike[str],
    nodes: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    source: str = "source",
    target: str = "target",
    node: str = "node",
    label: str = "label",
    split: str = "split",
    directed: bool = False,
    overwrite: bool = False,
) -> StoredGraph:
    """Convert an edge table and a node table to a graph file.

    Every column of ``nodes`` that is not named below is a feature; without any, a node's degree is its one
    feature.

    Args:
        edges: The edge table, CSV or Parquet.
        nodes: The node table, CSV or Parquet.
        out: The graph file to write, .npz.
        source: Edge column of the one end, which names nodes as the column ``node`` does.
        target: Edge column of the other end.
        node: Node column of the id.
        label: Node column of the label, text or whole numbers; classes are numbered in sorted order and an empty
            cell is a node without label.
        split: Node column that says train, val, test or nothing and becomes the public split; it may be missing.
        directed: Whether links are kept one way; they are taken both ways otherwise.
        overwrite: Whether a graph file that is there may be replaced.

    Returns:
        The graph.

    Raises:
        InputError: If a table cannot be read, lacks a column or does not fit the other.
    """
    out = Path(out)
    if out.suffix != ".npz":
        raise InputError(f"a graph file's name ends in .npz, got {out.name!r}")
    with writing(Target(out, "graph"), overwrite=overwrite, inputs=(edges, nodes)) as work:
        graph = _graph_of_tables(Path(edges), Path(nodes), source, target, node, label, split, directed)
        write_graph_file(work / out.name, graph)
    return graph


def _graph_of_tables(
    edges: Path, nodes: Path, source: str, target: str, node: str, label: str, split: str, directed: bool
) -> StoredGraph:
    node_table, edge_table = _read(nodes, (node, label)), _read(edges, (source, target))
    ids = _texts(node_table, node, nodes)
    number = {name: position for position, name in enumerate(ids)}
    if len(number) != len(ids):
        raise InputError(f"{nodes}: a node is listed twice in column {node!r}; every node needs one row")
    ends = [_numbers(edge_table, column, number, edges) for column in (source, target)]
    edge_index = np.array(ends, dtype=np.int64).reshape(2, -1)
    if not directed:
        edge_index = _both_ways(edge_index, len(ids))
    y, class_names = _labels(node_table, label, nodes)
    features = [name for name in node_table.column_names if name not in (node, label, split)]
    if features:
        x = np.stack([_feature(node_table, name, nodes) for name in features], axis=1)
    else:
        x = np.bincount(edge_index[0], minlength=len(ids)).astype(np.float32)[:, None]
    splits = {"public": _split(node_table, split, nodes)} if split in node_table.column_names else {}
    return StoredGraph.checked(x, edge_index, y, splits, class_names)


def _read(path: Path, columns: tuple[str, ...]) -> Any:
    if not path.is_file():
        raise InputError(f"{path} does not exist; give a CSV or Parquet file")
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"{path.name} must end in .csv or .parquet")
    pyarrow = require_extra("pyarrow", "tables")
    module = require_extra("pyarrow.csv" if suffix == ".csv" else "pyarrow.parquet", "tables")
    try:
        table = module.read_csv(path) if suffix == ".csv" else module.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as {suffix[1:]}: {str(error).splitlines()[0]}") from error
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise InputError(
            f"{path} lacks the column {missing[0]!r}; it has {', '.join(table.column_names)}: name the right one"
        )
    if table.num_rows == 0 and "label" in columns:
        raise InputError(f"{path} has no rows")
    return table


def _texts(table: Any, column: str, path: Path) -> list[str]:
    values = table[column].to_pylist()
    if None in values:
        raise InputError(f"{path}: row {values.index(None) + 1} has an empty cell in column {column!r}")
    return [str(value) for value in values]


def _numbers(table: Any, column: str, number: dict[str, int], path: Path) -> list[int]:
    names = _texts(table, column, path)
    try:
        return [number[name] for name in names]
    except KeyError as error:
        raise InputError(
            f"{path}: column {column!r} names node {error}, which the node table does not list"
        ) from None


def _labels(table: Any, column: str, path: Path) -> tuple[Any, tuple[str, ...]]:
    values = table[column].to_pylist()
    given = {value for value in values if value not in (None, "")}
    if any(isinstance(value, float) for value in given):
        raise InputError(f"{path}: labels in column {column!r} must be whole numbers or text, got fractions")
    if len(given) < 2:
        raise InputError(f"{path}: column {column!r} must name two classes at least, got {len(given)}")
    classes = sorted(given)
    position = {value: k for k, value in enumerate(classes)}
    y = np.array([position.get(value, UNLABELLED) for value in values], dtype=np.int64)
    return y, tuple(str(value) for value in classes)


def _feature(table: Any, column: str, path: Path) -> Any:
    values = table[column].to_pylist()
    try:
        return np.array(values, dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError(
            f"{path}: column {column!r} is taken for a feature and holds text or empty cells; drop it or fill it"
        ) from None


def _split(table: Any, column: str, path: Path) -> Bools:
    values = ["" if value is None else str(value).lower() for value in table[column].to_pylist()]
    unknown = sorted(set(values) - set(_PART_NAMES) - {""})
    if unknown:
        raise InputError(f"{path}: column {column!r} must say {', '.join(PARTS)} or nothing, got {unknown[0]!r}")
    part = np.array([_PART_NAMES.get(value, -1) for value in values])
    return np.stack([part == k for k in range(3)])[:, None]


def _both_ways(edge_index: Any, num_nodes: int) -> Any:
    both = np.concatenate([edge_index, edge_index[::-1]], axis=1)
    return np.stack(np.divmod(np.unique(both[0] * num_nodes + both[1]), num_nodes))
