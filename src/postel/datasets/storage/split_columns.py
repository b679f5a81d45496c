"""Splits as tables have them: a column, several columns, or a table with a row per node and split."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from postel.datasets.storage.columns import Table
from postel.datasets.storage.stored_graph import PARTS, Bools
from postel.errors import InputError

_PART_NAMES = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}
_PART = "part"
MOST_SPLITS = 1000


def split_columns(table: Table, name: str) -> list[str]:
    """Find the columns of splits: ``name`` alone, or ``name`` with the numbers from 0 on.

    Args:
        table: The table.
        name: What the columns are called.

    Returns:
        The columns in the order of their numbers; nothing if there is none.

    Raises:
        InputError: If a number is missing, or there is a column without number beside them.
    """
    numbered = [column for column in table.names if re.fullmatch(re.escape(name) + r"\d{1,9}", column, re.ASCII)]
    if not numbered:
        return [name] if name in table.names else []
    wanted = [f"{name}{number}" for number in range(len(numbered))]
    if sorted(numbered) != sorted(wanted) or name in table.names:
        there = ", ".join([name] * (name in table.names) + numbered[:20])
        raise InputError(
            f"{table.path}: splits are in one column {name!r}, or in {name}0, {name}1 and so on without a gap, "
            f"got {there}"
        )
    return wanted


def splits_of_columns(table: Table, columns: list[str]) -> Bools:
    """Read splits from columns that say train, val, test or nothing.

    Args:
        table: A table with one row per node.
        columns: The columns, one for each split.

    Returns:
        Masks, boolean [3, S, N].

    Raises:
        InputError: If a cell says something else.
    """
    table.require(*columns)
    return np.stack([np.stack([parts == k for k in range(3)]) for parts in _parts(table, columns)], axis=1)


def splits_of_table(table: Table, rows: Any, split: str, num_nodes: int) -> Bools:
    """Read splits from a table of their own.

    Args:
        table: The table: with a column ``part`` a row names the number of a split and says that a node is in a
            part of it; without one, each row has all splits of a node.
        rows: The node of each row, int64.
        split: What the columns of splits are called.
        num_nodes: Number of nodes.

    Returns:
        Masks, boolean [3, S, N].

    Raises:
        InputError: If the table lacks a column, or says two things of one node.
    """
    long = _PART in table.names
    columns = [split] if long else split_columns(table, split)
    if not columns:
        raise InputError(
            f"{table.path} has no splits: a column {split!r}, or {split}0, {split}1 and so on, is needed"
        )
    table.require(*columns, *([_PART] if long else []))
    numbers = _split_numbers(table, split) if long else None
    parts = _parts(table, [_PART] if long else columns)
    count = len(columns) if numbers is None else int(numbers.max(initial=-1)) + 1
    if not 0 < count <= MOST_SPLITS:
        raise InputError(f"{table.path}: splits are numbered from 0, {MOST_SPLITS} at most, got {count}")
    places = numbers * num_nodes + rows if numbers is not None else rows
    if np.unique(places).size != places.size:
        raise InputError(f"{table.path} lists a node twice{' for one split' if long else ''}: one row is needed")
    masks = np.zeros((3, count, num_nodes), dtype=np.bool_)
    for at, listed in enumerate(parts):
        given = listed >= 0
        masks[listed[given], at if numbers is None else numbers[given], rows[given]] = True
    return masks


def _parts(table: Table, columns: list[str]) -> list[Any]:
    found = []
    for column in columns:
        names = table.column(column)
        unknown = sorted(word for word in names.used() if word.strip().lower() not in _PART_NAMES)
        if unknown:
            raise InputError(
                f"{table.path}: column {column!r} must say {', '.join(PARTS)} or nothing, got {unknown[0][:60]!r}"
            )
        of_word = np.array([*(_PART_NAMES.get(word.strip().lower(), -1) for word in names.words), -1])
        found.append(of_word[names.codes])
    return found


def _split_numbers(table: Table, column: str) -> Any:
    names = table.column(column)
    wrong = sorted(word for word in names.used() if not re.fullmatch(r"\d{1,9}", word.strip(), re.ASCII))
    if wrong or (names.codes < 0).any():
        got = repr(wrong[0][:60]) if wrong else "an empty cell"
        raise InputError(f"{table.path}: column {column!r} must hold the number of a split, from 0 on, got {got}")
    of_word = np.array([*(int(word) if word.strip() else 0 for word in names.words), 0], dtype=np.int64)
    return of_word[names.codes]
