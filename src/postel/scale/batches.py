"""Reads the two columns of a table in batches, and says in one sentence what an engine could not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from postel.errors import InputError, require_extra
from postel.scale.column_kinds import csv_options, short, typed
from postel.scale.tables import Table


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
                    typed(batch.column(column), to, table.is_text(at))
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
            f"{where} holds a value that does not fit the type of its column ({short(text)}): correct it, or set "
            "id_type (--id-type) to string if node ids are not all integers"
        )
    return InputError(f"{where} cannot be read, it may be cut short or of another format: {short(text)}")


def _raw_batches(table: Table, name: str, rows: int) -> Iterator[Any]:
    if table.format == "parquet":
        pq = require_extra("pyarrow.parquet", "tables")
        with pq.ParquetFile(name) as file:
            # A table whose two columns are one (an edge list of loops) asks for it once.
            yield from file.iter_batches(batch_size=rows, columns=list(dict.fromkeys(table.columns)))
        return
    csv = require_extra("pyarrow.csv", "tables")
    options = csv_options(
        csv,
        table.separator,
        include_columns=list(dict.fromkeys(table.columns)),
        column_types={column: require_extra("pyarrow", "tables").string() for column in table.columns},
    )
    read = csv.ReadOptions(block_size=16 << 20)
    with csv.open_csv(name, read_options=read, **options) as reader:
        yield from reader
