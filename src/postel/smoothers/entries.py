"""Edge entries as methods that average over neighbors count them: centers, neighbors, weights and degrees."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import remove_self_loops


def neighbor_entries(
    edge_index: Tensor, self_loops: bool, edge_weight: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Split edge entries (i, j) into centers i and their neighbors j.

    Args:
        edge_index: The edge entries [2, E].
        self_loops: Whether self-loops are kept.
        edge_weight: How often each entry counts [E]; once each without it.

    Returns:
        Centers and neighbors, int64 [E] each, and their weights, float64 [E] or None.
    """
    edge_index = edge_index.to(torch.int64)
    weights = None if edge_weight is None else edge_weight.to(torch.float64)
    if not self_loops:
        edge_index, weights = remove_self_loops(edge_index, weights)
    return edge_index[0], edge_index[1], weights


def degrees(centers: Tensor, num_nodes: int, weights: Tensor | None = None) -> Tensor:
    """Count the neighbors of each node.

    Args:
        centers: The center of each entry, int64 [E].
        num_nodes: Number of nodes.
        weights: How often each entry counts, float64 [E]; once each without it.

    Returns:
        The counts, float64 [N]; 1 for a node without neighbors, so that they can divide.
    """
    if weights is None:
        return torch.bincount(centers, minlength=num_nodes).clamp(min=1).to(torch.float64)
    sums = torch.bincount(centers, weights, minlength=num_nodes)
    return sums.masked_fill(sums == 0, 1.0)
