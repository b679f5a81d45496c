"""Adjacency operators: each a pure function of the edges, equal to what torch_geometric's layers multiply with.

Messages flow from the first to the second node of an edge entry, so row i of an operator weighs the sources of the
entries (j, i). Repeated entries count each time.
"""

from __future__ import annotations

import torch
from torch import Tensor

from postel.graph.sparse import SparseMatrix


def without_self_loops(edge_index: Tensor) -> tuple[Tensor, Tensor]:
    """Return the entries that join two different nodes.

    Args:
        edge_index: The entries, int64 [2, E].

    Returns:
        Their sources and their targets.

    Example:
        >>> [part.tolist() for part in without_self_loops(torch.tensor([[0, 1, 1], [1, 1, 0]]))]
        [[0, 1], [1, 0]]
    """
    source, target = edge_index[0], edge_index[1]
    keep = source != target
    return source[keep], target[keep]


def gcn_operator(edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    """Return D^-1/2 (A + I) D^-1/2, every node with exactly one self-loop; degrees are of incoming entries.

    Args:
        edge_index: The entries, int64 [2, E].
        num_nodes: Number of nodes N.

    Returns:
        The operator [N, N].

    Example:
        >>> operator = gcn_operator(torch.tensor([[0, 1], [1, 0]]), 2)
        >>> (operator @ torch.eye(2)).round(decimals=4).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    source, target = without_self_loops(edge_index)
    nodes = torch.arange(num_nodes, device=edge_index.device)
    source, target = torch.cat([source, nodes]), torch.cat([target, nodes])
    scale = _inverse_root(torch.bincount(target, minlength=num_nodes))
    return _operator(source, target, scale[source] * scale[target], num_nodes)


def adjacency_operator(edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    """Return D^-1/2 A D^-1/2 without self-loops; degrees are of outgoing entries, and 0 weighs 0.

    The symmetric Laplacian is I minus this; the scaled one of ChebNet is minus this.

    Args:
        edge_index: The entries, int64 [2, E].
        num_nodes: Number of nodes N.

    Returns:
        The operator [N, N].

    Example:
        >>> (adjacency_operator(torch.tensor([[0, 1], [1, 0]]), 3) @ torch.eye(3)).tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _operator(*_adjacency_entries(edge_index, num_nodes), num_nodes)


def bernstein_operators(edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, SparseMatrix]:
    """Return the Laplacian L = I - D^-1/2 A D^-1/2, and 2I - L.

    Args:
        edge_index: The entries, int64 [2, E].
        num_nodes: Number of nodes N.

    Returns:
        Both operators [N, N].

    Example:
        >>> low, high = bernstein_operators(torch.tensor([[0, 1], [1, 0]]), 2)
        >>> (low @ torch.eye(2)).tolist(), (high @ torch.eye(2)).tolist()
        ([[1.0, -1.0], [-1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]])
    """
    source, target, weights = _adjacency_entries(edge_index, num_nodes)
    nodes = torch.arange(num_nodes, device=edge_index.device)
    source, target = torch.cat([source, nodes]), torch.cat([target, nodes])
    ones = torch.ones(num_nodes, device=edge_index.device)
    return (
        _operator(source, target, torch.cat([-weights, ones]), num_nodes),
        _operator(source, target, torch.cat([weights, ones]), num_nodes),
    )


def mean_operator(edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    """Return D^-1 A without self-loops, the random walk: the mean over neighbors, 0 for a node without any.

    Args:
        edge_index: The entries, int64 [2, E].
        num_nodes: Number of nodes N.

    Returns:
        The operator [N, N].

    Example:
        >>> (mean_operator(torch.tensor([[0, 1, 2], [1, 0, 1]]), 3) @ torch.eye(3)).tolist()
        [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
    """
    source, target = without_self_loops(edge_index)
    degree = torch.bincount(target, minlength=num_nodes).to(torch.float32)
    return _operator(source, target, degree.reciprocal()[target], num_nodes)


def _adjacency_entries(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    source, target = without_self_loops(edge_index)
    scale = _inverse_root(torch.bincount(source, minlength=num_nodes))
    return source, target, scale[source] * scale[target]


def _operator(source: Tensor, target: Tensor, weights: Tensor, num_nodes: int) -> SparseMatrix:
    return SparseMatrix.from_entries(target, source, weights, (num_nodes, num_nodes), source.device)


def _inverse_root(degree: Tensor) -> Tensor:
    root = degree.to(torch.float32).pow(-0.5)
    return root.masked_fill(degree == 0, 0.0)
