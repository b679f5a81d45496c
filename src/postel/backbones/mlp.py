"""MLP: the features alone, no graph."""

from __future__ import annotations

from torch import Tensor

from postel.backbones.layers import Extractor
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.graph import Graph
from postel.graph.tracing import Back


class MLP(TracedBackbone):
    """Dropout, linear, ReLU, dropout, linear.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Width of the hidden layers.
        num_layers: Number of linear layers, at least 2.
        dropout: The dropout rate before every layer.

    Example:
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

    def trace(self, graph: Graph, training: bool, encoded: Tensor | None = None) -> tuple[Tensor, Back]:
        """Return the logits and the way back.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.
            encoded: Not used: dropout comes first.

        Returns:
            Logits [N, K], and a function from their gradient to those of all parameters in order.
        """
        return self.extract.trace(graph, training)
