"""What every backbone is: an ``nn.Module`` from a prepared graph to logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from postel.checks import check_count
from postel.graph import Graph


class Backbone(nn.Module):
    """A network called as ``backbone(graph)``, which returns logits [N, K] of all nodes.

    A subclass writes :meth:`decode` with any differentiable torch code. Where nothing is random up to the first
    layer's output, it also writes :meth:`encode`: the loop then computes that part once for the evaluation after a
    step and for the next step, which see the same weights. The networks of this package write their gradients by
    hand instead; see :class:`postel.backbones.traced.TracedBackbone`.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
    """

    name: ClassVar[str] = "custom"

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = check_count("in_channels", in_channels)
        self.out_channels = check_count("out_channels", out_channels)
        self._every: list[nn.Module] | None = None

    def forward(self, graph: Graph) -> Tensor:
        """Return the logits [N, K] of all nodes.

        Args:
            graph: The prepared graph.

        Returns:
            Logits [N, K].
        """
        return self.decode(graph, self.encode(graph))

    def encode(self, graph: Graph) -> Tensor | None:
        """Return what comes before anything random.

        Args:
            graph: The prepared graph.

        Returns:
            The first layer's output [N, D], or None if dropout comes first.
        """
        return None

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Return the logits; dropout is drawn here, when training.

        Args:
            graph: The prepared graph.
            encoded: What :meth:`encode` returned.

        Returns:
            Logits [N, K].
        """
        raise NotImplementedError(f"{type(self).__name__} must write decode(graph, encoded)")

    def run(self, graph: Graph, shared: Tensor | None = None) -> tuple[Tensor, Callable[[Tensor], None]]:
        """Return training-mode logits and the way back from them.

        Args:
            graph: The prepared graph.
            shared: What :meth:`evaluate` returned beside its logits, if the weights are still the same.

        Returns:
            Logits [N, K] without an autograd graph, and a function that takes their gradient [N, K] and sets the
            ``grad`` of every parameter.
        """
        self.switch(True)
        with torch.enable_grad():
            logits = self.decode(graph, self.encode(graph) if shared is None else shared)
        return logits.detach(), lambda grad: logits.backward(grad)

    def evaluate(self, graph: Graph) -> tuple[Tensor, Tensor | None]:
        """Return evaluation-mode logits, and what the next :meth:`run` may share with them.

        Args:
            graph: The prepared graph.

        Returns:
            Logits [N, K], and the first layer's output, or None if there is nothing to share.
        """
        self.switch(True)
        with torch.enable_grad():
            encoded = self.encode(graph)
        self.switch(False)
        with torch.no_grad():
            return self.decode(graph, encoded), encoded

    def switch(self, training: bool) -> None:
        """Do what ``train(training)`` does, but visit a list and not a tree, as this may happen twice per epoch.

        Args:
            training: True for training mode, False for evaluation mode.
        """
        if self._every is None:
            self._every = list(self.modules())
        for module in self._every:
            vars(module)["training"] = training

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """Return groups of parameters for Adam.

        Args:
            lr: The run's learning rate.
            weight_decay: The run's weight decay.

        Returns:
            One dictionary per group with its ``params``, ``lr`` and ``weight_decay``.
        """
        return [{"params": list(self.parameters()), "lr": lr, "weight_decay": weight_decay}]
