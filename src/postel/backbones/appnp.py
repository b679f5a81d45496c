"""APPNP (Gasteiger et al., 2019): class scores from the features, spread by personalized PageRank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from postel.backbones.layers import Extractor
from postel.backbones.polynomial import traced_polynomial
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.graph import Graph
from postel.graph.tracing import Back


class APPNP(TracedBackbone):
    """``steps`` power iterations ``z ← (1 - teleport) P z + teleport · mlp(x)``.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Width of the hidden layers.
        num_layers: Number of linear layers, at least 2.
        dropout: The dropout rate before every linear layer.
        steps: Number of power iterations.
        teleport: The share of the class scores in every iteration; the paper calls it alpha.

    Example:
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
        out, spread_back = traced_polynomial(graph.gcn, self.coefficients, scores, learned=False)

        def back(grad: Tensor) -> Sequence[Any]:
            scores_grad = spread_back(grad)[1]
            return extract_back(scores_grad)

        return out, back


def pagerank_coefficients(steps: int, teleport: float) -> Tensor:
    """Return the weights of the powers of P after some power iterations of personalized PageRank.

    Args:
        steps: Number of power iterations.
        teleport: The teleport probability.

    Returns:
        The weights [steps + 1], from power 0 up.

    Example:
        >>> pagerank_coefficients(1, 1.0).tolist(), pagerank_coefficients(1, 0.0).tolist()
        ([1.0, 0.0], [0.0, 1.0])
    """
    check_count("steps", steps)
    check_rate("teleport", teleport, closed=True)
    powers = (1.0 - teleport) ** torch.arange(steps + 1, dtype=torch.float64)
    powers[:-1] *= teleport
    return powers.to(torch.float32)
