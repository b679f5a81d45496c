"""Counting on embedded DuckDB: SQL over the files, spilling to the temporary folder under a memory limit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from postel.errors import InputError, require_extra
from postel.scale import soft_sql, sql
from postel.scale.batches import misread
from postel.scale.calibrated_kernel import CalibratedModel
from postel.scale.classes import conflict
from postel.scale.column_kinds import WHOLE_NUMBER
from postel.scale.engine import Engine, Inputs, Names, PairCounts, Progress, histograms_of
from postel.scale.kernel import Counts, Model
from postel.scale.output import write_rows
from postel.scale.probabilities import PREFIX, check_known, labels_of, leading_class, not_a_distribution
from postel.scale.request import Request
from postel.scale.tables import Table

_TYPES = {"integer": "BIGINT", "string": "VARCHAR"}


class DuckDBEngine(Engine):
    """The :class:`postel.scale.engine.Engine` on DuckDB.

    Args:
        request: The job.
        inputs: Its opened tables.
        folder: Where DuckDB puts what does not fit into memory.
        progress: Called with what is being done.
    """

    def __init__(self, request: Request, inputs: Inputs, folder: Path, progress: Progress) -> None:
        self._duckdb = require_extra("duckdb", "duckdb")
        self._request, self._inputs, self._folder, self._progress = request, inputs, folder, progress
        self._connection = self._duckdb.connect()
        settings = {
            "memory_limit": f"{request.memory_limit // 1000}KB",
            "temp_directory": str(folder / "spill"),
            "preserve_insertion_order": "false",
            # Progress is asked for, not printed: the caller shows it.
            "enable_progress_bar": "true",
            "enable_progress_bar_print": "false",
        }
        if request.threads is not None:
            settings["threads"] = str(request.threads)
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = {_text(value)}")

    def close(self) -> None:
        """Close the connection and give its memory back."""
        self._connection.close()

    def census(self) -> Mapping[int | str, float]:
        inputs = self._inputs
        self._view("edges", inputs.edges, ("source", "target"), (inputs.ids, inputs.ids))
        hard = None if inputs.soft else inputs.pseudo
        for name, table in (("labels", inputs.labels), ("pseudo", hard)):
            if table is not None:
                self._view(name, table, ("node", "label"), (inputs.ids, inputs.label_kind))
        stage = "reading labels"
        self._run(f"CREATE TABLE found AS {sql.found(hard is not None)}", stage, *inputs.tables[1:])
        twice = self._run(sql.CONFLICT, stage)
        if twice:
            node, label, other, train = twice[0]
            raise conflict("labels" if train else "pseudo-labels", node, (label, other))
        found = dict(self._run(sql.CENSUS, stage))
        return self._soft_census(inputs.pseudo, list(found)) if inputs.pseudo and inputs.soft else found

    def _soft_census(self, table: Table, trained: list[int | str]) -> Mapping[int | str, float]:
        self._columns = labels_of(table, self._inputs.label_kind)
        check_known(table, self._columns, trained)
        self._run(f"CREATE VIEW said AS {self._unpivoted(table)}", None, table)
        self._run(f"CREATE TABLE soft AS {soft_sql.SOFT}", "reading labels", table)
        for node, parts, least, total in self._run(soft_sql.misfits(len(self._columns))):
            raise not_a_distribution(node, int(parts), least, total)
        return dict(self._run(soft_sql.CENSUS, "reading labels"))

    def count(self, names: Names) -> PairCounts:
        self._run(f"CREATE TABLE names (label {_TYPES[self._inputs.label_kind]}, class SMALLINT)")
        self._connection.executemany(
            "INSERT INTO names VALUES (?, ?)", [[name, number] for number, name in enumerate(names)]
        )
        soft = self._inputs.soft
        known = f"SELECT node, CAST(own AS SMALLINT) AS own, class FROM ({sql.KNOWN})"
        if soft:
            known = soft_sql.known(leading_class(names, self._columns))
        self._run(f"CREATE TABLE known AS {known}", "reading labels")
        self._run("DROP TABLE found")
        # The counts go to a file rather than a table, and are sorted in a query of their own: grouping and sorting
        # in one need the memory of both at a time.
        counted = _text(str(self._folder / "counts.parquet"))
        query = (soft_sql if soft else sql).counts(self._request, len(names))
        self._run(f"COPY ({query}) TO {counted} (FORMAT PARQUET)", "counting", self._inputs.edges)
        self._run(f"CREATE VIEW counts AS SELECT * FROM read_parquet({counted})")
        self._width = len(names) * (2 if self._request.reverse else 1)
        normalized = self._request.likelihood == "normalized"
        pairs = sql.pairs(self._request, len(names), soft=soft)
        query = sql.shares(self._request, "//") if normalized else pairs
        high, low = np.zeros((2, len(names), len(names)), dtype=np.float64 if soft else np.int64)
        for center, neighbor, upper, lower in self._run(query, "adding up"):
            high[center, neighbor], low[center, neighbor] = upper, lower
        return PairCounts(high, low if normalized else None)

    def sample(self, most: int) -> tuple[Counts, Counts]:
        dtype = np.float64 if self._inputs.soft else np.int64
        return histograms_of(self._run(sql.sample(most, "//"), "choosing nodes"), self._width, dtype)

    def write(self, model: Model | CalibratedModel, target: str) -> int:
        pq = require_extra("pyarrow.parquet", "tables")
        from postel.scale.rows import soft_batches

        path = self._folder / "sorted.parquet"
        self._run(
            f"COPY ({sql.rows(self._request)} ORDER BY node) TO {_text(str(path))} "
            "(FORMAT PARQUET, ROW_GROUP_SIZE 122880)",
            "sorting",
        )
        self.close()
        (self._folder / "counts.parquet").unlink()
        with pq.ParquetFile(path) as counted:
            # Grown with the counts it would outgrow small limits: a batch is a fixed number of rows.
            batches = self._watched(counted.iter_batches(batch_size=1 << 16), counted.metadata.num_rows)
            return write_rows(soft_batches(batches, model), self._inputs.ids, target)

    def _watched(self, batches: Iterator[Any], total: int) -> Iterator[Any]:
        done = 0
        for batch in batches:
            yield batch
            done += batch.num_rows
            self._progress("writing", done / total)

    def _unpivoted(self, table: Table) -> str:
        """The query of (node, label, weight) of probabilities; a row with an empty field says nothing."""
        queries = []
        for (node, *old), reader in _parts(table, [table.columns[0], *(PREFIX + n for n in table.probabilities)]):
            labels = ", ".join(str(label) if isinstance(label, int) else _text(label) for label in self._columns)
            weights = ", ".join(f"CAST({column} AS DOUBLE)" for column in old)
            filled = " AND ".join(f"{column} IS NOT NULL" for column in (node, *old))
            queries.append(
                f"SELECT {_cast(node, self._inputs.ids, table.is_text(0))} AS node, unnest([{labels}]) AS label, "
                f"unnest([{weights}]) AS weight FROM {reader} WHERE {filled}"
            )
        return " UNION ALL ".join(queries)

    def _view(self, name: str, table: Table, columns: tuple[str, str], kinds: tuple[str, str]) -> None:
        queries = []
        for old, reader in _parts(table, table.columns):
            typed = [_cast(old[at], kinds[at], table.is_text(at)) for at in (0, 1)]
            queries.append(
                f"SELECT {', '.join(typed)} FROM {reader} WHERE {old[0]} IS NOT NULL AND {old[1]} IS NOT NULL"
            )
        nothing = f"SELECT CAST(NULL AS {_TYPES[kinds[0]]}), CAST(NULL AS {_TYPES[kinds[1]]}) WHERE false"
        query = " UNION ALL ".join(queries) or nothing
        self._run(f"CREATE VIEW {name} ({', '.join(columns)}) AS {query}", None, table)

    def _run(self, query: str, stage: str | None = None, *reads: Table) -> list[tuple[Any, ...]]:
        """Return the rows of ``query``; ``reads`` are the tables at fault if it fails to read."""
        duckdb = self._duckdb
        try:
            with self._watching(stage):
                return self._connection.execute(query).fetchall() or []
        except duckdb.OutOfMemoryException as error:
            limit = self._request.memory_limit / 1e6
            raise InputError(
                f"DuckDB needs more than the memory limit of {limit:,.0f} MB: raise memory_limit (--memory-limit) "
                "or set threads (--threads) to 1"
            ) from error
        except duckdb.Error as error:
            if "No space left" in str(error):
                raise InputError(
                    f"there is no room left in {self._folder.parent}: set temp_dir (--temp-dir) to a larger disk"
                ) from error
            if isinstance(error, duckdb.InterruptException):
                raise KeyboardInterrupt from error
            # A damaged file can make DuckDB stumble in many ways; its own words are kept in the sentence.
            if not reads:
                raise
            table = reads[0] if len(reads) == 1 else next((t for t in reads if t.path in str(error)), reads[0])
            raise misread(table, error) from error
        except RuntimeError as error:
            # DuckDB looks for signals while it works, and tells of one in words of its own.
            if "interrupted" not in str(error):
                raise
            raise KeyboardInterrupt from error

    @contextlib.contextmanager
    def _watching(self, stage: str | None) -> Iterator[None]:
        if stage is None:
            yield
            return
        self._progress(stage, None)
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.25):
                percent = self._connection.query_progress()
                self._progress(stage, percent / 100 if percent >= 0 else None)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def _parts(table: Table, columns: Sequence[str]) -> list[tuple[list[str], str]]:
    """What to read: the columns as they are called there, and the reader of the files that call them so."""
    if table.format == "parquet":
        return [
            ([_name(name) for name in columns], f"read_parquet({_list(table.files)}, hive_partitioning=false)")
        ]
    parts = []
    # Read as text, by the header's order, and cast here: DuckDB's own guesses of types, separators and names are
    # not those of the other engines.
    options = f"auto_detect=false, header=true, delim={_text(table.separator)}, quote='\"', escape='\"'"
    for header, files in table.files_by_header().items():
        names = ", ".join(f"c{at}: 'VARCHAR'" for at in range(len(header)))
        reader = f"read_csv({_list(files)}, columns={{{names}}}, hive_partitioning=false, {options})"
        parts.append(([f"c{header.index(column)}" for column in columns], reader))
    return parts


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _list(files: Sequence[str]) -> str:
    """File names as DuckDB takes them, which would find other files by what looks like a pattern."""
    plain = ["".join(f"[{sign}]" if sign in "[*?" else sign for sign in name) for name in files]
    return "[" + ", ".join(map(_text, plain)) + "]"


def _cast(column: str, kind: str, text: bool) -> str:
    """``column`` as the type of ``kind``; text that is to be a number must be a whole one, as in every engine."""
    if not (text and kind == "integer"):
        return f"CAST({column} AS {_TYPES[kind]})"
    trimmed = f"trim({column}, ' \t')"
    fits = f"regexp_full_match({trimmed}, '{WHOLE_NUMBER}')"
    return f"CASE WHEN {fits} THEN CAST({trimmed} AS BIGINT) ELSE error({column} || ' is no whole number') END"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
