"""How many seconds an epoch takes on this machine: measured on first use, then stored in the user's cache.

``postel reproduce --dry-run`` estimates from these rates how long a table or figure will take.
"""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from postel.datasets.catalog import CATALOG
from postel.datasets.load import local_file, read_dataset
from postel.datasets.sources import find_cache
from postel.datasets.storage.stored_graph import StoredGraph
from postel.errors import InputError
from postel.experiments.graphs import StudyGraph
from postel.experiments.provenance import provenance
from postel.experiments.running.execute import alone_on_one_thread
from postel.files import write_text
from postel.training import NodeClassifier

# Roughly how long one measurement takes, in seconds; slower networks have at least this many epochs.
_TURN, _EPOCHS = 0.3, (3, 100)
_TURNS = 2

# The size of the random graph that stands in for a missing dataset of unknown size, and its share of non-zeros.
_UNKNOWN_SIZE = (2_000, 10_000, 1_000, 5)
_DENSITY = 0.02


@dataclass(frozen=True)
class Rate:
    """How long an epoch takes on this machine, training and evaluation, on one thread.

    Attributes:
        seconds: Seconds per epoch.
        stand_in: Whether a random graph of the dataset's published size was measured, the dataset being missing.
        day: The day of the measurement, as in 2026-01-31.
        validation: Validation nodes of the first split; 0 where an earlier release has not stored them.
    """

    seconds: float
    stand_in: bool
    day: str
    validation: int = 0


class EpochRates:
    """The rates of datasets and backbones on this machine.

    A pair is measured over a few epochs when it is first needed. Rates are stored in one small file by machine and
    versions, so that the next lookup costs nothing; a file that cannot be read or written is not an error.

    Args:
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None. Nothing is downloaded.
        path: The file that stores the rates; ``epoch-rates.json`` in the user's cache if None.
        on_measure: Called with dataset and backbone before a measurement.
    """

    def __init__(
        self,
        data_root: str | None = None,
        *,
        path: Path | None = None,
        on_measure: Callable[[str, str], None] | None = None,
    ) -> None:
        self.path = find_cache() / "epoch-rates.json" if path is None else path
        self._data_root = data_root
        self._on_measure = on_measure
        self._graphs: dict[str, tuple[StudyGraph, bool]] = {}

    def __call__(self, dataset: str, backbone: str) -> Rate:
        """Return the rate of a backbone on a dataset.

        Args:
            dataset: A name of the catalog, or the path of a graph file.
            backbone: A backbone's name.

        Returns:
            The rate, from the file or measured now.

        Raises:
            InputError: If the dataset's file does not match its fingerprint.
        """
        graph, stand_in = self._graph(dataset)
        key = f"{dataset} {graph.read.fingerprint} {backbone}"
        stored = self._stored().get(machine(), {}).get(key)
        if stored is not None:
            return Rate(**stored)
        if self._on_measure is not None:
            self._on_measure(dataset, backbone)
        today, mask = datetime.date.today().isoformat(), graph.split(0).val_mask
        rate = Rate(measure_epoch(graph, backbone), stand_in, today, 0 if mask is None else int(mask.sum()))
        self._store(key, rate)
        return rate

    def _graph(self, dataset: str) -> tuple[StudyGraph, bool]:
        if dataset not in self._graphs:
            self._graphs = {dataset: _graph_or_stand_in(dataset, self._data_root)}
        return self._graphs[dataset]

    def _stored(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _store(self, key: str, rate: Rate) -> None:
        every = self._stored()
        every.setdefault(machine(), {})[key] = asdict(rate)
        try:
            write_text(self.path, json.dumps(every, indent=1, sort_keys=True) + "\n")
        except (InputError, OSError):
            return


def measure_epoch(graph: StudyGraph, backbone: str) -> float:
    """Measure how many seconds an epoch of a backbone with its default settings takes on one thread.

    Args:
        graph: The graph; its first paper split is trained on.
        backbone: A backbone's name.

    Returns:
        Seconds per epoch, the faster of two measurements.

    Example:
        >>> from postel.experiments.graphs import study_graph
        >>> 0 < measure_epoch(study_graph("karate"), "gcn") < 1
        True
    """
    data = graph.split(0)

    def turn(epochs: int) -> float:
        entry = NodeClassifier(backbone, max_epochs=epochs).fit(data).history_[0]
        return entry.seconds / entry.epochs

    with alone_on_one_thread():
        turn(1)  # operators and transposes are made once for all
        rough = turn(_EPOCHS[0])
        epochs = int(min(max(_TURN / rough, _EPOCHS[0]), _EPOCHS[1]))
        return min(turn(epochs) for _ in range(_TURNS))


def machine() -> str:
    """Return what rates depend on beside dataset and backbone: host, processor and versions, as one line."""
    made_by = provenance()
    versions = ", ".join(f"{name} {made_by[name]}" for name in ("postel", "torch", "python"))
    return f"{made_by['host']}, {_processor()}, {versions}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _graph_or_stand_in(dataset: str, data_root: str | None) -> tuple[StudyGraph, bool]:
    entry = CATALOG.get(dataset.lower())
    embedded = entry is not None and entry.sources == ("embedded",)
    if entry is None or embedded or local_file(dataset, data_root=data_root) is not None:
        return StudyGraph(read_dataset(dataset, data_root=data_root, network=False)), False
    paper = entry.paper
    size = (paper.nodes, paper.edges, paper.features, paper.classes) if paper else _UNKNOWN_SIZE
    return StudyGraph(read_dataset(_random_graph(*size))), True


def _random_graph(nodes: int, edges: int, features: int, classes: int) -> StoredGraph:
    random = np.random.default_rng(0)
    ends = random.integers(0, nodes, (2, edges))
    x = scipy.sparse.random_array((nodes, features), density=_DENSITY, format="csr", rng=random)
    return StoredGraph.checked(x, np.concatenate([ends, ends[::-1]], axis=1), np.arange(nodes) % classes)
