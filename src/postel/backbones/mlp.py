"""MLP: the features alone, no graph."""

from __future__ import annotations

from torch import Tensor

from postel.backbones.base import Backbone
from postel.backbones.layers import Extractor
from postel.checks import check_count, check_rate
from postel.graph import Graph


class MLP(Backbone):
    """Dropout, linear, ReLU, dropout, linear.

    >>> MLP(4, 2).extract.last
    Linear(64, 2)
    """

    name = "mlp"

    def __init__(
        self, in_channels: int, out_channels: int, *, hidden: int = 64, num_layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.extract = Extractor(
            in_channels,
            check_count("hidden", hidden),
            out_channels,
            num_layers=check_count("num_layers", num_layers, 2),
            dropout=check_rate("dropout", dropout),
        )

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K]."""
        return self.extract(graph)
