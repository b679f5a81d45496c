"""OrderedGNN (Song et al., 2023): messages ordered into chunks that close one after another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from postel.backbones.base import Backbone
from postel.backbones.layers import FeatureLinear, Linear
from postel.checks import check_count, check_rate
from postel.errors import InputError
from postel.graph import Graph, sparse_product
from postel.graph.bernoulli import dropout as drop


class OrderedGNN(Backbone):
    """Layers ``x ← norm(g · x + (1 - g) · m)`` with m the mean over neighbors and a gate g that only closes.

    The gate has ``chunk`` entries, each shared by ``hidden / chunk`` units: unit u follows entry u mod ``chunk``
    (the order of units is free, and this one is fastest). ``propagation_dropout`` None means ``dropout``.
    ``linear_weight_decay`` sets the weight decay of the linear layers apart from the gates'; unless it is None,
    the input's norms are not trained, as in the original.

    >>> OrderedGNN(4, 2, hidden=8, chunk=4).gates[0].weight.shape
    torch.Size([4, 16])
    """

    name = "ordered_gnn"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden: int = 256,
        chunk: int = 64,
        num_layers: int = 2,
        input_layers: int = 1,
        dropout: float = 0.5,
        propagation_dropout: float | None = None,
        global_gate: bool = False,
        linear_weight_decay: float | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels)
        if check_count("hidden", hidden) % check_count("chunk", chunk):
            raise InputError(f"hidden must be a multiple of chunk, got {hidden} and {chunk}")
        if linear_weight_decay is not None and not linear_weight_decay >= 0:
            raise InputError(f"linear_weight_decay must be at least 0, or None, got {linear_weight_decay!r}")
        self.chunk = chunk
        self.num_layers = check_count("num_layers", num_layers)
        self.dropout = check_rate("dropout", dropout)
        own = dropout if propagation_dropout is None else propagation_dropout
        self.propagation_dropout = check_rate("propagation_dropout", own)
        self.linear_weight_decay = linear_weight_decay
        self.first = FeatureLinear(in_channels, hidden)
        self.inputs = nn.ModuleList(
            Linear(hidden, hidden) for _ in range(check_count("input_layers", input_layers) - 1)
        )
        self.input_norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(input_layers))
        self.gates = nn.ModuleList(Linear(2 * hidden, chunk) for _ in range(1 if global_gate else num_layers))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(num_layers))
        self.last = Linear(hidden, out_channels)

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K]."""
        x = self.input_norms[0](self.first(graph.features, self.dropout).relu())
        for layer, norm in zip(self.inputs, self.input_norms[1:], strict=True):
            x = norm(layer(drop(x, self.dropout, self.training)).relu())
        closed = x.new_zeros(graph.num_nodes, self.chunk)
        for number, norm in enumerate(self.norms):
            x = drop(x, self.propagation_dropout, self.training)
            mean = sparse_product(graph.mean, x)
            gate: Any = self.gates[number % len(self.gates)]
            closed = closed + (1.0 - closed) * _cumulative_softmax(_pair_linear(gate, x, mean))
            x = norm(_mix(closed, x, mean))
        return self.last(drop(x, self.dropout, self.training))

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """One group, or two if the linear layers have a weight decay of their own."""
        if self.linear_weight_decay is None:
            return super().parameter_groups(lr, weight_decay)
        gates = [*self.gates.parameters(), *self.norms.parameters()]
        linear = [*self.first.parameters(), *self.inputs.parameters(), *self.last.parameters()]
        return [
            {"params": gates, "lr": lr, "weight_decay": weight_decay},
            {"params": linear, "lr": lr, "weight_decay": self.linear_weight_decay},
        ]


def _pair_linear(layer: Any, x: Tensor, mean: Tensor) -> Tensor:
    """The layer on ``x`` and ``mean`` side by side, without joining them."""
    own, other = layer.weight.chunk(2, dim=1)
    return torch.addmm(nn.functional.linear(x, own, layer.bias), mean, other.t())


def _cumulative_softmax(scores: Tensor) -> Tensor:
    """Cumulative sums of the softmax of each row: from near 0 up to 1."""
    return torch.softmax(scores, 1).cumsum(1)


def _mix(gate: Tensor, x: Tensor, mean: Tensor) -> Tensor:
    """``gate · x + (1 - gate) · mean`` [N, hidden], the gate [N, chunk] repeated along the units."""
    nodes, chunk = gate.shape
    spread = torch.lerp(mean.view(nodes, -1, chunk), x.view(nodes, -1, chunk), gate.unsqueeze(1))
    return spread.view(nodes, -1)
