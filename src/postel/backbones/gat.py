"""GAT (Veličković et al., 2018): two attention layers, dropout on input, hidden layer and attention weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from postel.backbones.attention import attend_in_blocks, attention_pattern, traced_attention
from postel.backbones.layers import FeatureLinear, Linear, reset
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.errors import InputError
from postel.graph import Graph, LargeGraph
from postel.graph.bernoulli import keep_mask
from postel.graph.tracing import Back, needs_way_back


class GAT(TracedBackbone):
    """``heads`` heads of ``hidden`` each, joined, with ELU between; one head of K in the last layer.

    The default is the paper's 8 heads of 8; its published code has ``hidden=64``.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Width of a head.
        heads: Number of heads of all layers but the last.
        num_layers: Number of attention layers, at least 2.
        dropout: The dropout rate before every layer.
        attention_dropout: The dropout rate on the attention weights.

    Example:
        >>> GAT(4, 2).first
        FeatureLinear(4, 64)
    """

    name = "gat"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden: int = 8,
        heads: int = 8,
        num_layers: int = 2,
        dropout: float = 0.5,
        attention_dropout: float = 0.5,
    ) -> None:
        super().__init__(in_channels, out_channels)
        check_count("hidden", hidden)
        self.heads = check_count("heads", heads)
        self.dropout = check_rate("dropout", dropout)
        width = heads * hidden
        self.first = FeatureLinear(in_channels, width, bias=False, init="glorot")
        self.middle = nn.ModuleList(
            Linear(width, width, bias=False, init="glorot")
            for _ in range(check_count("num_layers", num_layers, 2) - 2)
        )
        self.last = Linear(width, out_channels, bias=False, init="glorot")
        p = check_rate("attention_dropout", attention_dropout)
        self.attention = nn.ModuleList(Attention(heads, hidden, p) for _ in range(num_layers - 1))
        self.last_attention = Attention(1, out_channels, p)

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
        values, first_back = self.first.trace(graph.features, p)
        layers: list[Any] = [*self.attention, self.last_attention]
        first_attention, *others = layers
        x, attention_back = first_attention.trace(graph, values, training)
        kept = needs_way_back(training)
        backs = [(first_back, attention_back)] if kept else []
        for layer, attention in zip([*self.middle, self.last], others, strict=True):
            values, layer_back = _trace_layer(layer, x, p)
            x, attention_back = attention.trace(graph, values, training)
            if kept:
                backs.append((layer_back, attention_back))

        def back(grad: Tensor) -> list[Any]:
            weights: list[Any] = []
            others: list[Any] = []
            for layer_back, attention_back in reversed(backs):
                grad, *own = attention_back(grad)
                others[:0] = own
                *before, weight_grad = layer_back(grad)
                weights.insert(0, weight_grad)
                if before:
                    (grad,) = before
            return [*weights, *others]

        return x, back


def _trace_layer(layer: Any, x: Tensor, p: float) -> tuple[Tensor, Back]:
    """``layer(dropout(elu(x), p))`` and the way back to ``x`` and the weight."""
    active, active_back = traced_elu(x, p)
    out, layer_back = layer.trace(active)

    def back(grad: Tensor) -> list[Any]:
        active_grad, weight_grad = layer_back(grad)
        return [active_back(active_grad), weight_grad]

    return out, back


def traced_elu(x: Tensor, p: float = 0.0) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return ``dropout(elu(x), p)`` and the way back; torch's own ELU takes several times as long on a CPU.

    Args:
        x: Any tensor.
        p: The dropout rate, 0 in evaluation.

    Returns:
        A tensor of the same shape, and a function from its gradient to that of ``x``.

    Example:
        >>> traced_elu(torch.tensor([0.0, 2.0, -1e9]))[0].tolist()
        [0.0, 2.0, -1.0]
    """
    slope = x.clamp_max(0.0).exp_()
    out = x.relu().add_(slope).sub_(1.0)
    if p > 0.0:
        mask, keep = keep_mask(x.shape, 1.0 - p, x.device)
        mask.mul_(1.0 / keep)
        out.mul_(mask)
        slope.mul_(mask)
    # The slope is exp(x) below 0 and exp(0) above.
    return out, lambda grad: grad * slope


class Attention(nn.Module):
    """One attention layer over values that are already projected; adds the bias.

    Args:
        heads: Number of heads.
        hidden: Width of a head.
        dropout: The dropout rate on the attention weights.

    Example:
        >>> Attention(2, 4, 0.5).source.shape
        torch.Size([2, 4])
    """

    def __init__(self, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.source = nn.Parameter(torch.empty(heads, hidden))
        self.target = nn.Parameter(torch.empty(heads, hidden))
        self.bias = nn.Parameter(torch.zeros(heads * hidden))
        for weight in (self.source, self.target):
            reset(weight, None, heads, hidden, "glorot")

    def trace(self, graph: Graph, values: Tensor, training: bool) -> tuple[Tensor, Back]:
        """Return the layer's output and the way back.

        Args:
            graph: The prepared graph; a large one only in evaluation, without a way back.
            values: The projected values [N, heads * hidden].
            training: Whether dropout is drawn.

        Returns:
            The output [N, heads * hidden], and a function from its gradient to those of ``values``, ``source``,
            ``target`` and ``bias``.
        """
        heads, hidden = self.source.shape
        # One narrow product scores all heads, by source and by target: the weights of other heads are 0.
        both = torch.stack([self.source, self.target])
        weight = (_identity(heads, values.device).unsqueeze(-1) * both.unsqueeze(1)).view(2 * heads, -1)
        scores = torch.mm(weight, values.t())
        by_source, by_target = scores[:heads], scores[heads:]
        if isinstance(graph, LargeGraph):
            split = values.view(-1, heads, hidden)
            summed = attend_in_blocks(graph.neighbors, by_source.t(), by_target.t(), split)
            return summed.view(-1, heads * hidden).add_(self.bias), _no_way_back
        pattern = attention_pattern(graph, heads)
        out, attend_back = traced_attention(
            pattern, by_source, by_target, _heads_first(values, heads), self.dropout if training else 0.0
        )

        def back(grad: Tensor) -> list[Any]:
            bias_grad = grad.sum(0)
            source_grad, target_grad, first_grad = attend_back(_heads_first(grad, heads))
            score_grad = torch.cat([source_grad, target_grad])
            values_grad = torch.addmm(_nodes_first(first_grad, heads), score_grad.t(), weight)
            own = torch.mm(score_grad, values).view(2, heads, heads, hidden).diagonal(dim1=1, dim2=2)
            return [values_grad, own[0].t().contiguous(), own[1].t().contiguous(), bias_grad]

        return _nodes_first(out, heads) + self.bias, back


def _heads_first(x: Tensor, heads: int) -> Tensor:
    """[N, heads * D] as [heads * N, D]."""
    return x.view(x.shape[0], heads, -1).transpose(0, 1).reshape(heads * x.shape[0], -1)


def _nodes_first(x: Tensor, heads: int) -> Tensor:
    """[heads * N, D] as [N, heads * D]."""
    return x.view(heads, -1, x.shape[1]).transpose(0, 1).reshape(x.shape[0] // heads, -1)


def _no_way_back(grad: Tensor) -> list[Any]:
    raise InputError("a large graph is evaluated block by block, which has no gradient; train in batches")


@cache
def _identity(size: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.eye(size, device=device)
