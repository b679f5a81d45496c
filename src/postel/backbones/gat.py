"""GAT (Veličković et al., 2018): two attention layers, dropout on input, hidden layer and attention weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from postel.backbones.attention import attend, attend_in_blocks, attention_pattern
from postel.backbones.base import Backbone
from postel.backbones.layers import FeatureLinear, Linear, narrow_linear, reset
from postel.checks import check_count, check_rate
from postel.graph import Graph, LargeGraph
from postel.graph.bernoulli import dropout as drop


class GAT(Backbone):
    """``heads`` heads of ``hidden`` each, joined, with ELU between; one head of K in the last layer.

    The default is the paper's 8 heads of 8; its published code has ``hidden=64``.

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

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K]."""
        x = self.attention[0](graph, self.first(graph.features, self.dropout))
        for layer, attention in zip(self.middle, self.attention[1:], strict=True):
            x = attention(graph, layer(drop(nn.functional.elu(x), self.dropout, self.training)))
        return self.last_attention(graph, self.last(drop(nn.functional.elu(x), self.dropout, self.training)))


class Attention(nn.Module):
    """One attention layer over values [N, heads * hidden] that are already projected; adds the bias.

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

    def forward(self, graph: Graph, values: Tensor) -> Tensor:
        """The layer's output [N, heads * hidden]."""
        heads, hidden = self.source.shape
        # One narrow product scores all heads, by source and by target: the weights of other heads are 0.
        both = torch.stack([self.source, self.target])
        weight = (torch.eye(heads, device=values.device).unsqueeze(-1) * both.unsqueeze(1)).view(2 * heads, -1)
        scores = narrow_linear(values, weight)
        if isinstance(graph, LargeGraph):
            sources, targets = scores.chunk(2, dim=1)
            out = attend_in_blocks(graph.neighbors, sources, targets, values.view(-1, heads, hidden))
            return out.view(-1, heads * hidden) + self.bias
        by_source, by_target = scores[:, :heads].reshape(-1), scores[:, heads:].reshape(-1)
        pattern = attention_pattern(graph, heads)
        out = attend(pattern, by_source, by_target, values.reshape(-1, hidden), self.dropout, self.training)
        return out.view(-1, heads * hidden) + self.bias
