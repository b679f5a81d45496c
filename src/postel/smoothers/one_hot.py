"""No smoothing: the baseline of every comparison."""

from __future__ import annotations

import torch
from torch import Tensor

from postel.labels import KnownLabels
from postel.smoothers.base import Smoother


class OneHot(Smoother):
    """Training labels as they are; a node that is not in training has the uniform distribution.

    >>> edges = torch.tensor([[0, 1], [1, 0]])
    >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
    >>> OneHot().soft_labels(edges, known).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """

    def __init__(self, *, num_classes: int | None = None) -> None:
        self.num_classes = num_classes

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        return one_hot_rows(known, dtype, edge_index.device)


def one_hot_rows(known: KnownLabels, dtype: torch.dtype, device: torch.device) -> Tensor:
    """One-hot rows for training nodes and uniform ones for the others, [N, K]."""
    k = known.num_classes
    rows = torch.full((known.num_nodes, k), 1.0 / k, dtype=dtype, device=device)
    train = known.train_only()
    rows[train.index.to(device)] = train.one_hot().to(device, dtype)
    return rows
