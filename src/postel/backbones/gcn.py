"""GCN (Kipf and Welling, 2017): two graph convolutions with ReLU and dropout between; no dropout on the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from postel.backbones.layers import FeatureLinear, Linear, trace_chain
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.graph import Features, Graph, SparseMatrix
from postel.graph.tracing import Back


class GCN(TracedBackbone):
    """Logits = P · dropout(relu(P X W₁ + b₁)) W₂ + b₂ with P the normalized adjacency with self-loops.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Width of the hidden layers.
        num_layers: Number of convolutions, at least 2.
        dropout: The dropout rate before every convolution but the first.

    Example:
        >>> GCN(4, 2, hidden=8).last
        Linear(8, 2)
    """

    name = "gcn"
    masks_alike = True

    def __init__(
        self, in_channels: int, out_channels: int, *, hidden: int = 64, num_layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__(in_channels, out_channels)
        check_count("hidden", hidden)
        check_count("num_layers", num_layers, 2)
        self.dropout = check_rate("dropout", dropout)
        self.first = FeatureLinear(in_channels, hidden, init="glorot")
        self.middle = nn.ModuleList(Linear(hidden, hidden, init="glorot") for _ in range(num_layers - 2))
        self.last = Linear(hidden, out_channels, init="glorot")

    def encode(self, graph: Graph) -> Tensor:
        """Return the first convolution, before ReLU.

        Args:
            graph: The prepared graph.

        Returns:
            The first convolution [N, hidden].
        """
        if torch.is_grad_enabled():  # the loop has switched it off for all epochs; doing so costs time
            with torch.no_grad():
                return self.encode(graph)
        features, through = _first(graph)
        return self.first.trace(features, through=through)[0]

    def trace(self, graph: Graph, training: bool, encoded: Tensor | None) -> tuple[Tensor, Back]:
        """Return the logits and the way back.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.
            encoded: The first convolution [N, hidden], before ReLU.

        Returns:
            Logits [N, K], and a function from their gradient to those of all parameters in order.
        """
        assert encoded is not None
        layers = [*self.middle, self.last]
        out, later_back = trace_chain(encoded, layers, self.dropout if training else 0.0, graph.gcn)

        def back(grad: Tensor) -> Sequence[Any]:
            x_grad, *grads = later_back(grad)
            features, through = _first(graph)
            return *features.way_back(bias=True, through=through)(x_grad), *grads

        return out, back


def _first(graph: Graph) -> tuple[Features, SparseMatrix | None]:
    """The features of the first convolution, and the operator that they have not been multiplied with yet."""
    spread = graph.spread_features("gcn")
    return (graph.features, graph.gcn) if spread is None else (spread, None)
