"""Tables, or the .npz of a public collection, to a graph file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from postel.checks import MAX_CLASSES
from postel.datasets.storage.collection import both_ways, graph_of_collection
from postel.datasets.storage.columns import Names, Table, are_fractions, read_table, same_words, sorted_words
from postel.datasets.storage.graph_file import write_graph_file
from postel.datasets.storage.split_columns import split_columns, splits_of_columns, splits_of_table
from postel.datasets.storage.stored_graph import UNLABELLED, StoredGraph
from postel.errors import InputError
from postel.outputs import Target, writing


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
    edge_weight: str | None = None,
    split_table: str | os.PathLike[str] | None = None,
    separator: str | None = None,
    directed: bool = True,
    overwrite: bool = False,
) -> StoredGraph:
    """Convert an edge table and a node table to a graph file.

    Every column of ``nodes`` that is not named below is a feature; without any, a node's degree is its one
    feature. A node id means the same in all tables: where one of them is no whole number, all are texts.

    Args:
        edges: The edge table: .csv, .tsv, .txt or .parquet, UTF-8 if it is text.
        nodes: The node table, in any of these forms.
        out: The graph file to write, .npz.
        source: Edge column of the one end, which names nodes as the column ``node`` does.
        target: Edge column of the other end.
        node: Node column of the id.
        label: Node column of the label, text or whole numbers; classes are numbered in sorted order and an empty
            cell is a node without label.
        split: Node column that says train, val, test or nothing and becomes the public split; it may be missing.
            Columns ``split0``, ``split1`` and so on become as many splits.
        edge_weight: Edge column of the link's weight, a number of at least 0, which soft labels may count by.
        split_table: A table of splits instead of such columns: one row per node with a column ``node`` and the
            columns above, or one row per node and split with ``node``, ``split`` (its number) and ``part``.
        separator: What stands between the fields of text files; without it a comma, or a tab for .tsv and for .txt
            with a tab in its first line.
        directed: Whether links are kept as listed; otherwise they go both ways and repeated ones are merged, their
            weights added up.
        overwrite: Whether a graph file that is there may be replaced.

    Returns:
        The graph.

    Raises:
        InputError: If a table cannot be read, lacks a column or does not fit the other.
    """
    inputs = (edges, nodes) if split_table is None else (edges, nodes, split_table)
    with writing(_target(out), overwrite=overwrite, inputs=inputs) as work:
        tables = [read_table(Path(path), separator) for path in inputs]
        splits = tables[2] if len(tables) > 2 else None
        graph = _graph_of_tables(
            tables[0], tables[1], splits, (source, target), node, label, split, edge_weight, directed
        )
        write_graph_file(work / Path(out).name, graph)
    return graph


def convert_collection(
    path: str | os.PathLike[str], out: str | os.PathLike[str], *, directed: bool = False, overwrite: bool = False
) -> StoredGraph:
    """Convert an .npz file of the heterophilous-graphs collection to a graph file, with all its splits.

    Args:
        path: The file, with the arrays ``node_features``, ``node_labels``, ``edges`` and, if it has splits,
            ``train_masks``, ``val_masks`` and ``test_masks``.
        out: The graph file to write, .npz.
        directed: Whether links are kept one way; they are taken both ways otherwise, as the collection means them.
        overwrite: Whether a graph file that is there may be replaced.

    Returns:
        The graph; its splits are the public ones.

    Raises:
        InputError: If the file cannot be read or is no such collection.
    """
    with writing(_target(out), overwrite=overwrite, inputs=(path,)) as work:
        graph = graph_of_collection(Path(path), directed)
        write_graph_file(work / Path(out).name, graph)
    return graph


def _target(out: str | os.PathLike[str]) -> Target:
    out = Path(out)
    if out.suffix != ".npz":
        raise InputError(f"a graph file's name ends in .npz, got {out.name!r}")
    return Target(out, "graph")


def _graph_of_tables(
    edges: Table,
    nodes: Table,
    splits: Table | None,
    ends: tuple[str, str],
    node: str,
    label: str,
    split: str,
    edge_weight: str | None,
    directed: bool,
) -> StoredGraph:
    nodes.require(node, label)
    edges.require(*ends, *(() if edge_weight is None else (edge_weight,)))
    if node == label or split in (node, label):
        raise InputError(f"node, label and split must be three columns, got {node!r}, {label!r} and {split!r}")
    if nodes.data.num_rows == 0:
        raise InputError(f"{nodes.path} has no rows")
    listed = [(nodes, node), *((edges, end) for end in ends)]
    if splits is not None:
        splits.require(node)
        listed.append((splits, node))
    columns = same_words([_filled(table, column) for table, column in listed])
    numbers = _numbers(columns[0], nodes, node)
    found = [_looked_up(numbers, names, *place) for names, place in zip(columns[1:], listed[1:], strict=True)]
    edge_index = np.stack(found[:2])
    weights = None if edge_weight is None else edges.numbers(edge_weight, "a weight")
    if not directed:
        edge_index, weights = both_ways(edge_index, len(numbers), weights)
    y, class_names = _labels(nodes, label)
    listed_splits = split_columns(nodes, split)
    if splits is not None and listed_splits:
        raise InputError(f"{nodes.path} has splits, in {listed_splits[0]!r}, and so has {splits.path}: give one")
    masks = None
    if splits is not None:
        masks = splits_of_table(splits, found[2], split, len(numbers))
    elif listed_splits:
        masks = splits_of_columns(nodes, listed_splits)
    features = _feature_columns(nodes, {node, label, *listed_splits})
    if features:
        x = np.stack([nodes.numbers(name) for name in features], axis=1)
    else:
        x = np.bincount(edge_index[0], minlength=len(numbers)).astype(np.float32)[:, None]
    public = {} if masks is None else {"public": masks}
    names = tuple(features) or ("degree",)
    return StoredGraph.checked(x, edge_index, y, public, class_names, names, weights)


def _filled(table: Table, column: str) -> Names:
    names = table.column(column)
    if (names.codes < 0).any():
        row = int(np.flatnonzero(names.codes < 0)[0]) + 1
        raise InputError(f"{table.path}: row {row} has an empty cell in column {column!r}")
    return names


def _numbers(names: Names, table: Table, column: str) -> dict[str, int]:
    # Words that differ in spaces alone may have become the same, so what counts is the word and not its place.
    numbers = {names.words[code]: row for row, code in enumerate(names.codes.tolist())}
    if len(numbers) != len(names.codes):
        raise InputError(f"{table.path}: a node is listed twice in column {column!r}; every node needs one row")
    return numbers


def _looked_up(numbers: dict[str, int], names: Names, table: Table, column: str) -> Any:
    of_word = np.array([numbers.get(word, -1) for word in names.words], dtype=np.int64)
    found = of_word[names.codes] if names.codes.size else np.empty(0, dtype=np.int64)
    if (found < 0).any():
        word = names.words[names.codes[np.flatnonzero(found < 0)[0]]]
        raise InputError(
            f"{table.path}: column {column!r} names node {word[:80]!r}, which the node table does not list"
        )
    return found


def _labels(table: Table, column: str) -> tuple[Any, tuple[str, ...]]:
    (names,) = same_words([table.column(column)])
    given = names.used()
    if are_fractions(given):
        raise InputError(f"{table.path}: labels in column {column!r} must be whole numbers or text, got fractions")
    if not 2 <= len(given) <= MAX_CLASSES:
        raise InputError(
            f"{table.path}: column {column!r} must name two classes at least, got {len(given)}"
            if len(given) < 2
            else f"{table.path}: column {column!r} names {len(given)} classes, {MAX_CLASSES} at most are taken"
        )
    classes = sorted_words(given)
    position = {word: k for k, word in enumerate(classes)}
    of_word = np.array([*(position.get(word, UNLABELLED) for word in names.words), UNLABELLED], dtype=np.int64)
    return of_word[names.codes], tuple(classes)


def _feature_columns(table: Table, others: set[str]) -> list[str]:
    columns = [name for name in table.names if name not in others]
    table.require(*columns)
    if "" in columns:
        raise InputError(
            f"{table.path} has a column without a name, as tools write that list row numbers: drop it or name it"
        )
    return columns
