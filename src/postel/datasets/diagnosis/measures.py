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
    """Share of entries whose two ends have the same class.

    >>> edge_homophily(torch.tensor([[1, 2], [2, 3]]))
    0.5
    """
    return _ratio(float(pairs.trace()), float(pairs.sum()))


def node_homophily(histograms: Tensor, y: Tensor) -> float:
    """Mean over labelled nodes with labelled neighbors of the share that has the node's class.

    >>> node_homophily(torch.tensor([[1, 1], [0, 2], [0, 0]]), torch.tensor([0, 1, 1]))
    0.75
    """
    totals = histograms.sum(dim=1)
    keep = (y >= 0) & (totals > 0)
    same = histograms[keep].gather(1, y[keep].view(-1, 1)).view(-1)
    return float((same.to(torch.float64) / totals[keep]).mean())


def class_homophily(pairs: Tensor) -> Tensor:
    """For each class, the share of its nodes' neighbors that have the class too, float64 [K].

    >>> class_homophily(torch.tensor([[1, 3], [3, 1]])).tolist()
    [0.25, 0.25]
    """
    return pairs.diagonal().to(torch.float64) / pairs.sum(dim=1)


def adjusted_homophily(pairs: Tensor) -> float:
    """Edge homophily less what random links between the same degrees would give (Platonov et al. 2023).

    With D_k the degrees of class k summed: ``(h - sum D_k^2 / (2E)^2) / (1 - sum D_k^2 / (2E)^2)``; 0 for links
    that do not look at classes, 1 if all neighbors share the class.

    >>> adjusted_homophily(torch.tensor([[2, 2], [2, 2]]))
    0.0
    """
    chance = float((_joint(pairs).sum(dim=1) ** 2).sum())
    return _ratio(edge_homophily(pairs) - chance, 1.0 - chance)


def label_informativeness(pairs: Tensor) -> float:
    """Share of the uncertainty of a node's class that one neighbor's class removes (Platonov et al. 2023).

    Mutual information of the classes at the two ends of a random link over the entropy of either: 0 if the
    neighbor says nothing, 1 if it says all, be neighbors alike or not.

    >>> label_informativeness(torch.tensor([[0, 3], [3, 0]]))
    1.0
    """
    joint = _joint(pairs)
    entropy = float(torch.special.entr(joint.sum(dim=1)).sum())
    return _ratio(2 * entropy - float(torch.special.entr(joint).sum()), entropy)


def contrast(conditional: Tensor) -> float:
    """Mean total variation distance between the rows of the conditional [K, K], over all pairs of classes.

    0 means that neighbors look the same around every class, so that they cannot tell classes apart.

    >>> contrast(torch.tensor([[0.8, 0.2], [0.2, 0.8]], dtype=torch.float64))
    0.6...
    """
    k = conditional.size(0)
    return float(torch.pdist(conditional, p=1).sum()) / (k * (k - 1))


def neighbor_pairs(histograms: Tensor, y: Tensor, num_classes: int) -> Tensor:
    """Ordered pairs of two different neighbors by their classes, summed by the class of the node, [K, K, K].

    >>> neighbor_pairs(torch.tensor([[2, 1]]), torch.tensor([0]), 2)[0].tolist()
    [[2, 2], [2, 0]]
    """
    out = torch.zeros(num_classes, num_classes, num_classes, dtype=torch.int64, device=histograms.device)
    for k in range(num_classes):
        of_class = histograms[y == k].to(torch.int64)
        # A neighbor makes no pair with itself, hence the diagonal.
        out[k] = of_class.T @ of_class - torch.diag(of_class.sum(dim=0))
    return out


def independence_gap(pairs: Tensor, of_two: Tensor) -> Tensor:
    """Total variation between the joint of two neighbors' classes and the product of marginals, float64 [K].

    Row k compares ``P(m, n | k)`` of two neighbors of a class-k node with ``P(m | k) P(n | k)``, the paper's
    assumption (Eq. 2): 0 where it holds, NaN for a class none of whose nodes has two neighbors.

    >>> of_two = torch.tensor([[[0, 1], [1, 0]], [[0, 0], [0, 0]]])
    >>> independence_gap(torch.tensor([[1, 1], [0, 1]]), of_two).tolist()
    [0.5, nan]
    """
    marginal = statistics.conditional(pairs)
    joint = of_two.to(torch.float64) / of_two.sum(dim=(1, 2), keepdim=True)
    return (joint - marginal[:, :, None] * marginal[:, None, :]).abs().sum(dim=(1, 2)) / 2


def twin_nodes(edge_index: Tensor, y: Tensor) -> int:
    """How many nodes have the same label and the same two or more neighbors as another node: likely duplicates.

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
