"""Where the numbers of a report come from: graphs, versions, failed runs, and what must be known of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postel.datasets.catalog import CATALOG
from postel.experiments.running.execute import Row
from postel.paper.names import dataset_label
from postel.report.cells import StudyCell


@dataclass(frozen=True)
class Graph:
    """A dataset of the study: which graph it was, and whether it is the catalog's."""

    title: str
    fingerprint: str
    known: str
    about: str
    warning: str


def graphs_of(cells: Sequence[StudyCell]) -> list[Graph]:
    """The graphs of the cells, in order of appearance."""
    pairs = dict.fromkeys((cell.dataset, row["spec"]["fingerprint"]) for cell in cells for row in cell.rows)
    return [_graph(dataset, fingerprint) for dataset, fingerprint in pairs]


def versions_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Names of packages and the versions that made the rows; machines are counted, not named.

    >>> versions_of([{"made_by": {"torch": "2.6", "host": "a"}}, {"made_by": {"torch": "2.7", "host": "a"}}])
    [('torch', '2.6, 2.7'), ('machines', '1')]
    """
    found: dict[str, list[str]] = {}
    for row in rows:
        for name, version in row["made_by"].items():
            seen = found.setdefault(name, [])
            if version not in seen:
                seen.append(version)
    machines = found.pop("host", [])
    told = [(name, ", ".join(sorted(versions))) for name, versions in found.items()]
    return [*told, ("machines", str(len(machines)))] if machines else told


def failures_told(failures: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What failed and the last line of why, for the runs that a store holds as failed.

    >>> spec = {"dataset": "texas", "split": 3, "backbone": "gcn", "method": {"name": "als", "params": {}}}
    >>> failures_told([{"spec": spec, "traceback": "Traceback ...\\nValueError: no"}])
    [('texas, split 3, gcn, als', 'ValueError: no')]
    """
    told = []
    for failure in failures:
        spec = failure["spec"]
        what = f"{spec['dataset']}, split {spec['split']}, {spec['backbone']}, {spec['method']['name']}"
        lines = str(failure.get("traceback", "")).strip().splitlines()
        told.append((what, lines[-1] if lines else "no reason was kept"))
    return told


def _graph(dataset: str, fingerprint: str) -> Graph:
    entry = CATALOG.get(dataset)
    if entry is None:
        known = "a graph file of the user's"
    else:
        known = "the catalog's" if entry.fingerprint in (None, fingerprint) else "another than the catalog's"
    about = "" if entry is None else entry.about
    warning = "" if entry is None or entry.warning is None else entry.warning
    return Graph(dataset_label(dataset), fingerprint, known, about, warning)
