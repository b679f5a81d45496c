"""A table: which files it is made of, and what its two columns are; the same answer for every engine."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from postel.errors import InputError
from postel.files import usual_separator
from postel.scale.column_kinds import inspect_csv, inspect_parquet, one_kind

_PARQUET = (".parquet", ".pq")

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
        probabilities: Names of the classes whose probabilities it holds, a column each.
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
    probabilities: tuple[str, ...] = ()

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


def open_table(what: str, path: str, columns: tuple[str, str], separator: str | None = None) -> Table:
    """Open a table: a file, a glob or a folder of Parquet or CSV files; every file's columns are checked.

    The type of a CSV column is that of the first rows there are; reading stops with one clear sentence where a
    later row does not fit.

    Args:
        what: What the table is, for errors.
        path: Where it is.
        columns: Names of the two columns.
        separator: What is between the fields of CSV files; without it a comma, or a tab for .tsv and for .txt that
            has tabs.

    Returns:
        The table.

    Raises:
        InputError: If there is no such file, it cannot be read, lacks a column or has a type that does not fit.
    """
    if is_address(path):
        form = "csv" if path.endswith(_CSV) else "parquet"
        separator = separator or ("\t" if path.endswith((".tsv", ".tsv.gz")) else ",")
        return Table(what, path, (), form, separator, columns, ("empty", "empty"), 0)
    files = _files(what, path)
    form = _format(what, path, files)
    # Writers leave empty parts behind: a CSV file of no bytes has no header to look at.
    files = tuple(name for name in files if form == "parquet" or Path(name).stat().st_size)
    separator = separator or _one_separator(what, path, files if form == "csv" else ())
    kinds, size, headers = ("empty", "empty"), 0, []
    for name in files:
        found, bytes_there, header = (inspect_parquet if form == "parquet" else inspect_csv)(
            what, name, columns, separator
        )
        headers.append(header)
        kinds = (
            one_kind(what, name, columns[0], kinds[0], found[0]),
            one_kind(what, name, columns[1], kinds[1], found[1]),
        )
        size += bytes_there
    seen = tuple(headers) if form == "csv" else ()
    return Table(what, path, files, form, separator, columns, kinds, size, seen)


def _one_separator(what: str, path: str, files: Sequence[str]) -> str:
    try:
        found = {usual_separator(Path(name)) for name in files}
    except (OSError, EOFError) as error:
        raise InputError(f"{what} {path} cannot be read, it may be cut short: {error}") from error
    if len(found) > 1:
        raise InputError(f"{what}: {path!r} holds files with commas and with tabs: set separator (--separator)")
    return found.pop() if found else ","


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
