"""APPNP (Gasteiger et al., 2019): class scores from the features, spread by personalised PageRank."""

from __future__ import annotations

import torch
from torch import Tensor

from postel.backbones.base import Backbone
from postel.backbones.layers import Extractor
from postel.backbones.polynomial import polynomial
from postel.checks import check_count, check_rate
from postel.graph import Graph


class APPNP(Backbone):
    """``steps`` power iterations ``z ← (1 - teleport) P z + teleport · mlp(x)``; the paper calls teleport alpha.

    >>> APPNP(4, 2, teleport=0.5, steps=2).coefficients.tolist()
    [0.5, 0.25, 0.25]
    """

    name = "appnp"
    coefficients: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        steps: int = 10,
        teleport: float = 0.1,
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.extract = Extractor(
            in_channels,
            check_count("hidden", hidden),
            out_channels,
            num_layers=check_count("num_layers", num_layers, 2),
            dropout=check_rate("dropout", dropout),
        )
        self.register_buffer("coefficients", pagerank_coefficients(steps, teleport), persistent=False)

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K]."""
        return polynomial(graph.gcn, self.coefficients, self.extract(graph))


def pagerank_coefficients(steps: int, teleport: float) -> Tensor:
    """Weights [steps + 1] of the powers of P after that many power iterations with this teleport probability.

    >>> pagerank_coefficients(1, 1.0).tolist(), pagerank_coefficients(1, 0.0).tolist()
    ([1.0, 0.0], [0.0, 1.0])
    """
    check_count("steps", steps)
    check_rate("teleport", teleport, closed=True)
    powers = (1.0 - teleport) ** torch.arange(steps + 1, dtype=torch.float64)
    powers[:-1] *= teleport
    return powers.to(torch.float32)
