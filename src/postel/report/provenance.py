"""Where the numbers of a page come from: graphs and their warnings, versions, and failed runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from postel.datasets.catalog import CATALOG
from postel.experiments.results import Cell, Failure, Row
from postel.paper.names import dataset_label


@dataclass(frozen=True)
class Graph:
    """A dataset of a study: which graph it was, and whether it is the catalog's.

    Args:
        title: The dataset's label.
        fingerprint: The graph's fingerprint.
        known: Whether it is the catalog's graph, in words.
        about: What the catalog says about it.
        warning: What a reader must know about it; usually empty.
    """

    title: str
    fingerprint: str
    known: str
    about: str
    warning: str


def graphs_of(cells: Iterable[Cell]) -> list[Graph]:
    """Return the graphs that cells were run on, in order of appearance.

    Args:
        cells: Cells with their rows.

    Returns:
        One entry per dataset and fingerprint.
    """
    pairs = dict.fromkeys((row.spec.dataset, row.spec.fingerprint) for cell in cells for row in cell.rows)
    return [_graph(dataset, fingerprint) for dataset, fingerprint in pairs]


def versions_of(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """Return the versions that made the rows; machines are counted, not named.

    Args:
        rows: The runs of a study.

    Returns:
        Names of packages with their versions, and the number of machines.
    """
    found: dict[str, set[str]] = {}
    for row in rows:
        for name, version in row.made_by.items():
            found.setdefault(name, set()).add(version)
    machines = found.pop("host", set())
    versions = [(name, ", ".join(sorted(seen))) for name, seen in found.items()]
    return [*versions, ("machines", str(len(machines)))] if machines else versions


def failures_in_words(failures: Iterable[Failure]) -> list[tuple[str, str]]:
    """Describe failed runs, one line each.

    Args:
        failures: The runs that a store holds as failed.

    Returns:
        What was run, and the last line of the traceback.
    """
    described = []
    for failure in failures:
        spec = failure.spec
        what = f"{spec.dataset}, split {spec.split}, {spec.backbone}, {spec.method.name}"
        described.append((what, failure.reason))
    return described


def _graph(dataset: str, fingerprint: str) -> Graph:
    entry = CATALOG.get(dataset)
    if entry is None:
        return Graph(dataset_label(dataset), fingerprint, "a graph file of the user's", "", "")
    known = "the catalog's" if entry.fingerprint in (None, fingerprint) else "another than the catalog's"
    return Graph(dataset_label(dataset), fingerprint, known, entry.about, entry.warning or "")
