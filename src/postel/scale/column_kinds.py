"""The kind of a table's columns, integers or strings, from the head of its files: the same for every engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra

#: A whole number as all engines read it from text: 1.5, 2e0, 1_0, 007, +1 and 0x1F are none.
WHOLE_NUMBER = "-?(0|[1-9][0-9]*)"


def common_kind(columns: Iterable[tuple[str, str, str]], forced: str = "auto") -> str:
    """Find the kind of columns that must match.

    Args:
        columns: The columns as (table, column, kind).
        forced: ``integer`` or ``string`` to set it whatever the columns say; ``auto`` otherwise.

    Returns:
        ``integer`` or ``string``.

    Raises:
        InputError: If the columns are of two kinds.

    Example:
        >>> common_kind([("edges", "source", "integer"), ("labels", "node", "empty")])
        'integer'
        >>> common_kind([("edges", "source", "integer"), ("labels", "node", "string")])
        Traceback (most recent call last):
            ...
        postel.errors.InputError: node ids must be of one type, but edges column 'source' holds integers and labels
        column 'node' holds strings: cast one of them, or set id_type (--id-type) to string
    """
    if forced != "auto":
        return forced
    first: dict[str, tuple[str, str]] = {}
    for what, column, kind in columns:
        first.setdefault(kind, (what, column))
    if "integer" in first and "string" in first:
        (table, column), (other_table, other) = first["integer"], first["string"]
        raise InputError(
            f"node ids must be of one type, but {table} column {column!r} holds integers and {other_table} column "
            f"{other!r} holds strings: cast one of them, or set id_type (--id-type) to string"
        )
    return "string" if "string" in first else "integer"


def inspect_parquet(
    what: str, name: str, columns: tuple[str, str], separator: str
) -> tuple[tuple[str, str], int, tuple[str, ...]]:
    """Look at a Parquet file's columns.

    Args:
        what: What the table is, for errors.
        name: The file.
        columns: Names of the two columns.
        separator: Not needed here; it is there for :func:`inspect_csv`.

    Returns:
        The kinds of the two columns, about how many bytes they take in memory, and the names of all columns.

    Raises:
        InputError: If the file cannot be read, lacks a column or has a type that does not fit.
    """
    pa, pq = require_extra("pyarrow", "tables"), require_extra("pyarrow.parquet", "tables")
    try:
        meta = pq.read_metadata(name)
        schema = meta.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{what} {name} cannot be read as Parquet: {short(str(error))}") from error
    _check_columns(what, name, columns, schema.names)
    _check_twins(what, name, schema.names)
    kinds = [_kind(what, name, column, schema.field(column).type) for column in columns]
    width = sum(8 if kind != "string" else 40 for kind in kinds)
    return (kinds[0], kinds[1]), int(meta.num_rows) * width, tuple(schema.names)


def inspect_csv(
    what: str, name: str, columns: tuple[str, str], separator: str
) -> tuple[tuple[str, str], int, tuple[str, ...]]:
    """Look at a CSV file's columns; their type is that of the first rows there are.

    Args:
        what: What the table is, for errors.
        name: The file.
        columns: Names of the two columns.
        separator: What is between its fields.

    Returns:
        The kinds of the two columns, about how many bytes they take in memory, and the names of all columns.

    Raises:
        InputError: If the file cannot be read, lacks a column or has a type that does not fit.
    """
    pa, csv = require_extra("pyarrow", "tables"), require_extra("pyarrow.csv", "tables")
    first = None
    try:
        with csv.open_csv(name, **csv_options(csv, separator)) as reader:
            schema = reader.schema
        _check_columns(what, name, columns, schema.names)
        texts = {column: pa.string() for column in columns}
        options = csv_options(csv, separator, include_columns=list(texts), column_types=texts)
        with csv.open_csv(name, **options) as reader, contextlib.suppress(StopIteration):
            first = reader.read_next_batch()
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(f"{what} {name} cannot be read as CSV: {short(str(error))}") from error
    kinds = []
    for column in columns:
        found = schema.field(column).type
        if pa.types.is_floating(found):
            raise _wrong_type(what, name, column, "numbers with a fraction")
        known = "integer" if pa.types.is_integer(found) and _are_whole(first, column) else "string"
        kinds.append("empty" if pa.types.is_null(found) else known)
    packed = 6 if name.endswith(".gz") else 1
    return (kinds[0], kinds[1]), Path(name).stat().st_size * packed * 2, tuple(schema.names)


def one_kind(what: str, name: str, column: str, before: str, found: str) -> str:
    """Return the kind of a column over several files.

    Args:
        what: What the table is, for errors.
        name: The file that was looked at last.
        column: The column.
        before: Its kind in the files before.
        found: Its kind in this one.

    Raises:
        InputError: If they differ.
    """
    if "empty" in (before, found):
        return found if before == "empty" else before
    if before != found:
        raise InputError(
            f"{what} {name}: column {column!r} holds {found}s, but in other files {before}s: write one type in all"
        )
    return before


def typed(values: Any, to: Any, text: bool) -> Any:
    """Return values as another Arrow type; text that is to be a number must be a whole one, as in every engine.

    Args:
        values: An Arrow array.
        to: The type.
        text: Whether the values are text now.
    """
    pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
    if not (text and pa.types.is_integer(to)):
        return pc.cast(values, to)
    words = pc.cast(values, pa.string())
    if not pc.all(pc.match_substring_regex(words, f"^{WHOLE_NUMBER}$")).as_py():
        words = pc.utf8_trim(words, " \t")
        wrong = pc.invert(pc.match_substring_regex(words, f"^{WHOLE_NUMBER}$"))
        for word in words.filter(wrong)[:1].to_pylist():
            raise pa.ArrowInvalid(f"{word!r} is no whole number")
    return pc.cast(words, to)


def csv_options(csv: Any, separator: str, **convert: Any) -> dict[str, Any]:
    """Return how pyarrow is to read CSV files.

    Args:
        csv: The module ``pyarrow.csv``.
        separator: What is between the fields.
        **convert: Further arguments of ``ConvertOptions``.
    """
    # An empty field is no value, in every engine; words such as NA are words.
    return {
        "parse_options": csv.ParseOptions(delimiter=separator),
        "convert_options": csv.ConvertOptions(strings_can_be_null=True, null_values=[""], **convert),
    }


def short(text: str, limit: int = 160) -> str:
    """Cut a text that is too long for a sentence.

    Args:
        text: The text.
        limit: How many characters it may have.
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _are_whole(batch: Any, column: str) -> bool:
    """Whether the column's texts are whole numbers written the one usual way: 007 is a name, not seven."""
    pa = require_extra("pyarrow", "tables")
    try:
        if batch is not None:
            typed(batch.column(column), pa.int64(), text=True)
    except pa.ArrowInvalid:
        return False
    return True


def _check_columns(what: str, name: str, columns: Sequence[str], there: Sequence[str]) -> None:
    option = {"edges": "--source and --target"}.get(what, "--node and --label")
    for column in columns:
        if there.count(column) != 1:
            found = "it is there twice" if column in there else f"it has {', '.join(there) or 'none'}"
            raise InputError(f"{what} {name} must have one column {column!r}, but {found}: name it with {option}")


def _check_twins(what: str, name: str, there: Sequence[str]) -> None:
    """Engines differ in which of two columns they take whose names are the same but for capitals."""
    seen: dict[str, str] = {}
    for column in there:
        twin = seen.setdefault(column.lower(), column)
        if twin is not column:
            raise InputError(
                f"{what} {name} has columns {twin!r} and {column!r}, which not all engines tell apart: rename one"
            )


def _kind(what: str, name: str, column: str, found: Any) -> str:
    types = require_extra("pyarrow.types", "tables")
    if types.is_dictionary(found):
        found = found.value_type
    if types.is_null(found):
        return "empty"
    if types.is_integer(found):
        return "integer"
    if types.is_string(found) or types.is_large_string(found) or types.is_string_view(found):
        return "string"
    raise _wrong_type(what, name, column, f"values of type {found}")


def _wrong_type(what: str, name: str, column: str, found: str) -> InputError:
    expected = "integers or strings were expected: cast it"
    return InputError(f"{what} {name}: column {column!r} holds {found}, {expected}")
