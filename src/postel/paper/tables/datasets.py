"""The paper's table of dataset statistics, from the data themselves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from postel.datasets.catalog import CATALOG, COUNTING
from postel.datasets.diagnosis.statistics_table import statistics_table
from postel.errors import InputError
from postel.experiments.store import Store
from postel.experiments.store.measured import Measurements
from postel.paper.accuracy import NOT_RUN
from postel.paper.names import DATASETS, dataset_label
from postel.paper.planning import Options
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.running import Watch
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target

_FACTS = ("nodes", "edges", "features", "classes")


class TableDatasets(Target):
    """Nodes, edges, features and classes: ours, the paper's and the difference."""

    name = "table-datasets"
    title = "Statistics of the datasets"

    def measure(self, options: Options, store: Store, watch: Watch) -> None:
        """Count each dataset that is at hand; nothing is downloaded."""
        kept = Measurements(store)
        for name in self._names(options):
            watch.on_step(f"counting {name}")
            row = statistics_table([name], data_root=options.data_root)[0]
            if row.broken:
                raise InputError(str(row.missing))
            if row.missing is None:
                kept.put(self.name, name, {fact: asdict(row)[fact] for fact in (*_FACTS, "fingerprint")})

    def make(self, results: Results, options: Options) -> Product:
        """A line a dataset."""
        rows = []
        counted: dict[str, list[str]] = {}
        for name in self._names(options):
            found: dict[str, Any] | None = results.kept.get(self.name, name)
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
        whole, signed = decimals(0), decimals(0, signed=True)
        columns = [Column("dataset", left=True), Column("state", left=True)]
        for fact in _FACTS:
            columns += [
                Column(fact, whole),
                Column(f"paper's {fact}", whole),
                Column(f"{fact} difference", signed),
            ]
        values = Table(self.title, tuple(columns), rows, tuple(notes))
        return Product(self.name, values, lines=_readable(values))

    def _names(self, options: Options) -> tuple[str, ...]:
        names = options.chosen_datasets(DATASETS)
        for name in names:
            if name not in CATALOG:
                raise InputError(f"table-datasets takes datasets of the catalog, got {name}; try postel diagnose")
        return names


def _readable(values: Table) -> Table:
    """Two numbers a column, ours and the paper's, and whether they agree."""
    rows = []
    for row in values.shown():
        pairs = [(row[place], row[place + 1], row[place + 2]) for place in range(2, len(row), 3)]
        told = [row[1]] if row[1] == NOT_RUN else ["; ".join(gap for *_, gap in pairs if gap not in ("+0", "–"))]
        agrees = told[0] or ("yes" if pairs[0][1] != "–" else "–")
        rows.append((row[0], *(f"{ours} / {theirs}" for ours, theirs, _ in pairs), agrees))
    heads = tuple(Column(fact) for fact in _FACTS)
    columns = (Column("dataset", left=True), *heads, Column("agree"))
    return Table(f"{values.title}, ours / paper", columns, rows, values.notes)


TARGET = TableDatasets()
