"""GCN (Kipf and Welling, 2017): two graph convolutions with ReLU and dropout between; no dropout on the input."""

from __future__ import annotations

from torch import Tensor, nn

from postel.backbones.base import Backbone
from postel.backbones.layers import FeatureLinear, Linear
from postel.checks import check_count, check_rate
from postel.graph import Graph


class GCN(Backbone):
    """Logits = P · dropout(relu(P X W₁ + b₁)) W₂ + b₂ with P the normalised adjacency with self-loops.

    >>> GCN(4, 2, hidden=8).last
    Linear(8, 2)
    """

    name = "gcn"

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
        """The first convolution [N, hidden], before ReLU."""
        spread = graph.spread_features("gcn")
        if spread is not None:
            return self.first(spread)
        return graph.features.product(self.first.weight, self.first.bias, through=graph.gcn)

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K] from the first convolution."""
        assert encoded is not None
        x = encoded
        for layer in (*self.middle, self.last):
            x = layer.after_relu(x, self.dropout, graph.gcn)
        return x
