"""Pseudo-labels that are probabilities: a column ``p_CLASS`` for each class, as ``postel predict`` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postel.errors import InputError, require_extra
from postel.scale.batches import misread
from postel.scale.column_kinds import WHOLE_NUMBER, csv_options, inspect_csv, inspect_parquet, typed
from postel.scale.request import Columns
from postel.scale.tables import Table, is_address, open_table

PREFIX = "p_"

#: How far from 1 the probabilities of a node may sum to: those of a model are rounded.
TOLERANCE = 1e-4

_WHAT = "pseudo-labels"


def open_pseudo_labels(path: str, names: Columns) -> Table:
    """Open a table of pseudo-labels: labels, or probabilities where there is no column of labels.

    Args:
        path: Where it is.
        names: Names of its columns, and how files are read.

    Returns:
        The table; its ``probabilities`` name the classes if it holds such columns.

    Raises:
        InputError: If it cannot be read, lacks a column, or its files have different columns.
    """
    if is_address(path):
        return open_table(_WHAT, path, (names.node, names.label), names.separator)
    # The node twice: a table has two columns, and those of probabilities are of a type of their own.
    table = open_table(_WHAT, path, (names.node, names.node), names.separator)
    inspect = inspect_parquet if table.format == "parquet" else inspect_csv
    headers = [inspect(_WHAT, file, table.columns, table.separator)[2] for file in table.files]
    found = [[column for column in header if column.startswith(PREFIX)] for header in headers]
    if any(names.label in header for header in headers) or not any(found):
        return open_table(_WHAT, path, (names.node, names.label), names.separator)
    if any(set(columns) != set(found[0]) for columns in found):
        raise InputError(f"{_WHAT} {path} has files with different columns {PREFIX}...: write the same in all")
    return replace(table, probabilities=tuple(column.removeprefix(PREFIX) for column in found[0]))


def labels_of(table: Table, kind: str) -> list[int | str]:
    """Return the labels that the columns of probabilities stand for.

    Args:
        table: A table of probabilities.
        kind: What labels are in the label table, ``integer`` or ``string``.

    Returns:
        One label per column, in their order.

    Raises:
        InputError: If labels are integers and a column names none.
    """
    names: list[int | str] = list(table.probabilities)
    if kind == "string":
        return names
    wrong = [name for name in names if not re.fullmatch(WHOLE_NUMBER, str(name))]
    if wrong:
        raise InputError(
            f"{_WHAT} {table.path}: column '{PREFIX}{wrong[0]}' names no class, since labels are class numbers: "
            f"rename it to {PREFIX}0, {PREFIX}1, ..., or write labels by their names"
        )
    return [int(name) for name in names]


def check_known(table: Table, labels: Sequence[int | str], trained: Sequence[int | str]) -> None:
    """Check that a table of probabilities has a column for every label of the training nodes.

    Args:
        table: The table, for the error.
        labels: Labels of its columns.
        trained: Labels of training nodes.

    Raises:
        InputError: If one has none.
    """
    missing = sorted(set(trained) - set(labels), key=str)
    if missing:
        raise InputError(
            f"{_WHAT} {table.path} has no column {PREFIX}{missing[0]} for the label {missing[0]!r} of training "
            "nodes: give a column to every class"
        )


def leading_class(names: Sequence[int | str], labels: Sequence[int | str]) -> int:
    """Choose a class for which every node with probabilities has one.

    Args:
        names: The label of class 0, 1, ...
        labels: Labels of the columns of probabilities.

    Returns:
        The class.

    Example:
        >>> leading_class(["a", "b", "c"], ["c", "b"])
        1
    """
    return min(number for number, name in enumerate(names) if name in labels)


def not_a_distribution(node: object, rows: int, least: float, total: float) -> InputError:
    """Make the error for a node whose probabilities are none.

    Args:
        node: Its id.
        rows: How many rows it has.
        least: Its smallest number.
        total: What its numbers sum to.

    Returns:
        The error.

    Example:
        >>> str(not_a_distribution(7, 1, 0.1, 0.5))
        'pseudo-labels: probabilities of node 7 sum to 0.5: each row must be a distribution over the classes'
    """
    if rows > 1:
        return InputError(f"{_WHAT}: node {node!r} has {rows} rows of probabilities; keep one row of it")
    found = f"go down to {least:.6g}" if least < 0 else f"sum to {total:.6g}"
    return InputError(
        f"{_WHAT}: probabilities of node {node!r} {found}: each row must be a distribution over the classes"
    )


def read_probabilities(table: Table, ids: str, rows: int = 1 << 18) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Read a table of probabilities; rows with an empty field are left out.

    Args:
        table: The table.
        ids: Kind of the node ids, ``integer`` or ``string``.
        rows: About the number of rows of a batch.

    Yields:
        An Arrow array of nodes and their probabilities [R, K].

    Raises:
        InputError: If a file cannot be read or a value does not fit.
    """
    pa = require_extra("pyarrow", "tables")
    to = pa.int64() if ids == "integer" else pa.string()
    columns = [PREFIX + name for name in table.probabilities]
    for name in table.files:
        try:
            for batch in _raw_batches(table, name, columns, rows):
                nodes = typed(batch.column(table.columns[0]), to, table.is_text(0))
                values = [batch.column(column).cast(pa.float64()) for column in columns]
                whole = pa.RecordBatch.from_arrays([nodes, *values], names=["node", *columns]).drop_null()
                made = [whole.column(column).to_numpy() for column in columns]
                yield whole.column("node"), np.stack(made, axis=1)
        except (pa.ArrowInvalid, pa.ArrowException, OSError, UnicodeError) as error:
            raise misread(table, error, name) from error


def _raw_batches(table: Table, name: str, columns: list[str], rows: int) -> Iterator[Any]:
    pa = require_extra("pyarrow", "tables")
    wanted = [table.columns[0], *columns]
    if table.format == "parquet":
        with require_extra("pyarrow.parquet", "tables").ParquetFile(name) as file:
            yield from file.iter_batches(batch_size=rows, columns=wanted)
        return
    csv = require_extra("pyarrow.csv", "tables")
    types = {column: pa.float64() for column in columns} | {table.columns[0]: pa.string()}
    options = csv_options(csv, table.separator, include_columns=wanted, column_types=types)
    with csv.open_csv(name, **options) as reader:
        yield from reader
