"""BernNet (He et al., 2021): class scores from the features, filtered by a learned Bernstein polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import torch
from torch import Tensor, nn

from postel.backbones.layers import Extractor
from postel.backbones.polynomial import traced_bernstein
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.errors import InputError
from postel.graph import Graph
from postel.graph.bernoulli import traced_dropout
from postel.graph.tracing import Back


class BernNet(TracedBackbone):
    """``Σ_k relu(θ_k) 2^-K C(K, k) (2I - L)^(K-k) L^k · dropout(mlp(x))`` with K = ``order`` and θ starting at 1.

    θ has no weight decay.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Width of the hidden layers.
        num_layers: Number of linear layers, at least 2.
        dropout: The dropout rate before every linear layer.
        order: The degree K of the polynomial.
        propagation_dropout: The dropout rate on the class scores.
        filter_lr: The learning rate of θ, or None for the run's.

    Example:
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

    def trace(self, graph: Graph, training: bool, encoded: Tensor | None = None) -> tuple[Tensor, Back]:
        """Return the logits and the way back.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.
            encoded: Not used: dropout comes first.

        Returns:
            Logits [N, K], and a function from their gradient to those of all parameters in order.
        """
        scores, extract_back = self.extract.trace(graph, training)
        scores, drop_back = traced_dropout(scores, self.propagation_dropout if training else 0.0)
        low, high = graph.bernstein
        weights = self.theta.relu() * self.binomials
        out, spread_back = traced_bernstein(low, high, weights, scores)

        def back(grad: Tensor) -> Sequence[Any]:
            weights_grad, scores_grad = spread_back(grad)
            theta_grad = weights_grad * self.binomials * (self.theta > 0)
            return theta_grad, *extract_back(drop_back(scores_grad))

        return out, back

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """Return the extractor's parameters, and θ with its own rate and without weight decay.

        Args:
            lr: The run's learning rate.
            weight_decay: The run's weight decay.

        Returns:
            Two groups for Adam.
        """
        own = lr if self.filter_lr is None else self.filter_lr
        return [
            {"params": list(self.extract.parameters()), "lr": lr, "weight_decay": weight_decay},
            {"params": [self.theta], "lr": own, "weight_decay": 0.0},
        ]
