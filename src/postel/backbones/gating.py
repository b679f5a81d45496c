"""The two steps of an OrderedGNN layer with their gradients written by hand: soft gates, and norm with dropout.

A unit's gate is shared by ``hidden / chunk`` units, so gates are [N, chunk] and are repeated along the units only
inside a multiplication.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from postel.graph import SparseMatrix
from postel.graph.bernoulli import keep_mask
from postel.graph.sparse import csr_product
from postel.graph.tracing import Back

# From the gradients of the mixed units, which it may overwrite, and of the gates (None if nothing follows from
# them) to those of the units before, of the gates before (None if there were none), and of weight and bias.
GateBack = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor | None, Tensor, Tensor]]


def traced_gates(
    mean_of: SparseMatrix, weight: Tensor, bias: Tensor, x: Tensor, closed: Tensor | None
) -> tuple[Tensor, Tensor, GateBack]:
    """Close gates by how units look beside their neighbors' mean, and mix the two through the gates.

    With m the mean over neighbors and s = [x, m] @ weightᵀ + bias, the gates become
    ``g = closed + (1 - closed) · cumsum(softmax(s))`` and the units ``g · x + (1 - g) · m``.

    Args:
        mean_of: The operator [N, N] that takes the mean over neighbors.
        weight: The weight [chunk, 2 * hidden].
        bias: The bias [chunk].
        x: The units [N, hidden].
        closed: The gates of the layer before [N, chunk], or None in the first layer, for gates of 0.

    Returns:
        The mixed units [N, hidden], the gates [N, chunk], and the way back.

    Example:
        >>> swap = SparseMatrix.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (2, 2))
        >>> x, zeros = torch.tensor([[1.0, 1.0], [3.0, 3.0]]), torch.zeros(2, 4)
        >>> mixed, gates, _ = traced_gates(swap, zeros, torch.zeros(2), x, None)
        >>> gates.tolist(), mixed.tolist()
        ([[0.5, 1.0], [0.5, 1.0]], [[2.0, 1.0], [2.0, 3.0]])
    """
    nodes, (chunk, wide) = x.shape[0], weight.shape
    # The mean of a product is the product of the mean: one dense product over x serves x and its mean, and only
    # the narrow result is propagated for the scores.
    both = weight.view(chunk, 2, wide // 2).transpose(0, 1).reshape(2 * chunk, wide // 2)
    parts = torch.mm(x, both.t())
    scores = csr_product(mean_of.rows, parts[:, chunk:].contiguous()).add_(parts[:, :chunk]).add_(bias)
    shares = torch.softmax(scores, 1)
    opened = shares.cumsum(1)
    gates = opened if closed is None else torch.addcmul(closed, opened, closed, value=-1.0).add_(opened)
    mean = csr_product(mean_of.rows, x)
    shape = (nodes, -1, chunk)
    mixed = torch.lerp(mean.view(shape), x.view(shape), gates.unsqueeze(1)).view(nodes, -1)

    def back(grad: Tensor, gates_grad: Tensor | None) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
        own = torch.sub(x, mean).mul_(grad).view(shape).sum(1)
        if gates_grad is not None:
            own.add_(gates_grad)
        closed_grad = None
        if closed is not None:
            closed_grad = torch.addcmul(own, own, opened, value=-1.0)
            own.addcmul_(own, closed, value=-1.0)
        # A share is in every cumulative sum from its place on: the total less the sums before its place. The total
        # is the same for all shares of a row, and softmax ignores such a shift.
        shares_grad = own.sub_(own.cumsum(1))
        scores_grad = torch.ops.aten._softmax_backward_data(shares_grad, shares, 1, shares.dtype)
        spread_grad = csr_product(mean_of.columns, scores_grad)
        parts_grad = torch.cat([scores_grad, spread_grad], 1)
        x_grad = (grad.view(shape) * gates.unsqueeze(1)).view(nodes, -1)
        mean_grad = grad.sub_(x_grad)
        x_grad.addmm_(parts_grad, both).add_(csr_product(mean_of.columns, mean_grad))
        both_grad = torch.mm(parts_grad.t(), x)
        weight_grad = both_grad.view(2, chunk, wide // 2).transpose(0, 1).reshape(chunk, wide)
        return x_grad, closed_grad, weight_grad, scores_grad.sum(0)

    return mixed, gates, back


def traced_norm(x: Tensor, norm: Any, p: float = 0.0) -> tuple[Tensor, Back]:
    """Return ``dropout(norm(x), p)`` and the way back.

    Args:
        x: The units [N, hidden].
        norm: A ``torch.nn.LayerNorm`` over them.
        p: The dropout rate, 0 in evaluation.

    Returns:
        The normalized units [N, hidden], and a function from their gradient, which it may overwrite, to those of
        ``x`` and of the norm's weight and bias.

    Example:
        >>> x = torch.tensor([[1.0, 3.0]])
        >>> traced_norm(x, torch.nn.LayerNorm(2))[0].round(decimals=3).tolist()
        [[-1.0, 1.0]]
    """
    weight, bias, mask, scale = norm.weight, norm.bias, None, 1.0
    if p > 0.0:
        # As floats at once: a product with bytes makes floats of them first, here and again on the way back.
        mask, keep = keep_mask(x.shape, 1.0 - p, x.device)
        scale = 1.0 / keep
        # Scaling the norm's weights scales its output.
        weight, bias = weight * scale, bias * scale
    out, mean, rstd = torch.native_layer_norm(x, norm.normalized_shape, weight, bias, norm.eps)
    if mask is not None:
        out.mul_(mask)

    def back(grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if mask is not None:
            grad.mul_(mask)
        x_grad, weight_grad, bias_grad = torch.ops.aten.native_layer_norm_backward(
            grad, x, norm.normalized_shape, mean, rstd, weight, bias, [True, True, True]
        )
        return x_grad, weight_grad.mul_(scale), bias_grad.mul_(scale)

    return out, back
