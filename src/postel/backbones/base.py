"""What every backbone is: an ``nn.Module`` from a prepared graph to logits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn

from postel.errors import InputError
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


def check_count(name: str, value: Any) -> int:
    """``value`` if it is a whole number above 0.

    >>> check_count("hidden", 64)
    64
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name} must be a whole number above 0, got {value!r}")
    return value


def check_rate(name: str, value: Any, *, closed: bool = False) -> float:
    """``value`` if it is a number in [0, 1), or in [0, 1] if ``closed``.

    >>> check_rate("dropout", 0.5)
    0.5
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not (0.0 <= value < 1.0 or (closed and value == 1.0)):
        raise InputError(f"{name} must lie in [0, 1{']' if closed else ')'}, got {value!r}")
    return float(value)


def check_depth(num_layers: Any) -> int:
    """``num_layers`` if it is a whole number of at least 2.

    >>> check_depth(2)
    2
    """
    if isinstance(num_layers, bool) or not isinstance(num_layers, int) or num_layers < 2:
        raise InputError(f"num_layers must be a whole number of at least 2, got {num_layers!r}")
    return num_layers
