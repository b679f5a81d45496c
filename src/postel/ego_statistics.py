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
    """Counts of a batch of ego graphs: ``classes`` [R, K] and ``pairs`` [R, K, K], int64."""

    classes: Tensor
    pairs: Tensor


def count_ego_graphs(
    edge_index: Tensor,
    known: KnownLabels,
    hops: int,
    *,
    rows: Tensor | None = None,
    self_loops: bool = False,
    centers: str = "labelled",
) -> Iterator[EgoCounts]:
    """Counts over ego graphs, a batch of nodes at a time, in the order of ``rows`` (all N without it).

    >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
    >>> counts = next(count_ego_graphs(edges, known, hops=1))
    >>> counts.classes.tolist()
    [[1, 1], [1, 2], [0, 2]]
    >>> counts.pairs[0].tolist()
    [[0, 1], [1, 0]]
    """
    device, n, k = edge_index.device, known.num_nodes, known.num_classes
    sources, targets = edge_index.cpu().numpy()
    if not self_loops:
        keep = sources != targets
        sources, targets = sources[keep], targets[keep]
    wanted = np.arange(n) if rows is None else rows.cpu().numpy()
    labels = known.dense().cpu().numpy()
    center_labels = (known.train_only() if centers == "train" else known).dense().cpu().numpy()
    reach = _adjacency(sources, targets, n)
    reach.data[:] = 1
    # into[m] leads from neighbors of class m to their labelled centres, with repeated entries counted.
    into = []
    for m in range(k):
        chosen = (labels[targets] == m) & (center_labels[sources] >= 0)
        into.append(_adjacency(targets[chosen], sources[chosen], n))

    for first, last in pairwise(_batches(reach, wanted, hops, k)):
        members = _ego_members(reach, wanted[first:last], hops)
        classes = _sum_by_class(members, labels, k)
        pairs = np.zeros((last - first, k, k), dtype=np.int64)
        for m in range(k):
            if into[m].nnz:
                pairs[:, :, m] = _sum_by_class((members @ into[m]).multiply(members).tocsr(), center_labels, k)
        yield EgoCounts(torch.from_numpy(classes).to(device), torch.from_numpy(pairs).to(device))


def _adjacency(sources: np.ndarray, targets: np.ndarray, n: int) -> sp.csr_array:
    return sp.csr_array((np.ones(sources.size, dtype=np.int32), (sources, targets)), shape=(n, n))


def _batches(reach: sp.csr_array, wanted: np.ndarray, hops: int, k: int) -> list[int]:
    """Cuts of ``wanted`` into batches; the number of walks bounds the number of members of an ego graph."""
    n = reach.shape[0]
    members = np.ones(n)
    for _ in range(hops):
        members = np.minimum(1 + reach @ members, n)
    batch = np.cumsum(np.maximum(members[wanted], k * k)) // _HELD
    return [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), wanted.size]


def _ego_members(reach: sp.csr_array, rows: np.ndarray, hops: int) -> sp.csr_array:
    """Membership in the ego graphs of ``rows``, ones in a sparse [R, N]."""
    n = reach.shape[0]
    members = sp.csr_array(
        (np.ones(rows.size, dtype=np.int32), rows, np.arange(rows.size + 1)), shape=(rows.size, n)
    )
    for _ in range(hops):
        members = members + members @ reach
        members.data[:] = 1
    return members


def _sum_by_class(values: sp.csr_array, labels: np.ndarray, k: int) -> np.ndarray:
    """Sums of ``values`` [R, N] over the labelled columns of each class, int64 [R, K]."""
    columns = labels[values.indices]
    codes = np.repeat(np.arange(values.shape[0]) * k, np.diff(values.indptr)) + columns
    known = columns >= 0
    sums = np.bincount(codes[known], weights=values.data[known], minlength=values.shape[0] * k)
    return sums.astype(np.int64).reshape(values.shape[0], k)
