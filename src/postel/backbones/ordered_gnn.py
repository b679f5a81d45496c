"""OrderedGNN (Song et al., 2023): messages ordered into chunks that close one after another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from postel.backbones.gating import traced_gates, traced_norm
from postel.backbones.layers import FeatureLinear, Linear
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.errors import InputError
from postel.graph import Graph
from postel.graph.tracing import Back, needs_way_back


class OrderedGNN(TracedBackbone):
    """Layers ``x ← norm(g · x + (1 - g) · m)`` with m the mean over neighbors and a gate g that only closes.

    The gate has ``chunk`` entries, each shared by ``hidden / chunk`` units: unit u follows entry u mod ``chunk``
    (the order of units is free, and this one is fastest).

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Number of units, a multiple of ``chunk``.
        chunk: Number of entries of a gate.
        num_layers: Number of message-passing layers.
        input_layers: Number of linear layers before them.
        dropout: The dropout rate before every linear layer.
        propagation_dropout: The dropout rate before every message-passing layer, or None for ``dropout``.
        global_gate: Whether all layers share one gate.
        linear_weight_decay: The weight decay of the linear layers, apart from the gates'. Unless it is None, the
            input's norms are not trained, as in the original.

    Example:
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

    def trace(self, graph: Graph, training: bool, encoded: Tensor | None = None) -> tuple[Tensor, Back]:
        """Return the logits and the way back.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.
            encoded: Not used: dropout comes first.

        Returns:
            Logits [N, K], and a function from their gradient to those of all parameters in order.
        """
        p = self.dropout if training else 0.0
        spread_p = self.propagation_dropout if training else 0.0
        x, first_back = self.first.trace(graph.features, p)
        x, inputs_back = self._trace_inputs(x, p, spread_p)
        closed, backs, kept = None, [], needs_way_back(training)
        for number, norm in enumerate(self.norms):
            gate: Any = self.gates[number % len(self.gates)]
            x, closed, gate_back = traced_gates(graph.mean, gate.weight, gate.bias, x, closed)
            x, norm_back = traced_norm(x, norm, p if number == self.num_layers - 1 else spread_p)
            if kept:
                backs.append((gate_back, norm_back))
        out, last_back = self.last.trace(x)

        def back(grad: Tensor) -> list[Any]:
            x_grad, *last = last_back(grad)
            norms: list[Any] = []
            gates: list[list[Tensor]] = []
            closed_grad = None
            for gate_back, norm_back in reversed(backs):
                x_grad, *own = norm_back(x_grad)
                norms[:0] = own
                x_grad, closed_grad, *own_gate = gate_back(x_grad, closed_grad)
                gates.insert(0, own_gate)
            if len(self.gates) == 1:
                gates = [[torch.stack(grads).sum(0) for grads in zip(*gates, strict=True)]]
            x_grad, *inputs = inputs_back(x_grad)
            first = first_back(x_grad)
            return [*first, *inputs, *(grad for pair in gates for grad in pair), *norms, *last]

        return out, back

    def _trace_inputs(self, x: Tensor, p: float, last_p: float) -> tuple[Tensor, Back]:
        """ReLU, norm and dropout, with a linear layer between each two of them."""
        backs = []
        for number, norm in enumerate(self.input_norms):
            last = number == len(self.input_norms) - 1
            active = x.relu_()
            x, norm_back = traced_norm(active, norm, last_p if last else p)
            layer_back = None
            if not last:
                layer: Any = self.inputs[number]
                x, layer_back = layer.trace(x)
            backs.append((active, norm_back, layer_back))

        def back(grad: Tensor) -> list[Any]:
            layers: list[Any] = []
            norms: list[Any] = []
            for active, norm_back, layer_back in reversed(backs):
                if layer_back is not None:
                    grad, *own_layer = layer_back(grad)
                    layers[:0] = own_layer
                grad, *own = norm_back(grad)
                norms[:0] = own
                torch.ops.aten.threshold_backward.grad_input(grad, active, 0, grad_input=grad)
            return [grad, *layers, *norms]

        return x, back

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """Return one group, or two if the linear layers have a weight decay of their own.

        Args:
            lr: The run's learning rate.
            weight_decay: The run's weight decay.

        Returns:
            The groups for Adam.
        """
        if self.linear_weight_decay is None:
            return super().parameter_groups(lr, weight_decay)
        gates = [*self.gates.parameters(), *self.norms.parameters()]
        linear = [*self.first.parameters(), *self.inputs.parameters(), *self.last.parameters()]
        return [
            {"params": gates, "lr": lr, "weight_decay": weight_decay},
            {"params": linear, "lr": lr, "weight_decay": self.linear_weight_decay},
        ]
