"""The paper's table of dataset statistics, from the data themselves."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from typing import Any

from postel.datasets.catalog import CATALOG, COUNTING
from postel.datasets.diagnosis.statistics_table import statistics_table
from postel.errors import InputError
from postel.experiments.store.reader import Reader
from postel.paper.names import DATASETS, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.table import NOT_RUN, Table, numbers, texts
from postel.paper.target import Target

_FACTS = ("nodes", "edges", "features", "classes")


def _counts(name: str, data_root: str | None) -> dict[str, Any] | None:
    """Counts of a dataset that is at hand; nothing is downloaded."""
    row = statistics_table([name], data_root=data_root)[0]
    if row.broken:
        raise InputError(str(row.missing))
    return None if row.missing else {fact: asdict(row)[fact] for fact in (*_FACTS, "fingerprint")}


class TableDatasets(Target):
    """Nodes, edges, features and classes: ours, the paper's and the difference."""

    title = "Statistics of the datasets"
    datasets = DATASETS
    per_dataset = staticmethod(_counts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The datasets, which must be of the catalog."""
        for name in (chosen := super().names):
            if name not in CATALOG:
                raise InputError(f"table-datasets takes datasets of the catalog, got {name}; try postel diagnose")
        return chosen

    def make(self, reader: Reader) -> Rendering:
        """Return the table, one line per dataset.

        Args:
            reader: The store's reader.
        """
        rows = []
        counted: dict[str, list[str]] = {}
        for name in self.names:
            found: dict[str, Any] | None = reader.measurements.get(self.name, name)
            paper = CATALOG[name].paper
            if paper is not None:
                counted.setdefault(COUNTING[paper.counting], []).append(dataset_label(name))
            row: list[Any] = [dataset_label(name), NOT_RUN if found is None else "run"]
            for fact in _FACTS:
                ours = found[fact] if found else None
                theirs = getattr(paper, fact) if paper else None
                row += [ours, theirs, ours - theirs if ours is not None and theirs is not None else None]
            rows.append(tuple(row))
        notes = [f"Edges of {', '.join(names)}: {way}." for way, names in counted.items()]
        columns = texts("dataset", "state")
        for fact in _FACTS:
            columns += numbers(fact, f"paper's {fact}", places=0)
            columns += numbers(f"{fact} difference", places=0, signed=True)
        values = Table(self.title, columns, rows, tuple(notes))
        return Rendering(self.name, values, lines=_readable(values))


def _readable(values: Table) -> Table:
    """Return a table with two numbers per column, ours and the paper's, and whether they agree."""
    rows = []
    for row in values.shown():
        pairs = [(row[place], row[place + 1], row[place + 2]) for place in range(2, len(row), 3)]
        told = [row[1]] if row[1] == NOT_RUN else ["; ".join(gap for *_, gap in pairs if gap not in ("+0", "–"))]
        agrees = told[0] or ("yes" if pairs[0][1] != "–" else "–")
        rows.append((row[0], *(f"{ours} / {theirs}" for ours, theirs, _ in pairs), agrees))
    columns = (*texts("dataset"), *numbers(*_FACTS, "agree"))
    return Table(f"{values.title}, ours / paper", columns, rows, values.notes)
