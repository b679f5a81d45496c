"""Measures of how labels lie on a graph, each a pure function of integer counts.

``pairs`` [K, K] counts entries by the classes of their two ends and ``histograms`` [N, K] the labelled neighbors
of each node by class (:func:`postel.statistics.count_edges`). On directed entries, the measures that are defined
for undirected graphs take each entry in both directions. A measure that is not defined is NaN.
"""

from __future__ import annotations

import torch
from torch import Tensor

from postel import statistics


def edge_homophily(pairs: Tensor) -> float:
    """Compute the share of entries whose two ends have the same class.

    Args:
        pairs: Entries by the classes of their ends, [K, K].

    Returns:
        The share.

    Example:
        >>> edge_homophily(torch.tensor([[1, 2], [2, 3]]))
        0.5
    """
    return _ratio(float(pairs.trace()), float(pairs.sum()))


def node_homophily(histograms: Tensor, y: Tensor) -> float:
    """Average over labelled nodes with labelled neighbors the share of these that has the node's class.

    Args:
        histograms: Labelled neighbors of each node by class, [N, K].
        y: The class of each node, int64 [N]; negative without one.

    Returns:
        The mean share.

    Example:
        >>> node_homophily(torch.tensor([[1, 1], [0, 2], [0, 0]]), torch.tensor([0, 1, 1]))
        0.75
    """
    totals = histograms.sum(dim=1)
    keep = (y >= 0) & (totals > 0)
    same = histograms[keep].gather(1, y[keep].view(-1, 1)).view(-1)
    return float((same.to(torch.float64) / totals[keep]).mean())


def class_homophily(pairs: Tensor) -> Tensor:
    """Compute for each class the share of its nodes' neighbors that have the class too.

    Args:
        pairs: Entries by the classes of their ends, [K, K].

    Returns:
        One share per class, float64 [K].

    Example:
        >>> class_homophily(torch.tensor([[1, 3], [3, 1]])).tolist()
        [0.25, 0.25]
    """
    return pairs.diagonal().to(torch.float64) / pairs.sum(dim=1)


def adjusted_homophily(pairs: Tensor) -> float:
    """Compute edge homophily less what random links between the same degrees would give (Platonov et al. 2023).

    With D_k the degrees of class k summed: ``(h - sum D_k^2 / (2E)^2) / (1 - sum D_k^2 / (2E)^2)``; 0 for links
    that do not look at classes, 1 if all neighbors share the class.

    Args:
        pairs: Entries by the classes of their ends, [K, K].

    Returns:
        The adjusted homophily.

    Example:
        >>> adjusted_homophily(torch.tensor([[2, 2], [2, 2]]))
        0.0
    """
    chance = float((_joint(pairs).sum(dim=1) ** 2).sum())
    return _ratio(edge_homophily(pairs) - chance, 1.0 - chance)


def label_informativeness(pairs: Tensor) -> float:
    """Compute the share of the uncertainty of a node's class that one neighbor's class removes.

    It is the label informativeness of Platonov et al. (2023): mutual information of the classes at the two ends of
    a random link over the entropy of either: 0 if the neighbor says nothing, 1 if it says all, be neighbors alike
    or not.

    Args:
        pairs: Entries by the classes of their ends, [K, K].

    Returns:
        The label informativeness.

    Example:
        >>> label_informativeness(torch.tensor([[0, 3], [3, 0]]))
        1.0
    """
    joint = _joint(pairs)
    entropy = float(torch.special.entr(joint.sum(dim=1)).sum())
    return _ratio(2 * entropy - float(torch.special.entr(joint).sum()), entropy)


def contrast(conditional: Tensor) -> float:
    """Average the total variation distance between the rows of the conditional over all pairs of classes.

    0 means that neighbors look the same around every class, so that they cannot tell classes apart.

    Args:
        conditional: P(neighbor's class | class), [K, K].

    Returns:
        The mean distance.

    Example:
        >>> contrast(torch.tensor([[0.8, 0.2], [0.2, 0.8]], dtype=torch.float64))
        0.6...
    """
    k = conditional.size(0)
    return float(torch.pdist(conditional, p=1).sum()) / (k * (k - 1))


def neighbor_pairs(histograms: Tensor, y: Tensor, num_classes: int) -> Tensor:
    """Count ordered pairs of two different neighbors by their classes, summed by the class of the node.

    Args:
        histograms: Labelled neighbors of each node by class, [N, K].
        y: The class of each node, int64 [N]; negative without one.
        num_classes: Number of classes.

    Returns:
        The counts, int64 [K, K, K].

    Example:
        >>> neighbor_pairs(torch.tensor([[2, 1]]), torch.tensor([0]), 2)[0].tolist()
        [[2, 2], [2, 0]]
    """
    return torch.stack([_pairs_of_neighbors(histograms[y == k]) for k in range(num_classes)])


def independence_gap(pairs: Tensor, of_two: Tensor) -> Tensor:
    """Compute the total variation between the joint of two neighbors' classes and the product of marginals.

    Row k compares ``P(m, n | k)`` of two neighbors of a class-k node with ``P(m | k) P(n | k)``, the paper's
    assumption (Eq. 2).

    Args:
        pairs: Entries by the classes of their ends, [K, K].
        of_two: Pairs of two neighbors, [K, K, K]: see :func:`neighbor_pairs`.

    Returns:
        One distance per class, float64 [K]: 0 where the assumption holds, NaN for a class none of whose nodes has
        two neighbors.

    Example:
        >>> of_two = torch.tensor([[[0, 1], [1, 0]], [[0, 0], [0, 0]]])
        >>> independence_gap(torch.tensor([[1, 1], [0, 1]]), of_two).tolist()
        [0.5, nan]
    """
    marginal = statistics.conditional(pairs)
    joint = of_two.to(torch.float64) / of_two.sum(dim=(1, 2), keepdim=True)
    return (joint - marginal[:, :, None] * marginal[:, None, :]).abs().sum(dim=(1, 2)) / 2


def independence_gaps(pairs: Tensor, histograms: Tensor, y: Tensor) -> Tensor:
    """Compute :func:`independence_gap` class by class, which takes [K, K] memory where that takes [K, K, K].

    Args:
        pairs: Entries by the classes of their ends, [K, K].
        histograms: Labelled neighbors of each node by class, [N, K].
        y: The class of each node, int64 [N]; negative without one.

    Returns:
        One distance per class, float64 [K].

    Example:
        >>> independence_gaps(torch.tensor([[1, 1], [0, 1]]), torch.tensor([[1, 1]]), torch.tensor([0])).tolist()
        [0.5, nan]
    """
    gaps = [
        independence_gap(pairs[k : k + 1], _pairs_of_neighbors(histograms[y == k])[None])
        for k in range(pairs.size(0))
    ]
    return torch.cat(gaps)


def _pairs_of_neighbors(histograms: Tensor) -> Tensor:
    counts = histograms.to(torch.int64)
    # A neighbor makes no pair with itself, hence the diagonal.
    return counts.T @ counts - torch.diag(counts.sum(dim=0))


def twin_nodes(edge_index: Tensor, y: Tensor) -> int:
    """Count nodes with the same label and the same two or more neighbors as another node: likely duplicates.

    Args:
        edge_index: The edge entries, int64 [2, E].
        y: The class of each node, int64 [N].

    Returns:
        The number of such nodes.

    Example:
        >>> twin_nodes(torch.tensor([[0, 0, 1, 1], [2, 3, 2, 3]]), torch.tensor([0, 0, 1, 1]))
        2
    """
    n = y.numel()
    entries = torch.unique(edge_index[0] * n + edge_index[1])
    ends = torch.searchsorted(entries, torch.arange(n + 1, device=entries.device) * n).tolist()
    listed, labels = (entries % n).cpu().numpy(), y.tolist()
    seen: dict[tuple[int, bytes], int] = {}
    for node, label in enumerate(labels):
        start, end = ends[node], ends[node + 1]
        if end - start >= 2:
            key = (label, listed[start:end].tobytes())
            seen[key] = seen.get(key, 0) + 1
    return sum(count for count in seen.values() if count > 1)


def _joint(pairs: Tensor) -> Tensor:
    both = (pairs + pairs.T).to(torch.float64)
    return both / both.sum()


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom else float("nan")
