"""The layers that the backbones share, in the layouts that are fastest on a CPU.

The weight of the first layer is [F, D], whose rows a sparse feature matrix picks. Later ones are [D_out, D_in]:
multiplied as ``weight @ x.T`` they are several times faster than ``x @ weight`` when there are few classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from postel.graph import Features, Graph, SparseMatrix
from postel.graph.bernoulli import keep_mask
from postel.graph.sparse import csr_product
from postel.graph.tracing import Back, differentiable

Init = Literal["glorot", "linear"]

# Up to this many outputs, ``weight @ x.T`` is faster than ``x @ weight.T``.
NARROW = 32


class FeatureLinear(nn.Module):
    """``through @ (dropout(x) @ weight) + bias`` for the features of a graph.

    Args:
        in_channels: Number of features F.
        out_channels: Number of outputs D; the weight is [F, D].
        bias: Whether to add a bias [D].
        init: How to fill the weights, see :func:`reset`.

    Example:
        >>> FeatureLinear(4, 2)
        FeatureLinear(4, 2)
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True, init: Init = "linear") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        reset(self.weight, self.bias, in_channels, out_channels, init)

    def forward(self, features: Features, p: float = 0.0) -> Tensor:
        """Return the layer's output, differentiable by its parameters.

        Args:
            features: The features [N, F].
            p: The dropout rate on the features in training.

        Returns:
            The output [N, D].
        """
        return features.product(self.weight, self.bias, p=p, training=self.training)

    def trace(
        self, features: Features, p: float = 0.0, through: SparseMatrix | None = None
    ) -> tuple[Tensor, Back]:
        """Return the layer's output and the way back to its parameters.

        Args:
            features: The features [N, F].
            p: The dropout rate on the features, 0 in evaluation.
            through: An operator [N, N] to multiply with, or None for no operator.

        Returns:
            The output [N, D], and a function from its gradient to those of the weight and the bias, if it has one.
        """
        out, back = features.trace(self.weight, self.bias, p=p, through=through)
        return out, back if self.bias is not None else lambda grad: back(grad)[:1]

    def extra_repr(self) -> str:
        """Return the sizes in and out."""
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


class Linear(nn.Module):
    """``x @ weight.T + bias`` for dense input.

    Args:
        in_channels: Number of inputs.
        out_channels: Number of outputs; the weight is [out_channels, in_channels].
        bias: Whether to add a bias.
        init: How to fill the weights, see :func:`reset`.

    Example:
        >>> layer = Linear(3, 2)
        >>> x = torch.ones(4, 3)
        >>> bool(torch.allclose(layer(x), x @ layer.weight.T + layer.bias))
        True
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True, init: Init = "linear") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        reset(self.weight, self.bias, in_channels, out_channels, init)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, differentiable by the input and the parameters.

        Args:
            x: The input [N, in_channels].

        Returns:
            The output [N, out_channels].
        """
        return differentiable(traced_linear, x, self.weight, self.bias)

    def trace(self, x: Tensor) -> tuple[Tensor, Back]:
        """Return the layer's output and the way back to the input and the parameters.

        Args:
            x: The input [N, in_channels].

        Returns:
            The output [N, out_channels], and a function from its gradient to those of ``x``, the weight and the
            bias, if it has one.
        """
        out, back = traced_linear(x, self.weight, self.bias)
        return out, back if self.bias is not None else lambda grad: back(grad)[:2]

    def trace_after_relu(
        self, x: Tensor, p: float = 0.0, through: SparseMatrix | None = None
    ) -> tuple[Tensor, Back]:
        """Return ``through @ (dropout(relu(x), p) @ weight.T) + bias`` and the way back.

        Args:
            x: The input [N, in_channels].
            p: The dropout rate, 0 in evaluation.
            through: An operator [N, N] to multiply with, or None for no operator.

        Returns:
            The output [N, out_channels], and a function from its gradient to those of ``x``, the weight and the
            bias, if it has one.
        """
        out, back = traced_relu_linear(x, self.weight, self.bias, p=p, through=through)
        return out, back if self.bias is not None else lambda grad: back(grad)[:2]

    def extra_repr(self) -> str:
        """Return the sizes in and out."""
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}"


class Extractor(nn.Module):
    """The feature extractor that MLP, APPNP, GPR-GNN and BernNet share: dropout, linear, ReLU, and again.

    Args:
        in_channels: Number of features per node.
        hidden: Width of the hidden layers.
        out_channels: Number of classes.
        num_layers: Number of layers, at least 2.
        dropout: The dropout rate before every layer.

    Example:
        >>> Extractor(4, 8, 2, num_layers=2, dropout=0.5).last
        Linear(8, 2)
    """

    def __init__(
        self, in_channels: int, hidden: int, out_channels: int, *, num_layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.first = FeatureLinear(in_channels, hidden)
        self.middle = nn.ModuleList(Linear(hidden, hidden) for _ in range(num_layers - 2))
        self.last = Linear(hidden, out_channels)

    def trace(self, graph: Graph, training: bool) -> tuple[Tensor, Back]:
        """Return class scores from the features alone, and the way back.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.

        Returns:
            Scores [N, K], and a function from their gradient to those of all parameters in order.
        """
        p = self.dropout if training else 0.0
        x, first_back = self.first.trace(graph.features, p)
        out, later_back = trace_chain(x, [*self.middle, self.last], p)

        def back(grad: Tensor) -> Sequence[Any]:
            x_grad, *grads = later_back(grad)
            return *first_back(x_grad), *grads

        return out, back


def trace_chain(
    x: Tensor, layers: Sequence[Any], p: float, through: SparseMatrix | None = None
) -> tuple[Tensor, Back]:
    """Return the output of several :class:`Linear` layers with ReLU and dropout before each, and the way back.

    Args:
        x: The input [N, D] of the first layer, before its ReLU.
        layers: The layers.
        p: The dropout rate, 0 in evaluation.
        through: An operator [N, N] that every layer multiplies with, or None for no operator.

    Returns:
        The output [N, K], and a function from its gradient to that of ``x`` and those of all parameters in order.
    """
    backs = []
    for layer in layers:
        x, layer_back = layer.trace_after_relu(x, p, through)
        backs.append(layer_back)

    def back(grad: Tensor) -> Sequence[Any]:
        grads: list[Any] = []
        for layer_back in reversed(backs):
            grad, *own = layer_back(grad)
            grads[:0] = own
        return grad, *grads

    return x, back


def traced_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Back]:
    """Return ``x @ weight.T + bias``, computed transposed when the weight has few rows, and the way back.

    Args:
        x: The input [N, D_in].
        weight: The weight [D_out, D_in].
        bias: The bias [D_out], or None for no bias.

    Returns:
        The output [N, D_out], and a function from its gradient to those of the three arguments.

    Example:
        >>> traced_linear(torch.ones(1, 2), torch.tensor([[1.0, 2.0]]), torch.tensor([3.0]))[0].tolist()
        [[6.0]]
    """

    def back(grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        return grad @ weight, grad.t() @ x, None if bias is None else grad.sum(0)

    return _multiply(x, weight, bias), back


def traced_relu_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    p: float = 0.0,
    through: SparseMatrix | None = None,
) -> tuple[Tensor, Back]:
    """Return ``through @ (dropout(relu(x), p) @ weight.T) + bias`` and the way back.

    Args:
        x: The input [N, D_in].
        weight: The weight [D_out, D_in].
        bias: The bias [D_out], or None for no bias.
        p: The dropout rate, 0 in evaluation.
        through: An operator [N, N] to multiply with, or None for no operator.

    Returns:
        The output [N, D_out], and a function from its gradient to those of ``x``, ``weight`` and ``bias``.

    Example:
        >>> x, weight = torch.tensor([[-1.0, 2.0]]), torch.tensor([[5.0, 10.0]])
        >>> out, back = traced_relu_linear(x, weight)
        >>> out.tolist(), back(torch.ones(1, 1))[0].tolist()
        ([[20.0]], [[0.0, 10.0]])
    """
    active, scale, scaled = x.relu(), 1.0, weight
    if p > 0.0:
        mask, keep = keep_mask(x.shape, 1.0 - p, x.device)
        active.mul_(mask)
        # Scaling the small weight scales the output, and the gradient on the way back.
        scale, scaled = 1.0 / keep, weight * (1.0 / keep)
    out = _multiply(active, scaled, None)
    if through is not None:
        out = csr_product(through.rows, out)
    if bias is not None:
        out.add_(bias)

    def back(grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        bias_grad = None if bias is None else grad.sum(0)
        if through is not None:
            grad = csr_product(through.columns, grad)
        x_grad = torch.mm(grad, scaled)
        # What came out positive was positive before and was kept: one comparison undoes ReLU and dropout.
        torch.ops.aten.threshold_backward.grad_input(x_grad, active, 0, grad_input=x_grad)
        weight_grad = torch.mm(grad.t(), active)
        return x_grad, weight_grad if scale == 1.0 else weight_grad.mul_(scale), bias_grad

    return out, back


def _multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if weight.shape[0] > NARROW:
        return torch.mm(x, weight.t()) if bias is None else torch.addmm(bias, x, weight.t())
    out = torch.mm(weight, x.t())
    if bias is not None:
        out.add_(bias.unsqueeze(1))
    return out.t().contiguous()


def reset(weight: Tensor, bias: Tensor | None, fan_in: int, fan_out: int, init: Init) -> None:
    """Fill with fresh random weights from torch's global generator.

    Args:
        weight: The weight to fill.
        bias: The bias to fill, or None if there is none.
        fan_in: Number of inputs.
        fan_out: Number of outputs.
        init: ``"glorot"`` with a zero bias, or ``"linear"`` for what ``nn.Linear`` does.

    Example:
        >>> weight, bias = torch.empty(3, 2), torch.empty(2)
        >>> reset(weight, bias, 3, 2, "glorot")
        >>> bias.tolist(), bool(weight.abs().max() <= (6 / 5) ** 0.5)
        ([0.0, 0.0], True)
    """
    with torch.no_grad():
        if init == "glorot":
            bound = math.sqrt(6.0 / (fan_in + fan_out))
            weight.uniform_(-bound, bound)
            if bias is not None:
                bias.zero_()
        else:
            bound = 1.0 / math.sqrt(fan_in)
            weight.uniform_(-bound, bound)
            if bias is not None:
                bias.uniform_(-bound, bound)
