"""The paper's table of dataset statistics, computed from the data, with the paper's figures beside them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import torch

from postel.datasets.catalog import CATALOG, Counting, Entry, PaperFigures
from postel.datasets.recipes import apply_recipe
from postel.datasets.sources import NotAtHandError, obtain
from postel.datasets.storage.stored_graph import StoredGraph
from postel.errors import InputError


@dataclass(frozen=True)
class Row:
    """One dataset: what its data say, and what the paper says.

    Args:
        name: Its name.
        about: What it is.
        graph: What the paper's recipe makes of its edges.
        counting: How edges are counted.
        nodes: Number of nodes; like the next three None where the data are not at hand.
        edges: Number of edges.
        features: Number of features per node.
        classes: Number of classes.
        paper: The paper's figures.
        fingerprint: What names the stored graph.
        splits: Protocols of the splits that came with it.
        warning: What users must be told.
        missing: Why the data are not at hand.
        broken: Whether data are there and wrong.
    """

    name: str
    about: str
    graph: str
    counting: Counting
    nodes: int | None = None
    edges: int | None = None
    features: int | None = None
    classes: int | None = None
    paper: PaperFigures | None = None
    fingerprint: str | None = None
    splits: tuple[str, ...] = ()
    warning: str | None = None
    missing: str | None = None
    broken: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether data and paper say the same; None where one of them says nothing."""
        if self.paper is None or self.nodes is None:
            return None
        paper = self.paper
        return (self.nodes, self.edges, self.features, self.classes) == (
            paper.nodes,
            paper.edges,
            paper.features,
            paper.classes,
        )


def statistics_table(
    names: list[str] | None = None, *, data_root: str | os.PathLike[str] | None = None
) -> list[Row]:
    """Compute the statistics of datasets from data that are at hand: nothing is downloaded.

    Args:
        names: Names of the catalog; all of them without it.
        data_root: The folder of graph files; ``POSTEL_DATA`` without it.

    Returns:
        One row per dataset.

    Example:
        >>> [(row.nodes, row.edges, row.classes) for row in statistics_table(["karate"])]
        [(34, 78, 4)]
    """
    return [_row(CATALOG[name], data_root) for name in names or CATALOG]


def count_edges(graph: StoredGraph, entry: Entry, counting: Counting) -> int:
    """Count the edges of a graph under the paper's recipe.

    Args:
        graph: The stored graph.
        entry: Its entry in the catalog.
        counting: What counts as an edge: a key of ``COUNTING``.

    Returns:
        The number of edges.

    Example:
        >>> import numpy as np
        >>> graph = StoredGraph.checked(np.eye(3), [[0, 1, 2], [1, 0, 2]], [0, 1, 1])
        >>> [count_edges(graph, CATALOG["karate"], way) for way in ("pairs", "half", "entries")]
        [1, 1, 3]
    """
    edges, _ = apply_recipe(torch.from_numpy(graph.edge_index), graph.num_nodes, "paper", entry.symmetrize)
    if counting == "entries":
        return edges.size(1)
    if counting == "half":
        return edges.size(1) // 2
    low, high = edges.amin(dim=0), edges.amax(dim=0)
    return torch.unique((low * graph.num_nodes + high)[low != high]).numel()


def _row(entry: Entry, data_root: str | os.PathLike[str] | None) -> Row:
    counting: Counting = entry.paper.counting if entry.paper is not None else "pairs"
    row = Row(entry.name, entry.about, entry.graph, counting, paper=entry.paper, warning=entry.warning)
    try:
        graph = obtain(entry, data_root=data_root, network=False, prepare=False).graph
    except InputError as error:
        return replace(row, missing=str(error), broken=not isinstance(error, NotAtHandError))
    return replace(
        row,
        nodes=graph.num_nodes,
        edges=count_edges(graph, entry, counting),
        features=graph.num_features,
        classes=graph.num_classes,
        fingerprint=graph.fingerprint(),
        splits=tuple(sorted(graph.splits)),
    )
