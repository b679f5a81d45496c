"""The layers that the backbones share, in the layouts that are fastest on a CPU.

The weight of the first layer is [F, D], whose rows a sparse feature matrix picks. Later ones are [D_out, D_in]:
multiplied as ``weight @ x.T`` they are several times faster than ``x @ weight`` when there are few classes.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from postel.graph import Features, Graph, SparseMatrix
from postel.graph.bernoulli import keep_bits
from postel.graph.sparse import csr_product

Init = Literal["glorot", "linear"]

# Up to this many outputs, ``weight @ x.T`` is faster than ``x @ weight.T``.
NARROW = 32


class FeatureLinear(nn.Module):
    """``dropout(x) @ weight + bias`` for the features of a graph; ``weight`` [F, D].

    >>> FeatureLinear(4, 2)
    FeatureLinear(4, 2)
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True, init: Init = "linear") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        reset(self.weight, self.bias, in_channels, out_channels, init)

    def forward(self, features: Features, p: float = 0.0) -> Tensor:
        """The layer's output [N, D], with dropout ``p`` on the features when training."""
        return features.product(self.weight, self.bias, p=p, training=self.training)

    def extra_repr(self) -> str:
        """Sizes in and out."""
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


class Linear(nn.Module):
    """``x @ weight.T + bias`` for dense input; ``weight`` [D_out, D_in].

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
        """The layer's output [N, D_out]."""
        return narrow_linear(x, self.weight, self.bias)

    def after_relu(self, x: Tensor, p: float, through: SparseMatrix | None = None) -> Tensor:
        """``through @ (dropout(relu(x), p) @ weight.T) + bias`` [N, D_out]; ``through`` may be left out."""
        return relu_dropout_linear(x, self.weight, self.bias, p=p, training=self.training, through=through)

    def extra_repr(self) -> str:
        """Sizes in and out."""
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}"


class Extractor(nn.Module):
    """The feature extractor that MLP, APPNP, GPR-GNN and BernNet share: dropout, linear, ReLU, and again.

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

    def forward(self, graph: Graph) -> Tensor:
        """Class scores [N, K] from the features alone."""
        x = self.first(graph.features, self.dropout)
        for layer in (*self.middle, self.last):
            x = layer.after_relu(x, self.dropout)
        return x


class _NarrowLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return _multiply(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x, grad.sum(0) if ctx.has_bias else None


def narrow_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias`` [N, D_out], computed transposed when ``weight`` [D_out, D_in] has few rows.

    >>> narrow_linear(torch.ones(1, 2), torch.tensor([[1.0, 2.0]]), torch.tensor([3.0])).tolist()
    [[6.0]]
    """
    if torch.is_grad_enabled():
        return _NarrowLinear.apply(x, weight, bias)
    return _multiply(x, weight, bias)


class _ReluDropoutLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, p: float, through: SparseMatrix | None
    ) -> Tensor:
        active, ctx.scale = x.relu(), 1.0
        if p > 0.0:
            bits, keep = keep_bits(x.numel(), 1.0 - p, x.device)
            active.mul_(bits.view(x.shape))
            ctx.scale = 1.0 / keep
        ctx.save_for_backward(active, weight)
        ctx.through, ctx.has_bias = through, bias is not None
        return _spread(_multiply(active, weight, None, ctx.scale), bias, through)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None, None]:
        active, weight = ctx.saved_tensors
        grad = grad.contiguous()
        bias_grad = grad.sum(0) if ctx.has_bias else None
        grad = grad * ctx.scale if ctx.through is None else csr_product(ctx.through.columns, grad, ctx.scale)
        # What came out positive was positive before and was kept: one comparison undoes ReLU and dropout.
        x_grad = grad @ weight
        torch.ops.aten.threshold_backward.grad_input(x_grad, active, 0, grad_input=x_grad)
        return x_grad, grad.t() @ active, bias_grad, None, None


def relu_dropout_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    p: float = 0.0,
    training: bool = False,
    through: SparseMatrix | None = None,
) -> Tensor:
    """``through @ (dropout(relu(x), p) @ weight.T) + bias`` [N, D_out] in one step forward and one step back.

    >>> x, weight = torch.tensor([[-1.0, 2.0]]), torch.tensor([[5.0, 10.0]])
    >>> relu_dropout_linear(x, weight).tolist()
    [[20.0]]
    """
    if torch.is_grad_enabled():
        return _ReluDropoutLinear.apply(x, weight, bias, p if training else 0.0, through)
    active, scale = x.relu(), 1.0
    if training and p > 0.0:
        bits, keep = keep_bits(x.numel(), 1.0 - p, x.device)
        active, scale = active.mul_(bits.view(x.shape)), 1.0 / keep
    return _spread(_multiply(active, weight, None, scale), bias, through)


def _spread(x: Tensor, bias: Tensor | None, through: SparseMatrix | None) -> Tensor:
    if through is not None:
        x = csr_product(through.rows, x)
    return x if bias is None else x.add_(bias)


def _multiply(x: Tensor, weight: Tensor, bias: Tensor | None, scale: float = 1.0) -> Tensor:
    if weight.shape[0] > NARROW:
        out = torch.mm(x, weight.t()) if bias is None else torch.addmm(bias, x, weight.t())
        return out if scale == 1.0 else out.mul_(scale)
    out = torch.mm(weight, x.t())
    if scale != 1.0:
        out.mul_(scale)
    if bias is not None:
        out.add_(bias.unsqueeze(1))
    return out.t().contiguous()


def reset(weight: Tensor, bias: Tensor | None, fan_in: int, fan_out: int, init: Init) -> None:
    """Fill with fresh random weights: ``glorot`` with a zero bias, or as ``nn.Linear`` does.

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
