"""LS: uniform label smoothing (Szegedy et al. 2016), which knows nothing of the graph."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from postel.labels import KnownLabels
from postel.smoothers.base import Smoother, check_choice, check_number
from postel.smoothers.one_hot import one_hot_rows


class UniformSmoothing(Smoother):
    """A share ``epsilon`` of the one-hot label spread evenly; other nodes have the uniform distribution.

    ``spread="all"`` spreads it over all K classes, as ``torch.nn.CrossEntropyLoss(label_smoothing=...)`` does:
    the true class keeps ``1 - epsilon + epsilon / K``. ``spread="others"`` spreads it over the K - 1 wrong
    classes, as the paper's published code does: the true class keeps ``1 - epsilon``.

    >>> edges = torch.tensor([[0, 1], [1, 0]])
    >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
    >>> UniformSmoothing(0.2).soft_labels(edges, known).tolist()
    [[0.1, 0.9], [0.5, 0.5]]
    >>> UniformSmoothing(0.2, spread="others").soft_labels(edges, known).tolist()
    [[0.2, 0.8], [0.5, 0.5]]
    """

    def __init__(
        self,
        epsilon: float = 0.1,
        *,
        spread: Literal["all", "others"] = "all",
        num_classes: int | None = None,
    ) -> None:
        check_number("epsilon", epsilon, 0, 1)
        check_choice("spread", spread, ("all", "others"))
        self.epsilon = epsilon
        self.spread: Literal["all", "others"] = spread
        self.num_classes = num_classes

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        k = known.num_classes
        rows = one_hot_rows(known, dtype, edge_index.device)
        # Taking 1/K as the target of both kinds, "others" moves epsilon K / (K - 1) of the label towards it.
        share = self.epsilon if self.spread == "all" else self.epsilon * k / (k - 1)
        return (1 - share) * rows + share / k
