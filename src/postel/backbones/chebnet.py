"""ChebNet (Defferrard et al., 2016): convolutions by Chebyshev polynomials of the Laplacian."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from postel.backbones.layers import FeatureLinear, Linear, reset
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.graph import Graph, SparseMatrix
from postel.graph.sparse import csr_product
from postel.graph.tracing import Back


class ChebNet(TracedBackbone):
    """Two layers ``Σ_k T_k(L̂) x W_k + b`` over ``terms`` polynomials, with ReLU and dropout between.

    L̂ = 2L/λ_max - I with λ_max = 2 is minus the normalized adjacency.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Width of the hidden layers.
        num_layers: Number of convolutions, at least 2.
        dropout: The dropout rate before every convolution but the first.
        terms: Number of polynomials (torch_geometric's ``K``); 2 reach the direct neighbors.

    Example:
        >>> ChebNet(4, 2, terms=3).first
        FeatureLinear(4, 96)
    """

    name = "chebnet"
    masks_alike = True

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
        """Return the first convolution, before ReLU.

        Args:
            graph: The prepared graph.

        Returns:
            The first convolution [N, hidden].
        """
        if torch.is_grad_enabled():  # the loop has switched it off for all epochs; doing so costs time
            with torch.no_grad():
                return self.encode(graph)
        scores = self.first.trace(graph.features)[0]
        return combine_terms(graph.adjacency, scores, self.terms).add_(self.biases[0])

    def trace(self, graph: Graph, training: bool, encoded: Tensor | None) -> tuple[Tensor, Back]:
        """Return the logits and the way back.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.
            encoded: The first convolution [N, hidden], before ReLU.

        Returns:
            Logits [N, K], and a function from their gradient to those of all parameters in order.
        """
        assert encoded is not None
        x, backs = encoded, []
        for layer, bias in zip(self.later, self.biases[1:], strict=True):
            assert isinstance(layer, Linear)
            scores, layer_back = layer.trace_after_relu(x, self.dropout if training else 0.0)
            x = combine_terms(graph.adjacency, scores, self.terms).add_(bias)
            backs.append(layer_back)

        def back(grad: Tensor) -> list[Any]:
            weights, biases = [], []
            for layer_back in reversed(backs):
                biases.append(grad.sum(0))
                grad, weight_grad = layer_back(spread_terms(graph.adjacency, grad, self.terms))
                weights.append(weight_grad)
            biases.append(grad.sum(0))
            first = graph.features.way_back(bias=False)(spread_terms(graph.adjacency, grad, self.terms))[0]
            return [first, *reversed(weights), *reversed(biases)]

        return x, back


def combine_terms(adjacency: SparseMatrix, scores: Tensor, terms: int) -> Tensor:
    """Return ``Σ_k T_k(-adjacency) scores_k`` by Clenshaw's recurrence, so that only narrow scores are propagated.

    Args:
        adjacency: The normalized adjacency [N, N].
        scores: The scores of all terms side by side [N, terms * D].
        terms: Number of polynomials.

    Returns:
        The sum [N, D].

    Example:
        >>> swap = SparseMatrix.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (2, 2))
        >>> combine_terms(swap, torch.tensor([[1.0, 10.0], [2.0, 20.0]]), 2).tolist()
        [[-19.0], [-8.0]]
    """
    parts = scores.chunk(terms, dim=1)
    if terms == 1:
        return parts[0].clone()
    after, current = None, parts[-1]
    for part in reversed(parts[1:-1]):
        spread = csr_product(adjacency.rows, current.contiguous(), -2.0).add_(part)
        after, current = current, spread if after is None else spread.sub_(after)
    out = csr_product(adjacency.rows, current.contiguous(), -1.0).add_(parts[0])
    return out if after is None else out.sub_(after)


def spread_terms(adjacency: SparseMatrix, grad: Tensor, terms: int) -> Tensor:
    """Return the gradient of the scores of :func:`combine_terms`: ``T_k(-adjacencyᵀ) grad`` for every k.

    Args:
        adjacency: The normalized adjacency [N, N].
        grad: The gradient of the sum [N, D].
        terms: Number of polynomials.

    Returns:
        The gradients of all terms side by side [N, terms * D].

    Example:
        >>> swap = SparseMatrix.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (2, 2))
        >>> spread_terms(swap, torch.tensor([[1.0], [2.0]]), 2).tolist()
        [[1.0, -2.0], [2.0, -1.0]]
    """
    parts = [grad]
    for number in range(1, terms):
        spread = csr_product(adjacency.columns, parts[-1], -1.0 if number == 1 else -2.0)
        parts.append(spread if number == 1 else spread.sub_(parts[-2]))
    return torch.cat(parts, 1)
