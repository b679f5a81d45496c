"""A user's own torch_geometric module as a backbone."""

from __future__ import annotations

import inspect

from torch import Tensor, nn

from postel.backbones.base import Backbone
from postel.errors import InputError
from postel.graph import Graph


class Custom(Backbone):
    """``module(x, edge_index)`` with dense features, or ``module(x)`` where it takes no edges.

    Autograd finds its gradient.

    Args:
        module: A module that returns logits [N, K].
        in_channels: Number of features per node.
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
        self._takes_edges = _takes_edges(module)

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
            encoded: Not used: a module is not cut in two.

        Returns:
            Logits [N, K].

        Raises:
            InputError: If the module returns something else.
        """
        x = graph.features.dense()
        logits = self.module(x, graph.edge_index) if self._takes_edges else self.module(x)
        expected = (graph.num_nodes, self.out_channels)
        if not isinstance(logits, Tensor) or tuple(logits.shape) != expected:
            got = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            name = type(self.module).__name__
            raise InputError(f"{name} must return logits of shape {list(expected)}, got {got}")
        return logits


def _takes_edges(module: nn.Module) -> bool:
    """Tell whether a module is called with edges; a plain network such as ``nn.Sequential`` is not."""
    parameters = list(inspect.signature(module.forward).parameters.values())
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return True
    # The second argument of torch_geometric's MLP says which graph a node is of.
    return len(parameters) > 1 and parameters[1].name != "batch"
