"""A user's own torch_geometric module as a backbone."""

from __future__ import annotations

from torch import Tensor, nn

from postel.backbones.base import Backbone
from postel.graph import Graph


class Custom(Backbone):
    """``module(x, edge_index)`` with dense features; the module returns logits [N, K].

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
        """``train(training)``: a user's module may have its own."""
        self.train(training)

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K]."""
        return self.module(graph.features.dense(), graph.edge_index)
