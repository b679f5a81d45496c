"""ChebNet (Defferrard et al., 2016): convolutions by Chebyshev polynomials of the Laplacian."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from postel.backbones.base import Backbone
from postel.backbones.layers import FeatureLinear, Linear, reset
from postel.checks import check_count, check_rate
from postel.graph import Graph, sparse_product


class ChebNet(Backbone):
    """Two layers ``Σ_k T_k(L̂) x W_k + b`` over ``terms`` polynomials, with ReLU and dropout between.

    L̂ = 2L/λ_max - I with λ_max = 2 is minus the normalised adjacency. ``terms=2`` (torch_geometric's ``K=2``)
    reaches the direct neighbors.

    >>> ChebNet(4, 2, terms=3).first
    FeatureLinear(4, 96)
    """

    name = "chebnet"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden: int = 32,
        num_layers: int = 2,
        dropout: float = 0.5,
        terms: int = 2,
    ) -> None:
        super().__init__(in_channels, out_channels)
        check_count("hidden", hidden)
        check_count("num_layers", num_layers, 2)
        self.terms = check_count("terms", terms)
        self.dropout = check_rate("dropout", dropout)
        # The weights of all terms lie side by side: one product with the input serves them all.
        self.first = FeatureLinear(in_channels, terms * hidden, bias=False)
        widths = [hidden] * (num_layers - 2) + [out_channels]
        self.later = nn.ModuleList(Linear(hidden, terms * width, bias=False) for width in widths)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(width)) for width in [hidden, *widths])
        reset(self.first.weight, None, in_channels, hidden, "glorot")
        for layer, width in zip(self.later, widths, strict=True):
            assert isinstance(layer, Linear)
            reset(layer.weight, None, hidden, width, "glorot")

    def encode(self, graph: Graph) -> Tensor:
        """The first convolution [N, hidden], before ReLU."""
        return self._combine(graph, self.first(graph.features), self.biases[0])

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K] from the first convolution."""
        assert encoded is not None
        x = encoded
        for layer, bias in zip(self.later, self.biases[1:], strict=True):
            assert isinstance(layer, Linear)
            x = self._combine(graph, layer.after_relu(x, self.dropout), bias)
        return x

    def _combine(self, graph: Graph, scores: Tensor, bias: Tensor) -> Tensor:
        """``Σ_k T_k(L̂) scores_k + bias``: Clenshaw's recurrence, so only the narrow scores are propagated."""
        parts = scores.chunk(self.terms, dim=1)
        if self.terms == 1:
            return parts[0] + bias
        after, current = None, parts[-1]
        for part in reversed(parts[1:-1]):
            spread = part - 2.0 * sparse_product(graph.adjacency, current.contiguous())
            after, current = current, spread if after is None else spread - after
        out = parts[0] - sparse_product(graph.adjacency, current.contiguous())
        return out + bias if after is None else out - after + bias
