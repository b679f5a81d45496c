"""Which files a table is made of, and what type its columns have; the same answer for every engine."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra

_PARQUET = (".parquet", ".pq")
#: A whole number as all engines read it from text: 1.5, 2e0, 1_0, 007, +1 and 0x1F are none.
WHOLE_NUMBER = "-?(0|[1-9][0-9]*)"

_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")


@dataclass(frozen=True)
class Table:
    """Two columns of some files.

    A table at an address (``hdfs://...``) is left to Spark: it has no files here, and Spark tells its kinds.

    Args:
        what: What the table is, for errors.
        path: Where it is, as it was given.
        files: Its files.
        format: ``parquet`` or ``csv``.
        separator: What is between the fields of CSV files.
        columns: Names of the two columns.
        kinds: Their kinds, ``integer``, ``string`` or ``empty``.
        size: About the number of bytes that the two columns take in memory.
        headers: All columns of each file, if they are CSV.
    """

    what: str
    path: str
    files: tuple[str, ...]
    format: str
    separator: str
    columns: tuple[str, str]
    kinds: tuple[str, str]
    size: int
    headers: tuple[tuple[str, ...], ...] = ()

    def is_text(self, at: int) -> bool:
        """Tell whether a column is stored as text, whatever its values stand for.

        Args:
            at: 0 or 1, the place of the column.

        Returns:
            Whether it is text until it is cast.
        """
        return self.format == "csv" or self.kinds[at] == "string"

    def files_by_header(self) -> dict[tuple[str, ...], list[str]]:
        """Return the CSV files by the columns they have, in that order."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, header in zip(self.files, self.headers, strict=True):
            groups.setdefault(header, []).append(name)
        return groups

    @property
    def remote(self) -> bool:
        """Whether the table is at an address that only Spark can read."""
        return is_address(self.path)


def is_address(path: str) -> bool:
    """Tell whether a path names another file system than this machine's.

    Args:
        path: The path.

    Returns:
        Whether it has a scheme.

    Example:
        >>> is_address("hdfs://host/edges"), is_address("/data/edges")
        (True, False)
    """
    return "://" in path


def open_table(what: str, path: str, columns: tuple[str, str], separator: str) -> Table:
    """Open a table: a file, a glob or a folder of Parquet or CSV files; every file's columns are checked.

    The type of a CSV column is that of the first rows there are; reading stops with one clear sentence where a
    later row does not fit.

    Args:
        what: What the table is, for errors.
        path: Where it is.
        columns: Names of the two columns.
        separator: What is between the fields of CSV files.

    Returns:
        The table.

    Raises:
        InputError: If there is no such file, it cannot be read, lacks a column or has a type that does not fit.
    """
    if is_address(path):
        form = "csv" if path.endswith(_CSV) else "parquet"
        return Table(what, path, (), form, separator, columns, ("empty", "empty"), 0)
    files = _files(what, path)
    form = _format(what, path, files)
    # Writers leave empty parts behind: a CSV file of no bytes has no header to look at.
    files = tuple(name for name in files if form == "parquet" or Path(name).stat().st_size)
    kinds, size, headers = ("empty", "empty"), 0, []
    for name in files:
        found, bytes_there, header = (_inspect_parquet if form == "parquet" else _inspect_csv)(
            what, name, columns, separator
        )
        headers.append(header)
        kinds = (
            _one_kind(what, name, columns[0], kinds[0], found[0]),
            _one_kind(what, name, columns[1], kinds[1], found[1]),
        )
        size += bytes_there
    seen = tuple(headers) if form == "csv" else ()
    return Table(what, path, files, form, separator, columns, kinds, size, seen)


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


def read_batches(table: Table, kinds: Sequence[str], rows: int = 1 << 20) -> Iterator[Any]:
    """Read a table's two columns; rows with an empty field are left out.

    Args:
        table: The table.
        kinds: Kinds of the two columns, ``integer`` or ``string``.
        rows: About the number of rows of a batch.

    Yields:
        Record batches with the columns ``a`` and ``b``, int64 or string.

    Raises:
        InputError: If a file cannot be read or a value does not fit.
    """
    pa = require_extra("pyarrow", "tables")
    types = [pa.int64() if kind == "integer" else pa.string() for kind in kinds]
    for name in table.files:
        try:
            for batch in _raw_batches(table, name, rows):
                arrays = [
                    _typed(batch.column(column), to, table.is_text(at))
                    for at, (column, to) in enumerate(zip(table.columns, types, strict=True))
                ]
                whole = pa.RecordBatch.from_arrays(arrays, names=["a", "b"])
                # null_count of what a cast made may not be known yet; asking for it is cheap next to reading.
                yield whole.drop_null() if any(array.null_count for array in arrays) else whole
        except (pa.ArrowInvalid, pa.ArrowException, OSError, UnicodeError) as error:
            raise misread(table, error, name) from error


def misread(table: Table, error: Exception, name: str | None = None) -> InputError:
    """Make the error for what an engine could not read, from the engine's own words.

    Args:
        table: The table.
        error: What the engine raised.
        name: The file, where it is known.

    Returns:
        The error.
    """
    text = " ".join(str(error).split())
    where = f"{table.what} {name or table.path}"
    misfits = (
        "is no whole number",
        "onversion error",
        "onversion Error",
        "CAST_INVALID_INPUT",
        "CAST_OVERFLOW",
        "not convert",
    )
    if isinstance(error, FileNotFoundError):
        return InputError(f"{where} is gone: it was there when the job began")
    if any(sign in text for sign in misfits) and "arquet" not in text:
        return InputError(
            f"{where} holds a value that does not fit the type of its column ({_short(text)}): correct it, or set "
            "id_type (--id-type) to string if node ids are not all integers"
        )
    return InputError(f"{where} cannot be read, it may be cut short or of another format: {_short(text)}")


def _short(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _files(what: str, path: str) -> tuple[str, ...]:
    there = Path(path)
    if there.is_dir():
        found = [
            str(name)
            for name in sorted(there.rglob("*"))
            if name.is_file() and not _hidden(name.relative_to(there)) and _kind_of_file(name)
        ]
    elif there.is_file():
        found = [path]
    else:
        # Path.glob takes no absolute pattern.
        found = [name for name in sorted(glob.glob(path, recursive=True)) if Path(name).is_file()]  # noqa: PTH207
    if not found:
        raise InputError(f"{what}: there is no Parquet or CSV file at {path!r}; give a file, a glob or a folder")
    return tuple(os.path.abspath(name) for name in found)  # noqa: PTH100 - resolve() would follow links


def _hidden(name: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in name.parts)


def _kind_of_file(name: str | Path) -> str | None:
    text = str(name).lower()
    if text.endswith(_PARQUET):
        return "parquet"
    return "csv" if text.endswith(_CSV) else None


def _format(what: str, path: str, files: Sequence[str]) -> str:
    forms = {_kind_of_file(name) for name in files}
    if None in forms:
        name = next(name for name in files if _kind_of_file(name) is None)
        raise InputError(f"{what} {name}: a name that ends in .parquet, .csv, .tsv, .txt or .csv.gz was expected")
    if len(forms) > 1:
        raise InputError(f"{what} {path!r} mixes Parquet and CSV files: put them in two places and give one")
    return str(forms.pop())


def _typed(values: Any, to: Any, text: bool) -> Any:
    """``values`` as the Arrow type ``to``; text that is to be a number must be a whole one, as in every engine."""
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


def _inspect_parquet(
    what: str, name: str, columns: tuple[str, str], separator: str
) -> tuple[tuple[str, str], int, tuple[str, ...]]:
    pa, pq = require_extra("pyarrow", "tables"), require_extra("pyarrow.parquet", "tables")
    try:
        meta = pq.read_metadata(name)
        schema = meta.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{what} {name} cannot be read as Parquet: {_short(str(error))}") from error
    _check_columns(what, name, columns, schema.names)
    _check_twins(what, name, schema.names)
    kinds = [_kind(what, name, column, schema.field(column).type) for column in columns]
    width = sum(8 if kind != "string" else 40 for kind in kinds)
    return (kinds[0], kinds[1]), int(meta.num_rows) * width, tuple(schema.names)


def _inspect_csv(
    what: str, name: str, columns: tuple[str, str], separator: str
) -> tuple[tuple[str, str], int, tuple[str, ...]]:
    pa, csv = require_extra("pyarrow", "tables"), require_extra("pyarrow.csv", "tables")
    first = None
    try:
        with csv.open_csv(name, **_csv_options(csv, separator)) as reader:
            schema = reader.schema
        _check_columns(what, name, columns, schema.names)
        texts = {column: pa.string() for column in columns}
        options = _csv_options(csv, separator, include_columns=list(texts), column_types=texts)
        with csv.open_csv(name, **options) as reader, contextlib.suppress(StopIteration):
            first = reader.read_next_batch()
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(f"{what} {name} cannot be read as CSV: {_short(str(error))}") from error
    kinds = []
    for column in columns:
        found = schema.field(column).type
        if pa.types.is_floating(found):
            raise _wrong_type(what, name, column, "numbers with a fraction")
        known = "integer" if pa.types.is_integer(found) and _are_whole(first, column) else "string"
        kinds.append("empty" if pa.types.is_null(found) else known)
    packed = 6 if name.endswith(".gz") else 1
    return (kinds[0], kinds[1]), Path(name).stat().st_size * packed * 2, tuple(schema.names)


def _are_whole(batch: Any, column: str) -> bool:
    """Whether the column's texts are whole numbers written the one usual way: 007 is a name, not seven."""
    pa = require_extra("pyarrow", "tables")
    try:
        if batch is not None:
            _typed(batch.column(column), pa.int64(), text=True)
    except pa.ArrowInvalid:
        return False
    return True


def _csv_options(csv: Any, separator: str, **convert: Any) -> dict[str, Any]:
    # An empty field is no value, in every engine; words such as NA are words.
    return {
        "parse_options": csv.ParseOptions(delimiter=separator),
        "convert_options": csv.ConvertOptions(strings_can_be_null=True, null_values=[""], **convert),
    }


def _raw_batches(table: Table, name: str, rows: int) -> Iterator[Any]:
    if table.format == "parquet":
        pq = require_extra("pyarrow.parquet", "tables")
        with pq.ParquetFile(name) as file:
            # A table whose two columns are one (an edge list of loops) asks for it once.
            yield from file.iter_batches(batch_size=rows, columns=list(dict.fromkeys(table.columns)))
        return
    csv = require_extra("pyarrow.csv", "tables")
    options = _csv_options(
        csv,
        table.separator,
        include_columns=list(dict.fromkeys(table.columns)),
        column_types={column: require_extra("pyarrow", "tables").string() for column in table.columns},
    )
    read = csv.ReadOptions(block_size=16 << 20)
    with csv.open_csv(name, read_options=read, **options) as reader:
        yield from reader


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


def _one_kind(what: str, name: str, column: str, before: str, found: str) -> str:
    if "empty" in (before, found):
        return found if before == "empty" else before
    if before != found:
        raise InputError(
            f"{what} {name}: column {column!r} holds {found}s, but in other files {before}s: write one type in all"
        )
    return before
