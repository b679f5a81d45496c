"""The graphs of a study: each process reads, checks and prepares a graph once, and its splits share it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from postel.datasets.catalog import Entry
from postel.datasets.load import ReadDataset, local_file, open_graph, under_recipe
from postel.datasets.splits import check_protocol
from postel.datasets.storage.stored_graph import StoredGraph, masks_fingerprint
from postel.graph import Graph, LabelledGraph, prepare

# A study goes through its datasets one after another; more would only fill the memory.
_CACHED = 2

# A file's path, time of its last change in nanoseconds, and size.
_Stamp = tuple[str, int, int] | None


@dataclass(frozen=True, eq=False)
class StudyGraph:
    """A dataset under one recipe, prepared for any number of runs.

    Args:
        read: The dataset as it was read.

    Example:
        >>> karate = study_graph("karate")
        >>> karate.split(0).graph is karate.split(1).graph, study_graph("karate") is karate
        (True, True)
    """

    read: ReadDataset

    @functools.cached_property
    def graph(self) -> Graph:
        """The prepared graph, on the CPU; it is made on first use and then reused with its operators."""
        return prepare(SimpleNamespace(x=self.read.x, edge_index=self.read.edge_index, y=self.read.y))

    def split(self, split: int, protocol: str = "paper") -> LabelledGraph:
        """Return the graph with the masks of a split.

        Args:
            split: The number of the split.
            protocol: How nodes are split; one of ``postel.datasets.PROTOCOLS``.

        Returns:
            What ``NodeClassifier.fit`` takes; it shares the prepared graph with all other splits.

        Raises:
            InputError: If there is no such protocol or split.
        """
        masks = self.read.masks(split, protocol)
        stored = self.read.stored
        return LabelledGraph(
            self.graph,
            self.read.y,
            self.read.num_classes,
            masks["train_mask"],
            masks["val_mask"],
            masks["test_mask"],
            stored.class_names or None,
            stored.feature_names or None,
            self.read.edge_weight,
        )


def study_graph(dataset: str, data_root: str | None = None, recipe: str = "paper") -> StudyGraph:
    """Return a dataset ready for runs; the next run of this process reuses it unless its file has changed.

    Args:
        dataset: A name of the catalog, or the path of a graph file.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.
        recipe: ``"paper"`` or ``"sound"``.

    Returns:
        The shared graph.

    Raises:
        InputError: If there is no such dataset, or its file does not match its fingerprint.
    """
    graph = _study_graph(dataset, data_root, recipe, _stamp(dataset, data_root))
    graph.read.warn()
    return graph


def graph_of(dataset: str, data_root: str | None = None) -> StoredGraph:
    """Return the stored graph of a dataset, shared with the runs of this process.

    Args:
        dataset: A name of the catalog, or the path of a graph file.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        The graph before any recipe.

    Raises:
        InputError: If there is no such dataset, or its file does not match its fingerprint.
    """
    return _stored(dataset, data_root, _stamp(dataset, data_root))[0]


def run_fingerprint(dataset: str, protocol: str, data_root: str | None = None) -> str:
    """Return the fingerprint of a run's data: that of the graph, and of its splits if they are the user's own.

    Generated splits follow from the graph, and published ones of the catalog are checked when they are read: the
    graph alone identifies their runs.

    Args:
        dataset: A name of the catalog, or the path of a graph file.
        protocol: How nodes are split.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        The graph's fingerprint, followed by a plus sign and that of its splits if they come from the user's file.

    Raises:
        InputError: If there is no such protocol.
    """
    check_protocol(protocol)
    return _run_fingerprint(dataset, data_root, protocol, _stamp(dataset, data_root))


@functools.lru_cache(maxsize=8)
def _run_fingerprint(dataset: str, data_root: str | None, protocol: str, stamp: _Stamp) -> str:
    graph, entry = _stored(dataset, data_root, stamp)
    masks = graph.splits.get(protocol)
    if masks is None or protocol in entry.splits:
        return graph.fingerprint()
    return f"{graph.fingerprint()}+{masks_fingerprint(masks)}"


def _stamp(dataset: str, data_root: str | None) -> _Stamp:
    path = local_file(dataset, data_root=data_root)
    if path is None:
        return None
    state = path.stat()
    return str(Path(path).resolve()), state.st_mtime_ns, state.st_size


@functools.lru_cache(maxsize=_CACHED)
def _stored(dataset: str, data_root: str | None, stamp: _Stamp) -> tuple[StoredGraph, Entry]:
    return open_graph(dataset, data_root=data_root)


@functools.lru_cache(maxsize=_CACHED)
def _study_graph(dataset: str, data_root: str | None, recipe: str, stamp: _Stamp) -> StudyGraph:
    return StudyGraph(under_recipe(*_stored(dataset, data_root, stamp), recipe))
