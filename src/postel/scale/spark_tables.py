"""Tables and output folders as Spark sees them: views to read, and a rename on whatever file system it is."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator
from typing import Any

from postel.errors import InputError, require_extra
from postel.scale.output import check_free
from postel.scale.tables import Table, misread

_TYPES = {"integer": "bigint", "string": "string"}
_INTEGERS = ("tinyint", "smallint", "int", "bigint", "decimal(20,0)")


def looked_up(table: Table, spark: Any) -> Table:
    """The table at an address with its kinds, as Spark reads them."""
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
    """Nothing; ``view`` is then the table's two columns under new names, typed and without empty fields."""
    functions = require_extra("pyspark.sql.functions", "spark")
    if table.files or table.remote:
        frame = _frame(spark, table)
    else:
        nothing = [functions.lit(None).cast("string").alias(name) for name in table.columns]
        frame = spark.range(0).select(*nothing)
    chosen = [
        functions.col(f"`{old.replace('`', '``')}`").cast(_TYPES[kind]).alias(new)
        for old, new, kind in zip(table.columns, columns, kinds, strict=True)
    ]
    frame.select(*chosen).dropna().createOrReplaceTempView(view)


def _frame(spark: Any, table: Table, infer: bool = False) -> Any:
    paths = [table.path] if table.remote else [f"file://{name}" for name in table.files]
    if table.format == "parquet":
        return spark.read.parquet(*paths)
    # Read as text and cast here: Spark's own guess of types is not that of the other engines.
    return spark.read.csv(
        paths, header=True, sep=table.separator, quote='"', escape='"', inferSchema=infer, enforceSchema=False
    )


@contextlib.contextmanager
def placed_by_spark(spark: Any, out: str, *, overwrite: bool = False) -> Iterator[str]:
    """A temporary address beside the address ``out`` that becomes ``out`` when the block ends well."""
    hadoop = spark._jvm.org.apache.hadoop.fs.Path
    final = hadoop(out.rstrip("/"))
    part = hadoop(final.getParent(), f".{final.getName()}.{uuid.uuid4().hex[:8]}.part")
    try:
        system = final.getFileSystem(spark._jsc.hadoopConfiguration())
        there = system.exists(final)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{out} is at an address that Spark cannot use: {reason}") from error
    check_free(there, out, overwrite)
    try:
        yield part.toString()
        if there:
            system.delete(final, True)
        if not system.rename(part, final):
            raise OSError(f"{part.toString()} could not be renamed to {out}")
    finally:
        system.delete(part, True)
