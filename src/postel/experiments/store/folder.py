"""A store as a folder of small files that fits into a repository, and back; tables and reports work with either.

``rows.parquet`` has one line per run, as :meth:`Store.export` writes it; ``rounds.parquet`` the curves of those
runs that a report or figure draws; ``cells.json`` what was chosen with which budget, and the keys of its runs;
``measured.parquet`` what targets measured beside trainings.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from postel.datasets.storage.columns import check_parquet_size
from postel.errors import InputError, require_extra
from postel.experiments.results import Cell, Round
from postel.experiments.spec import MethodSpec
from postel.experiments.store.export import row_of_line, write_lines, write_parquet
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.sqlite import Store
from postel.files import write_text
from postel.owners import temporary_folder

_ROWS, _ROUNDS, _CELLS, _MEASURED = "rows.parquet", "rounds.parquet", "cells.json", "measured.parquet"

# Digits that are stored of a curve: more than any picture shows.
_DIGITS = 5


def write_archive(store: Store, folder: str | Path) -> list[Path]:
    """Write all of a store but its failures to a folder; curves only where a report or figure draws them.

    Lines are in the order of their keys, so that the same runs make the same file.

    Args:
        store: The store.
        folder: The folder; it is made if it does not exist.

    Returns:
        The files written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Cells first: a study that goes on meanwhile adds the rows of a cell before the cell itself.
    cells = sorted(store.cells(), key=lambda cell: cell.key)
    drawn = _drawn(store, cells)
    rows, rounds = [], []
    for key in sorted(store.keys()):
        (row,) = store.rows([key], rounds=key in drawn)
        if row.rounds is not None:
            curves = _rounded(row.as_dict()["rounds"])
            rounds.append({"key": key, "rounds": json.dumps(curves, allow_nan=False)})
        rows.append(row.without_rounds())
    write_lines(rows, folder / _ROWS)
    write_parquet(folder / _ROUNDS, rounds, ("key", "rounds"), "string")
    lines = ",\n".join(json.dumps(cell.as_dict(), sort_keys=True, allow_nan=False) for cell in cells)
    write_text(folder / _CELLS, f"[\n{lines}\n]\n")
    measured = [
        {"target": target, "key": key, "value": json.dumps(value, allow_nan=False)}
        for target, key, value in Measurements(store).all()
    ]
    write_parquet(folder / _MEASURED, measured, ("target", "key", "value"), "string")
    return archive_files(folder)


def archive_files(folder: str | Path) -> list[Path]:
    """Return the files that an archive consists of.

    Args:
        folder: The archive's folder.

    Returns:
        Their paths.
    """
    return [Path(folder) / name for name in (_ROWS, _ROUNDS, _CELLS, _MEASURED)]


def open_results(path: str | Path) -> Store:
    """Open a store, or an archive as if it were one.

    Args:
        path: A store's file, or an archive's folder, which is read into a temporary file.

    Returns:
        The store.

    Raises:
        InputError: If it is neither.
    """
    path = Path(path)
    if not path.is_dir():
        return Store(path)
    stats = [(file.stat().st_mtime_ns, file.stat().st_size) for file in archive_files(path) if file.is_file()]
    return _opened(path, path.resolve(), tuple(stats))


@lru_cache(maxsize=3)
def _opened(folder: Path, place: Path, stats: tuple[tuple[int, int], ...]) -> Store:
    """Read a folder once while its files stay as they are: a process may make many tables of a few."""
    return read_archive(folder)


def read_archive(folder: str | Path, into: str | Path | None = None) -> Store:
    """Make a store from the folder that :func:`write_archive` wrote.

    Every line is checked: its spec has to have the key that it is filed under.

    Args:
        folder: The archive's folder.
        into: The file of the new store; if None, a temporary one that is deleted with the returned object.

    Returns:
        The store.

    Raises:
        InputError: If ``into`` exists already, or a file of the archive is missing or damaged.
    """
    folder = Path(folder)
    if into is not None and Path(into).exists():
        raise InputError(f"{into} is there already; name a new file for what {folder} holds")
    if not (folder / _ROWS).is_file():
        raise InputError(f"{folder} is no folder of results: it has no {_ROWS}; postel export writes one")
    rounds = {line["key"]: line["rounds"] for line in _lines(folder / _ROUNDS)}
    rows = [row_of_line(line) for line in _lines(folder / _ROWS)]
    try:
        cells = [Cell.from_dict(values) for values in json.loads((folder / _CELLS).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder / _CELLS} cannot be read as cells: {error!r}") from error
    if into is None:
        home = temporary_folder("postel")
        store = Store(Path(home.name) / "rows.sqlite", name=str(folder))
        weakref.finalize(store, home.cleanup)
    else:
        store = Store(into)
    store.add_many(
        replace(row, rounds=tuple(map(Round.from_dict, json.loads(rounds[row.key])))) if row.key in rounds else row
        for row in rows
    )
    store.add_cells(cells)
    measurements = Measurements(store)
    for line in _lines(folder / _MEASURED):
        measurements.put(line["target"], line["key"], json.loads(line["value"]))
    return store


def _drawn(store: Store, cells: Sequence[Cell]) -> set[str]:
    """Return the keys of runs whose curves are drawn: all runs of figures, and of other cells the first one.

    Figures set it beside one-hot labels at the same training setting, which a search of these has run as well.
    """
    keys: set[str] = set()
    for cell in cells:
        keys.update(cell.run_keys if cell.target.startswith("figure-") else cell.run_keys[:1])
    one_hot = MethodSpec(name="one_hot")
    return keys | {row.spec.with_labels(one_hot).key for row in store.rows(sorted(keys), rounds=False)}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return {name: _rounded(inner) for name, inner in value.items()} if isinstance(value, dict) else value


def _lines(path: Path) -> list[dict[str, Any]]:
    parquet = require_extra("pyarrow.parquet", "tables")
    pyarrow = require_extra("pyarrow", "tables")
    try:
        check_parquet_size(path)
        lines: list[dict[str, Any]] = parquet.ParquetFile(path).read().to_pylist()
    except (OSError, pyarrow.ArrowException, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {str(error)[:300]}") from error
    return lines
