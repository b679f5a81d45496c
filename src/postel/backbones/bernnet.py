"""BernNet (He et al., 2021): class scores from the features, filtered by a learned Bernstein polynomial."""

from __future__ import annotations

from math import comb
from typing import Any

import torch
from torch import Tensor, nn

from postel.backbones.base import Backbone
from postel.backbones.layers import Extractor
from postel.backbones.polynomial import bernstein
from postel.checks import check_count, check_rate
from postel.errors import InputError
from postel.graph import Graph
from postel.graph.bernoulli import dropout as drop


class BernNet(Backbone):
    """``Σ_k relu(θ_k) 2^-K C(K, k) (2I - L)^(K-k) L^k · dropout(mlp(x))`` with K = ``order`` and θ starting at 1.

    θ has no weight decay and its own learning rate, ``filter_lr`` (the common one if None).

    >>> BernNet(4, 2, order=2).binomials.tolist()
    [0.25, 0.5, 0.25]
    """

    name = "bernnet"
    binomials: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        order: int = 10,
        propagation_dropout: float = 0.5,
        filter_lr: float | None = 0.01,
    ) -> None:
        super().__init__(in_channels, out_channels)
        check_count("order", order)
        if filter_lr is not None and not filter_lr > 0:
            raise InputError(f"filter_lr must be above 0, or None for the common rate, got {filter_lr!r}")
        self.filter_lr = filter_lr
        self.propagation_dropout = check_rate("propagation_dropout", propagation_dropout)
        self.extract = Extractor(
            in_channels,
            check_count("hidden", hidden),
            out_channels,
            num_layers=check_count("num_layers", num_layers, 2),
            dropout=check_rate("dropout", dropout),
        )
        self.theta = nn.Parameter(torch.ones(order + 1))
        binomials = torch.tensor([comb(order, k) / 2**order for k in range(order + 1)])
        self.register_buffer("binomials", binomials, persistent=False)

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K]."""
        scores = drop(self.extract(graph), self.propagation_dropout, self.training)
        low, high = graph.bernstein
        return bernstein(low, high, self.theta.relu() * self.binomials, scores)

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """The extractor's parameters, and θ with its own rate and without weight decay."""
        own = lr if self.filter_lr is None else self.filter_lr
        return [
            {"params": list(self.extract.parameters()), "lr": lr, "weight_decay": weight_decay},
            {"params": [self.theta], "lr": own, "weight_decay": 0.0},
        ]
