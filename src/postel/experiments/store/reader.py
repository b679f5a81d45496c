"""Reads a store as cells and rows, for everything that shows results; nothing here writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from postel.errors import InputError
from postel.experiments.results import Cell, Failure, Question, Row, cells_of_rows
from postel.experiments.store.folder import open_results
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.sqlite import Store
from postel.grouping import grouped


@dataclass(frozen=True)
class Study:
    """Everything that a store holds.

    Args:
        store: The name of the store in texts.
        cells: Cells with their rows, those that searches chose first; only the first row of each has its rounds.
        rows: Every run with test scores, without rounds.
        trials: How many of the runs belong to no cell: trials of searches and sweeps of figures.
        failures: Runs that failed and have not succeeded since.
    """

    store: str
    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]
    trials: int = 0
    failures: tuple[Failure, ...] = ()

    @classmethod
    def of_rows(cls, rows: Iterable[Row], store: str) -> Study:
        """Make a study of runs that no search chose, such as those of one comparison.

        Args:
            rows: Runs with test scores.
            store: The name in texts of the store that holds them.

        Returns:
            The study.
        """
        every = tuple(rows)
        return cls(store, tuple(cells_of_rows(every)), every)


class Reader:
    """The cells, rows and measurements of a store; rows are read once, but curves, which fill the memory, anew.

    Args:
        store: The store to read.
        evidence_only: Whether to pass over cells that decide nothing (:attr:`Cell.is_evidence`).
    """

    def __init__(self, store: Store, *, evidence_only: bool = False) -> None:
        self.store = store
        self.cells = [cell for cell in store.cells() if cell.is_evidence or not evidence_only]
        self._by_topic = grouped(self.cells, lambda cell: cell.question.topic)
        self._rows: dict[str, Row] = {}
        self.measurements = Measurements(store)

    @cached_property
    def evidence(self) -> Reader:
        """A reader of those cells alone whose method was searched."""
        return Reader(self.store, evidence_only=True)

    def answer(self, question: Question, *, rounds: bool = False, searched: bool = False) -> Cell | None:
        """Return the best answer to a question: the one with most splits, then the one with the largest search.

        Args:
            question: The question; fields of None match anything.
            rounds: Whether rows come with their curves. Those of a whole table would not fit into memory, and a
                cell whose curves were not all stored is passed over.
            searched: Whether only a cell will do whose setting was searched for.

        Returns:
            The cell with the rows of the question's splits, or None if there is none.
        """
        wanted = set(question.splits)

        def worth(cell: Cell) -> tuple[int, int, int]:
            return len(wanted & set(cell.question.splits)), cell.spent.trials, cell.spent.search_splits

        fitting = [
            cell
            for cell in self._by_topic.get(question.topic, ())
            if cell.answers(question) and (cell.was_searched or not searched)
        ]
        for cell in sorted(fitting, key=worth, reverse=True):
            rows = [row for row in self.rows(cell.run_keys, rounds=rounds) if row.split in wanted]
            if rows and not (rounds and any(row.rounds is None for row in rows)):
                return cell.with_rows(rows)
        return None

    def rows(self, keys: Iterable[str], *, rounds: bool = False) -> list[Row]:
        """Return the rows that the store has.

        Args:
            keys: Keys of runs.
            rounds: Whether they come with their curves.

        Returns:
            The rows in the order of ``keys``.
        """
        if rounds:
            return self.store.rows(keys)
        wanted = list(keys)
        self._rows.update(self.store.get((key for key in wanted if key not in self._rows), rounds=False))
        return [self._rows[key] for key in wanted if key in self._rows]

    def study(self) -> Study:
        """Return everything that the store holds.

        Runs of settings that a search tried on the way are no cells; other runs, such as those of ``postel
        compare``, make up one cell per setting.
        """
        rows = {row.key: row for row in self.rows(self.store.keys()) if row.result.test is not None}
        cells = [cell.with_rows(rows[key] for key in cell.run_keys if key in rows) for cell in self.cells]
        chosen = {row.key for cell in cells for row in cell.rows}
        searched = {_place(row) for cell in cells if cell.was_searched for row in cell.rows}
        others = [row for row in rows.values() if row.key not in chosen]
        given = [row for row in others if _place(row) not in searched]
        found = [self._with_first_rounds(cell) for cell in [*cells, *cells_of_rows(given)] if cell.rows]
        failures = tuple(self.store.failures())
        return Study(self.store.name, tuple(found), tuple(rows.values()), len(others) - len(given), failures)

    def _with_first_rounds(self, cell: Cell) -> Cell:
        first = self.rows([cell.rows[0].key], rounds=True)
        return cell.with_rows([*first, *cell.rows[1:]])


def read_study(path: str | Path) -> Study:
    """Read everything that a store or folder of results holds.

    Args:
        path: A store's file, or a folder that ``postel export`` wrote.

    Returns:
        The study.

    Raises:
        InputError: If the path does not exist or holds no runs, which is most likely a misspelled name.
    """
    fill = "fill it with postel compare, tune or reproduce"
    if not Path(path).exists():
        raise InputError(f"there is no store {path}; name one with --store, or {fill}")
    study = Reader(open_results(path)).study()
    if not study.rows:
        raise InputError(f"{path} holds no runs yet; {fill}")
    return study


def _place(row: Row) -> tuple[str, str, str, str, str]:
    spec = row.spec
    return spec.dataset, spec.protocol, spec.recipe, spec.backbone, spec.method.name
