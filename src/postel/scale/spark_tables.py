"""Tables and output folders as Spark sees them: views to read, and a rename on whatever file system it is."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from postel.errors import InputError, require_extra
from postel.scale.batches import misread
from postel.scale.column_kinds import WHOLE_NUMBER
from postel.scale.java_process import hadoop_configuration, hadoop_path
from postel.scale.output import check_free
from postel.scale.probabilities import PREFIX
from postel.scale.tables import Table

_TYPES = {"integer": "bigint", "string": "string"}
_INTEGERS = ("tinyint", "smallint", "int", "bigint", "decimal(20,0)")


def looked_up(table: Table, spark: Any) -> Table:
    """Look up the kinds of a table at an address.

    Args:
        table: The table.
        spark: The session.

    Returns:
        The table with its kinds, as Spark reads them.

    Raises:
        InputError: If it cannot be read, lacks a column, or has a type that does not fit.
    """
    spark_error = require_extra("pyspark.errors", "spark").PySparkException
    try:
        types = dict(_frame(spark, table, infer=True).dtypes)
    except spark_error as error:
        raise misread(table, error) from error
    kinds = []
    for column in table.columns:
        found = types.get(column)
        if found is None:
            raise InputError(f"{table.what} {table.path} has no column {column!r}, it has {', '.join(types)}")
        if found not in (*_INTEGERS, "string", "void"):
            raise InputError(
                f"{table.what} {table.path}: column {column!r} holds values of type {found}, "
                "integers or strings were expected: cast it"
            )
        kinds.append({"string": "string", "void": "empty"}.get(found, "integer"))
    return dataclasses.replace(table, kinds=(kinds[0], kinds[1]))


def read_table(spark: Any, table: Table, columns: tuple[str, str], kinds: tuple[str, str], view: str) -> None:
    """Make a view of a table's two columns under new names, typed and without empty fields.

    Args:
        spark: The session.
        table: The table.
        columns: The new names.
        kinds: Kinds of the two columns, ``integer`` or ``string``.
        view: Name of the view.
    """
    functions = require_extra("pyspark.sql.functions", "spark")
    groups: list[tuple[Sequence[str], tuple[str, ...]]] = (
        [(table.files, ())] if table.files or table.remote else []
    )
    if table.format == "csv" and not table.remote:
        # Spark takes names and their order from the first file and dislikes repeated ones: places it is, then.
        groups = [(files, header) for header, files in table.files_by_header().items()]
    nothing = [functions.lit(None).cast(_TYPES[kind]).alias(new) for new, kind in zip(columns, kinds, strict=True)]
    frames = []
    for files, header in groups:
        chosen = [_typed(functions, table, header, at, kinds[at]).alias(columns[at]) for at in (0, 1)]
        frames.append(_frame(spark, table, files, header).select(*chosen).dropna())
    whole = functools.reduce(lambda one, other: one.unionAll(other), frames or [spark.range(0).select(*nothing)])
    whole.createOrReplaceTempView(view)


def read_probabilities(spark: Any, table: Table, ids: str, labels: Sequence[int | str], view: str) -> None:
    """Make a view (node, label, weight) of a table of probabilities; a row with an empty field says nothing.

    Args:
        spark: The session.
        table: The table.
        ids: Kind of the node ids, ``integer`` or ``string``.
        labels: Labels of its columns.
        view: Name of the view.
    """
    functions = require_extra("pyspark.sql.functions", "spark")
    by_header = table.files_by_header() if table.format == "csv" else {(): list(table.files)}
    frames = []
    for header, files in by_header.items():
        node = _typed(functions, table, header, 0, ids).alias("node")
        names = [PREFIX + name for name in table.probabilities]
        weights = [_column(functions, table, header, name).cast("double").alias(name) for name in names]
        wide = _frame(spark, table, files, header).select(node, *weights)
        for name in ("node", *names):
            wide = wide.where(wide[f"`{name}`"].isNotNull())  # dropna would drop what is not a number too
        pairs = [
            functions.struct(functions.lit(label).alias("label"), wide[f"`{name}`"].alias("weight"))
            for label, name in zip(labels, names, strict=True)
        ]
        frames.append(wide.select("node", functions.inline(functions.array(*pairs))))
    whole = functools.reduce(lambda one, other: one.unionAll(other), frames)
    whole.createOrReplaceTempView(view)


def _column(functions: Any, table: Table, header: tuple[str, ...], name: str) -> Any:
    place = f"c{header.index(name)}" if header else name
    column = functions.col(f"`{place.replace('`', '``')}`")
    # Quoted or not, an empty field is no value.
    return functions.nullif(column, functions.lit("")) if table.format == "csv" else column


def _typed(functions: Any, table: Table, header: tuple[str, ...], at: int, kind: str) -> Any:
    """A column as the type of ``kind``; text that is to be a number must be a whole one, as in every engine."""
    column = _column(functions, table, header, table.columns[at])
    if not (table.is_text(at) and kind == "integer"):
        return column.cast(_TYPES[kind])
    trimmed = functions.trim(column, functions.lit(" \t"))
    wrong = functions.raise_error(functions.concat(column, functions.lit(" is no whole number")))
    fits = trimmed.rlike(f"^{WHOLE_NUMBER}$")
    return functions.when(column.isNull() | fits, trimmed.cast("bigint")).otherwise(wrong.cast("bigint"))


def _frame(
    spark: Any, table: Table, files: Sequence[str] = (), header: tuple[str, ...] = (), infer: bool = False
) -> Any:
    # Names are taken as they are: what looks like a pattern would find other files, and a folder called label=0
    # would be a column. At an address a pattern is the user's own.
    wanted = {"recursiveFileLookup": "true"} if table.remote else {"__globPaths__": "false"}
    reader = spark.read.options(**wanted)
    paths = [table.path] if table.remote else [f"file://{name}" for name in files]
    if table.format == "parquet":
        return reader.parquet(*paths)
    # Read as text and cast here: Spark's own guess of types is not that of the other engines.
    if header:
        reader = reader.schema(", ".join(f"c{at} string" for at in range(len(header))))
    return reader.csv(
        paths,
        header=True,
        sep=table.separator,
        quote='"',
        escape='"',
        inferSchema=infer,
        enforceSchema=bool(header),
        mode="FAILFAST",
    )


@contextlib.contextmanager
def placed_by_spark(spark: Any, out: str, *, overwrite: bool = False, inputs: Sequence[str] = ()) -> Iterator[str]:
    """Write to an address so that the output is there whole or not at all.

    The rule is that of :mod:`postel.outputs`, as far as a file system that only Spark knows allows.

    Args:
        spark: The session.
        out: The address.
        overwrite: Whether what is there may be replaced.
        inputs: Addresses that are read; none of them is ever replaced.

    Yields:
        A temporary address beside ``out`` that becomes ``out`` when the block ends well.

    Raises:
        InputError: If Spark cannot use the address, or something is there that may not be replaced.
    """
    hadoop = hadoop_path(spark)
    final = hadoop(out.rstrip("/"))
    part = hadoop(final.getParent(), f".{final.getName()}.{uuid.uuid4().hex[:8]}.part")
    try:
        system = final.getFileSystem(hadoop_configuration(spark))
        there = system.exists(final)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{out} is at an address that Spark cannot use: {reason}") from error
    for name in inputs:
        if final.toUri().normalize() == hadoop(name.rstrip("/")).toUri().normalize():
            raise InputError(f"{out} is an input of this command and is never replaced; name another output")
    check_free(there, out, overwrite)
    if there and not all(_is_part(entry.getPath().getName()) for entry in system.listStatus(final)):
        raise InputError(
            f"{out} holds other things than soft labels and is not replaced, overwrite or not; name another output"
        )
    try:
        yield part.toString()
        if not there and system.exists(final):
            raise InputError(
                f"{out} was written by something else while this command ran: that is kept; name another output"
            )
        if there:
            system.delete(final, True)
        if not system.rename(part, final):
            raise OSError(f"{part.toString()} could not be renamed to {out}")
    finally:
        system.delete(part, True)


def _is_part(name: str) -> bool:
    return name == "_SUCCESS" or name.startswith("part-") or name.endswith(".crc")
