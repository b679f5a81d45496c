"""No smoothing: the baseline of every comparison."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from postel.labels import KnownLabels
from postel.smoothers.base import Smoother


def one_hot_soft_labels(
    known: KnownLabels, *, dtype: torch.dtype = torch.float64, device: torch.device | None = None
) -> Tensor:
    """Write training labels as one-hot rows; a node that is not in training has the uniform distribution.

    Args:
        known: The labels; pseudo-labels are left out.
        dtype: Type of the result.
        device: Where the result lies; where the labels do without it.

    Returns:
        One distribution per node, [N, K].

    Example:
        >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
        >>> one_hot_soft_labels(known).tolist()
        [[0.0, 1.0], [0.5, 0.5]]
    """
    train = known.train_only().to(device or known.index.device)
    k = known.num_classes
    rows = torch.full((known.num_nodes, k), 1.0 / k, dtype=dtype, device=train.index.device)
    rows[train.index] = train.one_hot().to(dtype)
    return rows


@functional_transform("one_hot_labels")
class OneHot(Smoother):
    """Training labels as they are; a node that is not in training has the uniform distribution.

    Args:
        num_classes: Number of classes, where ``data.num_classes`` is missing and the last classes have no
            training node.

    Example:
        >>> edges = torch.tensor([[0, 1], [1, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
        >>> OneHot().soft_labels(edges, known).tolist()
        [[0.0, 1.0], [0.5, 0.5]]
    """

    def __init__(self, *, num_classes: int | None = None) -> None:
        self.num_classes = num_classes

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        return one_hot_soft_labels(known, dtype=dtype, device=edge_index.device)
