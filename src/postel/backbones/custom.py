"""A user's own torch_geometric module as a backbone."""

from __future__ import annotations

from torch import Tensor, nn

from postel.backbones.base import Backbone
from postel.graph import Graph


class Custom(Backbone):
    """``module(x, edge_index)`` with dense features; autograd finds its gradient.

    Args:
        module: A module that returns logits [N, K].
        in_channels: Number of features of a node.
        out_channels: Number of classes K.

    Example:
        >>> class Scores(nn.Linear):
        ...     def forward(self, x, edge_index):
        ...         return super().forward(x)
        >>> Custom(Scores(4, 2), 4, 2).module
        Scores(in_features=4, out_features=2, bias=True)
    """

    def __init__(self, module: nn.Module, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        self.module = module

    def switch(self, training: bool) -> None:
        """Call ``train(training)``, which a user's module may have written itself.

        Args:
            training: True for training mode, False for evaluation mode.
        """
        self.train(training)

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Return the module's logits.

        Args:
            graph: The prepared graph.
            encoded: Nothing: a module is not cut in two.

        Returns:
            Logits [N, K].
        """
        return self.module(graph.features.dense(), graph.edge_index)
