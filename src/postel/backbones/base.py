"""What every backbone is: an ``nn.Module`` from a prepared graph to logits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn

from postel.checks import check_count
from postel.graph import Graph


class Backbone(nn.Module):
    """A network called as ``backbone(graph)``, returning logits [N, K] of all nodes.

    A subclass writes :meth:`decode`. Where nothing is random up to the first layer's output, it also writes
    :meth:`encode`: the loop then computes that part once for the evaluation after a step and for the next step,
    which see the same weights.
    """

    name: ClassVar[str] = "custom"

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = check_count("in_channels", in_channels)
        self.out_channels = check_count("out_channels", out_channels)
        self._every: list[nn.Module] | None = None

    def forward(self, graph: Graph) -> Tensor:
        """Logits [N, K] of all nodes."""
        return self.decode(graph, self.encode(graph))

    def encode(self, graph: Graph) -> Tensor | None:
        """What comes before anything random: the first layer [N, D], or None if dropout comes first."""
        return None

    @abstractmethod
    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K] from what :meth:`encode` returned; dropout is drawn here, when training."""

    def switch(self, training: bool) -> None:
        """``train(training)`` for a module that is switched twice an epoch: it visits a list, not a tree."""
        if self._every is None:
            self._every = list(self.modules())
        for module in self._every:
            vars(module)["training"] = training

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """Groups of parameters for Adam, each with its own ``lr`` and ``weight_decay``."""
        return [{"params": list(self.parameters()), "lr": lr, "weight_decay": weight_decay}]
