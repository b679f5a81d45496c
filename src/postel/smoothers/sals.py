"""SALS: structure-aware label smoothing, re-implemented from its description (Wang et al. 2021)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from postel.labels import KnownLabels
from postel.smoothers.base import Smoother, check_choice, check_number, degrees, neighbor_entries
from postel.statistics import class_counts, prior


class SALS(Smoother):
    """The label mixed with the average of the neighbors' labels; other nodes have that average alone.

    Re-implemented from its description: the formula was never published in full, so each open choice is an
    argument. ``smoothing`` is the share of the neighbors. ``weight`` is that of a neighbor j in the average:
    ``"mean"`` 1, ``"sym"`` 1/sqrt(degree of j), as GCN's weights are after scaling to 1, ``"inv_degree"``
    1/degree. A node without labelled neighbors keeps its label (``isolated="one-hot"``) or takes the
    ``"uniform"`` distribution or the ``"prior"`` for its neighbors' average. ``pseudo_labels=True`` lets
    pseudo-labelled neighbors count.

    >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
    >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
    >>> SALS(0.5).soft_labels(edges, known).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(
        self,
        smoothing: float = 0.5,
        *,
        weight: Literal["mean", "sym", "inv_degree"] = "mean",
        isolated: Literal["one-hot", "uniform", "prior"] = "one-hot",
        self_loops: bool = False,
        pseudo_labels: bool = False,
        num_classes: int | None = None,
    ) -> None:
        check_number("smoothing", smoothing, 0, 1)
        check_choice("weight", weight, ("mean", "sym", "inv_degree"))
        check_choice("isolated", isolated, ("one-hot", "uniform", "prior"))
        self.smoothing = smoothing
        self.weight: Literal["mean", "sym", "inv_degree"] = weight
        self.isolated: Literal["one-hot", "uniform", "prior"] = isolated
        self.self_loops = self_loops
        self.pseudo_labels = pseudo_labels
        self.num_classes = num_classes

    @property
    def uses_pseudo_labels(self) -> bool:
        """As ``pseudo_labels`` says."""
        return self.pseudo_labels

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        device, train = edge_index.device, known.train_only()
        labels = known if self.pseudo_labels else train
        sums = self._neighbor_sums(edge_index, labels)
        totals = sums.sum(dim=1, keepdim=True)
        alone = totals == 0
        k = known.num_classes
        stand_in = torch.full_like(sums[0], 1.0 / k) if self.isolated == "uniform" else prior(class_counts(labels))
        rows = torch.where(alone, stand_in.to(device), sums / totals.masked_fill(alone, 1.0))
        index, own = train.index.to(device), train.one_hot().to(device)
        averages = torch.where(alone[index], own, rows[index]) if self.isolated == "one-hot" else rows[index]
        rows[index] = self.smoothing * averages + (1 - self.smoothing) * own
        return rows.to(dtype)

    def _neighbor_sums(self, edge_index: Tensor, labels: KnownLabels) -> Tensor:
        """Weights of each node's labelled neighbors summed by their class, float64 [N, K]."""
        n, k = labels.num_nodes, labels.num_classes
        sources, targets = neighbor_entries(edge_index, self.self_loops)
        power = {"mean": 0.0, "sym": -0.5, "inv_degree": -1.0}[self.weight]
        weights = degrees(sources, n).pow(power)[targets]
        classes = labels.dense().to(edge_index.device)[targets]
        keep = classes >= 0
        sums = torch.zeros(n * k, dtype=torch.float64, device=edge_index.device)
        return sums.index_add_(0, sources[keep] * k + classes[keep], weights[keep]).view(n, k)
