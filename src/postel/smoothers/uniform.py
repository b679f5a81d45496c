"""LS: uniform label smoothing (Szegedy et al. 2016), which knows nothing of the graph."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from postel.checks import check_choice, check_number
from postel.labels import KnownLabels
from postel.smoothers.base import Smoother
from postel.smoothers.one_hot import one_hot_soft_labels

Spread = Literal["all", "others"]


def uniform_soft_labels(
    known: KnownLabels,
    epsilon: float = 0.1,
    *,
    spread: Spread = "all",
    dtype: torch.dtype = torch.float64,
    device: torch.device | None = None,
) -> Tensor:
    """Spread a share of every training label evenly; other nodes have the uniform distribution.

    Args:
        known: The labels; pseudo-labels are left out.
        epsilon: The share, in [0, 1].
        spread: ``"all"`` spreads it over all K classes, as ``torch.nn.CrossEntropyLoss(label_smoothing=...)``
            does: the true class keeps ``1 - epsilon + epsilon / K``. ``"others"`` spreads it over the K - 1 wrong
            classes, as the paper's published code does: the true class keeps ``1 - epsilon``.
        dtype: Type of the result.
        device: Where the result lies; where the labels do without it.

    Returns:
        One distribution per node, [N, K].

    Raises:
        InputError: If ``epsilon`` or ``spread`` is out of its range.

    Example:
        >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
        >>> uniform_soft_labels(known, 0.2).tolist()
        [[0.1, 0.9], [0.5, 0.5]]
        >>> uniform_soft_labels(known, 0.2, spread="others").tolist()
        [[0.2, 0.8], [0.5, 0.5]]
    """
    _check(epsilon, spread)
    k = known.num_classes
    rows = one_hot_soft_labels(known, dtype=dtype, device=device)
    # Taking 1/K as the target of both kinds, "others" moves epsilon K / (K - 1) of the label towards it.
    share = epsilon if spread == "all" else epsilon * k / (k - 1)
    return (1 - share) * rows + share / k


@functional_transform("uniform_smoothing")
class UniformSmoothing(Smoother):
    """A share of every training label spread evenly; other nodes have the uniform distribution.

    Args:
        epsilon: The share, in [0, 1].
        spread: Over ``"all"`` classes, as torch does, or over the ``"others"``, as the paper's published code
            does: see :func:`~postel.functional.uniform_soft_labels`.
        num_classes: Number of classes, where ``data.num_classes`` is missing and the last classes have no
            training node.

    Example:
        >>> edges = torch.tensor([[0, 1], [1, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
        >>> UniformSmoothing(0.2).soft_labels(edges, known).tolist()
        [[0.1, 0.9], [0.5, 0.5]]
    """

    def __init__(self, epsilon: float = 0.1, *, spread: Spread = "all", num_classes: int | None = None) -> None:
        _check(epsilon, spread)
        self.epsilon = epsilon
        self.spread: Spread = spread
        self.num_classes = num_classes

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        return uniform_soft_labels(known, self.epsilon, spread=self.spread, dtype=dtype, device=edge_index.device)


def _check(epsilon: float, spread: str) -> None:
    check_number("epsilon", epsilon, 0, 1)
    check_choice("spread", spread, get_args(Spread))
