"""Counts of labels over edges that weigh differently: an entry counts as often as its weight says.

Weights that are whole numbers give what repeated entries give, exactly: float64 adds whole numbers up exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.statistics import EdgeCounts

# Up to here float64 tells one more from one less.
_LARGEST_SUM = 2.0**53


def check_edge_weight(edge_weight: Any, num_entries: int) -> None:
    """Check that there is one weight per edge entry, and that weights can be counts.

    Args:
        edge_weight: The weights.
        num_entries: Number of edge entries, E.

    Raises:
        InputError: If they are no numbers [E], or one is negative, infinite or not a number.

    Example:
        >>> check_edge_weight(torch.tensor([1.0, -2.0]), 2)
        Traceback (most recent call last):
            ...
        postel.errors.InputError: edge_weight must hold numbers of at least 0, got -2.0
    """
    numeric = isinstance(edge_weight, Tensor) and edge_weight.dtype != torch.bool and not edge_weight.is_complex()
    if not numeric:
        got = edge_weight.dtype if isinstance(edge_weight, Tensor) else type(edge_weight).__name__
        raise InputError(f"edge_weight must be a tensor of numbers [E], got {got}")
    if tuple(edge_weight.shape) != (num_entries,):
        raise InputError(
            f"edge_weight must hold one number for each of {num_entries} edge entries, got shape "
            f"{list(edge_weight.shape)}"
        )
    if num_entries == 0:
        return
    values = edge_weight.to(torch.float64)
    if not bool(values.isfinite().all()):
        raise InputError("edge_weight must hold finite numbers, got a NaN or an infinity")
    if float(values.min()) < 0:
        raise InputError(f"edge_weight must hold numbers of at least 0, got {float(values.min())}")
    if float(values.sum()) > _LARGEST_SUM:
        raise InputError(f"edge_weight must add up to 2^53 at most, got {float(values.sum()):g}; scale it down")


def weighted_counts(
    edge_index: Tensor,
    edge_weight: Tensor,
    known: KnownLabels,
    *,
    rows: Tensor | None = None,
    self_loops: bool = False,
    centers: str = "labelled",
) -> tuple[EdgeCounts, Tensor]:
    """Add up the weights of edge entries by the classes of their ends, in expectation where there is evidence.

    Args:
        edge_index: Entries (i, j) that make j a neighbor of i [2, E], checked.
        edge_weight: How often each entry counts [E], checked.
        known: Training labels, with pseudo-labels or with a model's probabilities as ``evidence``.
        rows: The nodes whose histograms are wanted, int64 [R]; all N without it.
        self_loops: Whether a self-loop makes a node its own neighbor.
        centers: Which nodes are centers of pairs: all ``"labelled"`` ones, or ``"train"`` nodes only.

    Returns:
        The counts, float64, and for each wanted node the centers that have it as their neighbor, by class [R, K].

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
        >>> counts, reverse = weighted_counts(edges, torch.tensor([0.5, 2.0, 0.5, 2.0]), known)
        >>> counts.pairs.tolist(), counts.histograms.tolist()
        ([[0.0, 2.5], [2.5, 0.0]], [[0.0, 2.5], [0.5, 0.0], [2.0, 0.0]])
        >>> reverse.tolist()
        [[0.0, 2.5], [0.5, 0.0], [2.0, 0.0]]
    """
    device, n = edge_index.device, known.num_nodes
    center, neighbor = edge_index.cpu().numpy()
    weight = edge_weight.detach().to("cpu", torch.float64).numpy()
    if not self_loops:
        kept = center != neighbor
        center, neighbor, weight = center[kept], neighbor[kept], weight[kept]
    adjacency = sp.csr_array((weight, (center, neighbor)), shape=(n, n))
    of_neighbors = _table(known)
    of_centers = _only_training(of_neighbors, known) if centers == "train" else of_neighbors
    histograms = adjacency @ of_neighbors
    pairs = of_centers.T @ histograms
    reverse = adjacency.T @ of_centers
    if rows is not None:
        wanted = rows.cpu().numpy()
        histograms, reverse = histograms[wanted], reverse[wanted]
    on_device = [torch.from_numpy(_dense(part)).to(device) for part in (pairs, histograms, reverse)]
    return EdgeCounts(*on_device[:2]), on_device[2]


def _table(known: KnownLabels) -> Any:
    """The class of every node as a row [N, K]: sparse where labels are classes, dense where they are probable."""
    if known.evidence is not None:
        return known.evidence.detach().to("cpu", torch.float64).numpy()
    index, classes = known.index.cpu().numpy(), known.classes.cpu().numpy()
    return sp.csr_array((np.ones(index.size), (index, classes)), shape=(known.num_nodes, known.num_classes))


def _only_training(table: Any, known: KnownLabels) -> Any:
    chosen = np.zeros(known.num_nodes)
    chosen[known.train_only().index.cpu().numpy()] = 1.0
    return sp.diags_array(chosen).tocsr() @ table


def _dense(part: Any) -> Any:
    return np.ascontiguousarray(part if isinstance(part, np.ndarray) else part.toarray())
