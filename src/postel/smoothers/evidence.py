"""What a posterior rests on: histograms, prior and conditional, gathered from the edges block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from postel.ego_statistics import count_ego_graphs
from postel.labels import KnownLabels
from postel.settings import PosteLSettings
from postel.statistics import (
    EdgeCounts,
    class_counts,
    conditional,
    count_edges,
    normalize_rows,
    normalized_conditional,
    prior,
)
from postel.weighted_statistics import weighted_counts

# Rows of soft labels made at a time: their temporaries stay in cache.
_ROWS = 1 << 12


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence of a block of nodes.

    Args:
        place: Where the block lies in the result.
        histograms: Labelled neighbors of each node by class, [R, K].
        prior: The prior, [K], or one per node, [R, K].
        conditional: The conditional, [K, K], or one per node, [R, K, K].
    """

    place: slice
    histograms: Tensor
    prior: Tensor
    conditional: Tensor


@dataclass(frozen=True, eq=False)
class GraphStatistics:
    """The statistics of a whole graph, and the histograms of the nodes that were asked for.

    Args:
        prior: Share of each class among the labelled nodes, float64 [K].
        conditional: P(neighbor's class | center's class), float64 [K, K].
        histograms: Labelled neighbors of each wanted node by class, [R, K].
    """

    prior: Tensor
    conditional: Tensor
    histograms: Tensor

    def blocks(self) -> list[Evidence]:
        """Return the evidence of all wanted nodes under the graph's own prior and conditional."""
        size = self.histograms.size(0)
        places = [slice(first, min(first + _ROWS, size)) for first in range(0, size, _ROWS)]
        return [Evidence(place, self.histograms[place], self.prior, self.conditional) for place in places]


def graph_statistics(
    edge_index: Tensor,
    known: KnownLabels,
    settings: PosteLSettings,
    rows: Tensor | None = None,
    edge_weight: Tensor | None = None,
) -> GraphStatistics:
    """Count the statistics of a graph in one pass over its edges.

    Args:
        edge_index: The edge entries [2, E], checked.
        known: The labels that may be used.
        settings: Which likelihood, which centers, and whether self-loops count.
        rows: The nodes whose histograms are wanted, [R]; all N without it.
        edge_weight: How often each entry counts [E], checked; once each without it.

    Returns:
        The statistics. With the ``"local"`` likelihood they are those of ``"edge"``: see :func:`local_evidence`.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
        >>> graph_statistics(edges, known, PosteLSettings()).conditional.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    device = edge_index.device
    shares = prior(class_counts(known)).to(device)

    def count(rows: Tensor | None, centers: str = "labelled") -> EdgeCounts:
        loops = settings.self_loops
        if edge_weight is None:
            return count_edges(edge_index, known, rows=rows, self_loops=loops, centers=centers)
        return weighted_counts(edge_index, edge_weight, known, rows=rows, self_loops=loops, centers=centers)[0]

    if settings.likelihood != "normalized":
        counts = count(rows, settings.centers)
        return GraphStatistics(shares, conditional(counts.pairs), counts.histograms)
    labelled = known.train_only() if settings.centers == "train" else known
    centers = labelled.index.to(device)
    needed = None if rows is None else torch.cat([centers, rows]).unique()
    histograms = count(needed).histograms
    chances = normalized_conditional(
        histograms[_places(centers, needed)], labelled.classes.to(device), known.num_classes
    )
    wanted = histograms if rows is None else histograms[_places(rows, needed)]
    return GraphStatistics(shares, chances, wanted)


def local_evidence(
    edge_index: Tensor,
    known: KnownLabels,
    settings: PosteLSettings,
    rows: Tensor | None,
    whole: GraphStatistics,
    edge_weight: Tensor | None = None,
) -> Iterator[Evidence]:
    """Yield evidence in which every node has the prior and conditional of its own ego graph.

    Args:
        edge_index: The edge entries [2, E], checked.
        known: The labels that may be used.
        settings: The radius ``hops``, which centers, and whether self-loops count.
        rows: The wanted nodes [R]; all N without it.
        whole: The graph's statistics, with the histograms of ``rows``.
        edge_weight: How often each entry counts [E], checked; once each without it.

    Yields:
        The evidence of one block of nodes after the other, in the order of ``rows``.
    """
    done = 0
    for egos in count_ego_graphs(
        edge_index,
        known,
        settings.hops,
        edge_weight=edge_weight,
        rows=rows,
        self_loops=settings.self_loops,
        centers=settings.centers,
    ):
        place = slice(done, done + egos.classes.size(0))
        done = place.stop
        empty = egos.classes.sum(dim=1, keepdim=True) == 0
        # An ego graph without labelled nodes says nothing of its own: the whole graph's prior stands in.
        shares = torch.where(empty, whole.prior, normalize_rows(egos.classes))
        yield Evidence(place, whole.histograms[place], shares, normalize_rows(egos.pairs))


def _places(nodes: Tensor, among: Tensor | None) -> Tensor:
    """Return where ``nodes`` stand in ``among``, which is sorted; the nodes themselves without it."""
    return nodes if among is None else torch.searchsorted(among, nodes)
