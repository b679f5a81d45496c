"""A backbone whose gradient is written by hand, so that a training step needs no autograd."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor

from postel.backbones.base import Backbone
from postel.graph import Graph
from postel.graph.tracing import Back, differentiable


class TracedBackbone(Backbone):
    """A backbone that writes :meth:`trace`: logits, and the way back from them to every parameter.

    ``backbone(graph)`` is still differentiable: autograd then calls the same way back.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
    """

    #: Whether all that a step draws are dropout masks of one shape and one rate, which can be drawn ahead.
    masks_alike: ClassVar[bool] = False

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        self._weights: list[Tensor] | None = None

    @abstractmethod
    def trace(self, graph: Graph, training: bool, encoded: Tensor | None) -> tuple[Tensor, Back]:
        """Return the logits and the way back; called without autograd.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.
            encoded: What :meth:`encode` returns for the present weights.

        Returns:
            Logits [N, K], and a function from their gradient [N, K], which is contiguous, to those of all
            parameters in the order of ``parameters()``.
        """

    def forward(self, graph: Graph) -> Tensor:
        """Return the logits of all nodes, differentiable by all parameters.

        Args:
            graph: The prepared graph.

        Returns:
            Logits [N, K].
        """
        return differentiable(lambda *_: self.trace(graph, self.training, self.encode(graph)), *self.parameters())

    @torch.no_grad()
    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Return the logits without a gradient.

        Args:
            graph: The prepared graph.
            encoded: What :meth:`encode` returned.

        Returns:
            Logits [N, K].
        """
        return self.trace(graph, self.training, encoded)[0]

    def run(self, graph: Graph, shared: Tensor | None = None) -> tuple[Tensor, Callable[[Tensor], None]]:
        """Return training-mode logits and the way back from them.

        Args:
            graph: The prepared graph.
            shared: What :meth:`evaluate` returned beside its logits, if the weights are still the same.

        Returns:
            Logits [N, K], and a function that takes their gradient [N, K] and sets the ``grad`` of all parameters.
        """
        if torch.is_grad_enabled():  # the loop has switched it off for all epochs; doing so costs time
            with torch.no_grad():
                return self.run(graph, shared)
        logits, back = self.trace(graph, True, self.encode(graph) if shared is None else shared)
        return logits, lambda grad: self._go_back(back, grad)

    def evaluate(self, graph: Graph) -> tuple[Tensor, Tensor | None]:
        """Return evaluation-mode logits, and what the next :meth:`run` may share with them.

        Args:
            graph: The prepared graph.

        Returns:
            Logits [N, K], and the first layer's output, or None if there is nothing to share.
        """
        if torch.is_grad_enabled():
            with torch.no_grad():
                return self.evaluate(graph)
        encoded = self.encode(graph)
        return self.trace(graph, False, encoded)[0], encoded

    def _go_back(self, back: Back, grad: Tensor) -> None:
        if torch.is_grad_enabled():
            with torch.no_grad():
                self._go_back(back, grad)
            return
        if self._weights is None:
            self._weights = list(self.parameters())
        for weight, own in zip(self._weights, back(grad), strict=True):
            if weight.requires_grad:
                weight.grad = own
