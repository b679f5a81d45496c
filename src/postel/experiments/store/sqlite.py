"""The store: rows, failures and cells in an SQLite file, each written as it comes, so that little can be lost."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from postel.errors import InputError
from postel.experiments.provenance import provenance
from postel.experiments.results import Cell, Failure, Row
from postel.experiments.spec import RunSpec
from postel.experiments.store.export import write_lines
from postel.experiments.store.packing import packed, unpacked

#: The statements that bring a file from each schema to the next; a file's schema is how many of them were applied.
_STEPS = (
    ("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, row BLOB NOT NULL)",),
    (
        "CREATE TABLE failures (key TEXT PRIMARY KEY, at REAL NOT NULL, failure TEXT NOT NULL)",
        "CREATE TABLE cells (key TEXT PRIMARY KEY, cell TEXT NOT NULL)",
        "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL)",
    ),
)

Made = TypeVar("Made")

# How long a writer waits for another one, in seconds.
_PATIENCE = 60


class Store:
    """The rows of a study by the key of their spec, its failures and its cells; the file is made on first use.

    A read-only file works as long as nothing is added.

    Args:
        path: The file.
        name: The store's name in texts; its path if None.

    Raises:
        InputError: If the file cannot be used as a store, or another version wrote it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(Path(folder) / "rows.sqlite")
        ...     len(store), store.get(["a"]), store.cells()
        (0, {}, [])
    """

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name or str(path)
        try:
            if not self.path.exists() or self._schema() < len(_STEPS):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._migrate()
            self._fold()
            found = self._schema()
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"{self.path} cannot be used as a store of results: {error}") from error
        if found != len(_STEPS):
            raise InputError(f"{self.path} was written by another version of postel (schema {found})")

    def add(self, row: Row) -> None:
        """Store a row unless there is one with the same key, and delete any failure of its spec.

        Args:
            row: The row.
        """
        with self.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (row.key, packed(row.as_dict())))
            for table in ("failures", "claims"):
                connection.execute(f"DELETE FROM {table} WHERE key = ?", (row.key,))

    def add_many(self, rows: Iterable[Row]) -> None:
        """Store rows: all of them or, if one cannot be made or stored, none.

        Args:
            rows: The rows; those with a key that the store has already are skipped.
        """
        with self.writing() as connection:
            lines = ((row.key, packed(row.as_dict())) for row in rows)
            connection.executemany("INSERT OR IGNORE INTO runs VALUES (?, ?)", lines)

    def keys(self) -> list[str]:
        """Return the key of every row, in the order in which they were added."""
        with self.reading() as connection:
            return [key for (key,) in connection.execute("SELECT key FROM runs ORDER BY rowid")]

    def get(self, keys: Iterable[str], *, rounds: bool = True) -> dict[str, Row]:
        """Return the rows that the store has, by key.

        Args:
            keys: Keys of runs.
            rounds: Whether they come with their curves: those of many rows would fill the memory.

        Returns:
            The rows by key, without missing ones.
        """
        rows = {}
        with self.reading() as connection:
            for key in keys:
                found = connection.execute("SELECT row FROM runs WHERE key = ?", (key,)).fetchone()
                if found is not None:
                    rows[key] = self._row(key, found[0], rounds)
        return rows

    def rows(self, keys: Iterable[str], *, rounds: bool = True) -> list[Row]:
        """Return the rows that the store has.

        Args:
            keys: Keys of runs.
            rounds: Whether they come with their curves.

        Returns:
            The rows in the order of ``keys``, without missing ones.
        """
        return list(self.get(keys, rounds=rounds).values())

    def all_rows(self, *, rounds: bool = True) -> list[Row]:
        """Return every row.

        Args:
            rounds: Whether they come with their curves.

        Returns:
            The rows in the order in which they were added.
        """
        return self.rows(self.keys(), rounds=rounds)

    def add_failure(self, spec: RunSpec, traceback_text: str) -> None:
        """Store that a run failed, until it succeeds.

        Args:
            spec: What was run.
            traceback_text: Why it failed.
        """
        failure = Failure(spec, traceback_text, made_by=provenance())
        line = (failure.key, failure.at, json.dumps(failure.as_dict()))
        with self.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", line)
            connection.execute("DELETE FROM claims WHERE key = ?", (failure.key,))

    def failures(self) -> list[Failure]:
        """Return the runs that failed and have not succeeded since."""
        return self._listed("SELECT failure FROM failures ORDER BY rowid", Failure.from_dict)

    def add_cell(self, cell: Cell) -> None:
        """Store a cell, in place of any that has the same key.

        Args:
            cell: The cell; its rows are stored apart.
        """
        self.add_cells([cell])

    def add_cells(self, cells: Iterable[Cell]) -> None:
        """Store cells, all of them or none, in place of any that have the same keys.

        Args:
            cells: The cells; their rows are stored apart.
        """
        lines = [(cell.key, json.dumps(cell.as_dict(), allow_nan=False)) for cell in cells]
        with self.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?)", lines)

    def cells(self) -> list[Cell]:
        """Return every cell without its rows, in the order in which they were added."""
        return self._listed("SELECT cell FROM cells ORDER BY rowid", Cell.from_dict)

    def export(self, path: str | Path) -> int:
        """Write all runs as flat lines.

        Args:
            path: The file; its extension, .csv or .parquet, decides the format.

        Returns:
            The number of runs.
        """
        return write_lines(self.all_rows(rounds=False), Path(path))

    def __len__(self) -> int:
        with self.reading() as connection:
            return int(connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0])

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a connection inside one transaction, which is committed as a whole or not at all."""
        try:
            with closing(self._opened()) as connection:
                # With WAL this survives any kill; a power cut may cost the last rows but never the file.
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise InputError(
                f"{self.path} takes no more results: {error}; all that it holds is kept, so make room for it "
                "and run the same command again"
            ) from error

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Make writing fast within a ``with`` block: otherwise every write folds SQLite's log back into the file.

        The log is folded back at the end, so that the file alone is the whole store.
        """
        try:
            connection = self._opened()
        except sqlite3.Error as error:
            raise InputError(f"{self.path} cannot be used as a store of results: {error}") from error
        with closing(connection):
            # The file may be read-only; then a write will raise.
            with suppress(sqlite3.Error):
                connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone()
            try:
                yield
            finally:
                # Another study may be at work on it, or the disk be full: its own end, or the next command, folds.
                with suppress(sqlite3.Error):
                    connection.execute("PRAGMA busy_timeout=1000")
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for reading, which works for a read-only file too."""
        try:
            with closing(self._opened(read_only=True)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise InputError(f"{self.path} cannot be read as a store of results: {error}") from error

    def _listed(self, query: str, made: Callable[[Any], Made]) -> list[Made]:
        with self.reading() as connection:
            texts = [text for (text,) in connection.execute(query)]
        try:
            return [made(json.loads(text)) for text in texts]
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise self.damaged(f"in a cell or failure: {_in_a_line(error)}") from error

    def _row(self, key: str, content: Any, rounds: bool) -> Row:
        """Return the row under a key; raise if it is damaged."""
        try:
            values = unpacked(content)
            if not isinstance(values, dict) or values.get("key") != key:
                raise ValueError("it belongs to another key")
            return Row.from_dict(values if rounds else {**values, "rounds": None})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self.damaged(f"in the run {key!s:.40}: {_in_a_line(error)}") from error

    def damaged(self, what: str) -> InputError:
        """Return the error for something in the store that cannot be read.

        Args:
            what: Where it is, and what is wrong with it.

        Returns:
            The error, to be raised.
        """
        recover = "restore it from a copy, or save what can be read with: sqlite3 FILE .recover"
        return InputError(f"{self.path} is damaged {what}; {recover}")

    def _fold(self) -> None:
        """Fold what a killed study left in SQLite's log into the file, if that can be written now."""
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.exists() and os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK):
            with suppress(sqlite3.OperationalError), closing(self._opened()) as connection:
                connection.execute("PRAGMA busy_timeout=100")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _schema(self) -> int:
        with closing(self._opened(read_only=True)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

    def _migrate(self) -> None:
        """Bring the file to the newest schema in one transaction; several processes may do so at once."""
        with closing(self._opened()) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("BEGIN IMMEDIATE")
            found = int(connection.execute("PRAGMA user_version").fetchone()[0])
            for step in _STEPS[found:]:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={max(found, len(_STEPS))}")
            connection.execute("COMMIT")

    def _opened(self, *, read_only: bool = False) -> sqlite3.Connection:
        if not read_only:
            return sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        address = self.path.resolve().as_uri()
        # A connection that may write removes SQLite's files beside the store when it is the last to close.
        mode = "rw" if os.access(self.path, os.W_OK) and os.access(self.path.resolve().parent, os.W_OK) else "ro"
        try:
            connection = sqlite3.connect(
                f"{address}?mode={mode}", timeout=_PATIENCE, isolation_level=None, uri=True
            )
            connection.execute("PRAGMA query_only=1")
            connection.execute("PRAGMA schema_version")
        except sqlite3.OperationalError:
            # Even to read it, WAL wants files beside the store. Where none can be made nobody writes either.
            if self.path.with_name(f"{self.path.name}-wal").exists() or not self.path.exists():
                raise
            connection = sqlite3.connect(f"{address}?immutable=1", isolation_level=None, uri=True)
        return connection


def _in_a_line(error: Exception) -> str:
    """Say in one line what is wrong with stored values."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)
