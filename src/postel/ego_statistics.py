"""Class and pair counts of every node's H-hop ego graph, for the ``local`` likelihood.

The ego graph of i holds i, the nodes that can be reached from i over at most H entries, and the entries between
them. Its labelled nodes give i's own prior, its entries between labelled nodes i's own conditional.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from postel.labels import KnownLabels

# Members of ego graphs, or entries of their pair counts, held at a time: bounds memory whatever the degrees are.
_HELD = 1 << 22


@dataclass(frozen=True, eq=False)
class EgoCounts:
    """Counts of a batch of ego graphs.

    Args:
        classes: Labelled nodes of each ego graph by class, int64 [R, K].
        pairs: Its entries by the classes of center and neighbor, int64 [R, K, K]; float64 where entries weigh
            differently.
    """

    classes: Tensor
    pairs: Tensor


def count_ego_graphs(
    edge_index: Tensor,
    known: KnownLabels,
    hops: int,
    *,
    edge_weight: Tensor | None = None,
    rows: Tensor | None = None,
    self_loops: bool = False,
    centers: str = "labelled",
) -> Iterator[EgoCounts]:
    """Count the ego graphs of nodes, a batch of nodes at a time.

    Args:
        edge_index: The edge entries [2, E], checked.
        known: The labels; neighbors are always labelled nodes.
        hops: Radius of the ego graphs.
        edge_weight: How often each entry counts [E], checked; once each without it. An entry of weight 0 leads
            nowhere.
        rows: The nodes whose ego graphs are wanted, int64 [R]; all N without it.
        self_loops: Whether a self-loop makes a node its own neighbor.
        centers: Which nodes are centers of ``pairs``: all ``"labelled"`` ones, or ``"train"`` nodes only.

    Yields:
        The counts of one batch after the other, in the order of ``rows``.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
        >>> counts = next(count_ego_graphs(edges, known, hops=1))
        >>> counts.classes.tolist()
        [[1, 1], [1, 2], [0, 2]]
        >>> counts.pairs[0].tolist()
        [[0, 1], [1, 0]]
    """
    device, n, k = edge_index.device, known.num_nodes, known.num_classes
    center, neighbor = edge_index.cpu().numpy()
    weight = None if edge_weight is None else edge_weight.detach().to("cpu", torch.float64).numpy()
    kept = np.ones(center.size, dtype=bool) if self_loops else center != neighbor
    if weight is not None:
        kept &= weight > 0
        weight = weight[kept]
    center, neighbor = center[kept], neighbor[kept]
    wanted = np.arange(n) if rows is None else rows.cpu().numpy()
    labels = known.dense().cpu().numpy()
    center_labels = (known.train_only() if centers == "train" else known).dense().cpu().numpy()
    reach = _adjacency(center, neighbor, n)
    reach.data[:] = 1
    # into[m] leads from neighbors of class m to their labelled centers, with repeated entries counted.
    into = []
    for m in range(k):
        chosen = (labels[neighbor] == m) & (center_labels[center] >= 0)
        into.append(_adjacency(neighbor[chosen], center[chosen], n, None if weight is None else weight[chosen]))

    for first, last in pairwise(_batches(reach, wanted, hops, k)):
        members = _ego_members(reach, wanted[first:last], hops)
        classes = _sum_by_class(members, labels, k)
        pairs = np.zeros((last - first, k, k), dtype=np.int64 if weight is None else np.float64)
        for m in range(k):
            if into[m].nnz:
                pairs[:, :, m] = _sum_by_class((members @ into[m]).multiply(members).tocsr(), center_labels, k)
        yield EgoCounts(torch.from_numpy(classes).to(device), torch.from_numpy(pairs).to(device))


def _adjacency(rows: np.ndarray, columns: np.ndarray, n: int, weight: np.ndarray | None = None) -> sp.csr_array:
    values = np.ones(rows.size, dtype=np.int32) if weight is None else weight
    return sp.csr_array((values, (rows, columns)), shape=(n, n))


def _batches(reach: sp.csr_array, wanted: np.ndarray, hops: int, k: int) -> list[int]:
    """Cut ``wanted`` into batches; the number of walks bounds the number of members of an ego graph."""
    n = reach.shape[0]
    members = np.ones(n)
    for _ in range(hops):
        members = np.minimum(1 + reach @ members, n)
    batch = np.cumsum(np.maximum(members[wanted], k * k)) // _HELD
    return [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), wanted.size]


def _ego_members(reach: sp.csr_array, rows: np.ndarray, hops: int) -> sp.csr_array:
    """Return the members of the ego graphs of ``rows``, ones in a sparse [R, N]."""
    n = reach.shape[0]
    members = sp.csr_array(
        (np.ones(rows.size, dtype=np.int32), rows, np.arange(rows.size + 1)), shape=(rows.size, n)
    )
    for _ in range(hops):
        members = members + members @ reach
        members.data[:] = 1
    return members


def _sum_by_class(values: sp.csr_array, labels: np.ndarray, k: int) -> np.ndarray:
    """Sum ``values`` [R, N] over the labelled columns of each class, [R, K], int64 where they are integers."""
    columns = labels[values.indices]
    codes = np.repeat(np.arange(values.shape[0]) * k, np.diff(values.indptr)) + columns
    known = columns >= 0
    sums = np.bincount(codes[known], weights=values.data[known], minlength=values.shape[0] * k)
    sums = sums if values.dtype.kind == "f" else sums.astype(np.int64)
    return sums.reshape(values.shape[0], k)
