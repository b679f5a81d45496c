"""Polynomials of an operator applied to class scores, each with a hand-written gradient.

Nothing but the input is kept for the way back, and every step is one fused product-and-add.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from postel.graph import SparseMatrix
from postel.graph.sparse import csr_multiply_add, csr_product


class _Polynomial(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: SparseMatrix, coefficients: Tensor, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(coefficients, x)
        return _horner(matrix.rows, coefficients.tolist(), x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        coefficients, x = ctx.saved_tensors
        if not ctx.needs_input_grad[1]:
            return None, None, _horner(ctx.matrix.columns, coefficients.tolist(), grad.contiguous())
        # <g, M^k x> = <(M^T)^k g, x>: the powers of the way back serve the coefficients too.
        power = grad.contiguous()
        inner = [torch.sum(power * x)]
        x_grad = power * coefficients[0]
        for coefficient in coefficients[1:].tolist():
            power = csr_product(ctx.matrix.columns, power)
            inner.append(torch.sum(power * x))
            x_grad.add_(power, alpha=coefficient)
        return None, torch.stack(inner), x_grad


def polynomial(matrix: SparseMatrix, coefficients: Tensor, x: Tensor) -> Tensor:
    """``Σ_k coefficients[k] · matrix^k @ x`` [N, K], in as many products as the polynomial has degrees.

    >>> swap = SparseMatrix.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (2, 2))
    >>> polynomial(swap, torch.tensor([1.0, 10.0]), torch.tensor([[1.0], [2.0]])).tolist()
    [[21.0], [12.0]]
    """
    return _Polynomial.apply(matrix, coefficients, x)


def _horner(matrix: Tensor, coefficients: Sequence[float], x: Tensor) -> Tensor:
    out = x * coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        out = csr_multiply_add(matrix, out, x, coefficient)
    return out


class _Bernstein(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, low: SparseMatrix, high: SparseMatrix, coefficients: Tensor, x: Tensor) -> Tensor:
        powers = [x]
        for _ in range(coefficients.numel() - 1):
            powers.append(csr_product(low.rows, powers[-1]))
        ctx.low, ctx.high = low, high
        ctx.save_for_backward(coefficients, *powers)
        weights = coefficients.tolist()
        out = x * weights[0]
        for weight, power in zip(weights[1:], powers[1:], strict=True):
            out = csr_multiply_add(high.rows, out, power, weight)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor, Tensor]:
        coefficients, *powers = ctx.saved_tensors
        weights = coefficients.tolist()
        grads = [grad.contiguous()]
        for _ in powers[1:]:
            grads.append(csr_product(ctx.high.columns, grads[-1]))
        grads.reverse()
        inner = torch.stack([torch.sum(g * power) for g, power in zip(grads, powers, strict=True)])
        x_grad = grads[-1] * weights[-1]
        for weight, g in zip(reversed(weights[:-1]), reversed(grads[:-1]), strict=True):
            x_grad = csr_multiply_add(ctx.low.columns, x_grad, g, weight)
        return None, None, inner, x_grad


def bernstein(low: SparseMatrix, high: SparseMatrix, coefficients: Tensor, x: Tensor) -> Tensor:
    """``Σ_k coefficients[k] · high^(K-k) low^k @ x`` [N, C] for K + 1 coefficients, in 2K products.

    The powers of ``low`` are taken once; those of ``high`` are nested around them (Horner's scheme). The two
    matrices must commute.

    >>> one = SparseMatrix.from_entries(torch.tensor([0]), torch.tensor([0]), torch.tensor([0.5]), (1, 1))
    >>> two = SparseMatrix.from_entries(torch.tensor([0]), torch.tensor([0]), torch.tensor([1.5]), (1, 1))
    >>> bernstein(one, two, torch.tensor([1.0, 2.0, 4.0]), torch.ones(1, 1)).item()  # 1.5² + 2·1.5·0.5 + 4·0.5²
    4.75
    """
    return _Bernstein.apply(low, high, coefficients, x)
