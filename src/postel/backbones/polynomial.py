"""Polynomials of an operator applied to class scores, each with a hand-written gradient.

Nothing but the input is kept for the way back, and every step is one fused product-and-add.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from postel.graph import SparseMatrix
from postel.graph.sparse import csr_multiply_add, csr_product
from postel.graph.tracing import Back


def traced_polynomial(
    matrix: SparseMatrix, coefficients: Tensor, x: Tensor, *, learned: bool = True
) -> tuple[Tensor, Back]:
    """Return ``Σ_k coefficients[k] · matrix^k @ x``, in as many products as the polynomial has degrees.

    Args:
        matrix: The operator [N, N].
        coefficients: The coefficients, from power 0 up.
        x: The scores [N, K].
        learned: Whether the gradient of the coefficients is needed.

    Returns:
        The sum [N, K], and a function from its gradient to those of ``coefficients`` (None unless learned) and
        ``x``.

    Example:
        >>> swap = SparseMatrix.from_entries(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2), (2, 2))
        >>> traced_polynomial(swap, torch.tensor([1.0, 10.0]), torch.tensor([[1.0], [2.0]]))[0].tolist()
        [[21.0], [12.0]]
    """
    weights = coefficients.tolist()

    def back(grad: Tensor) -> tuple[Tensor | None, Tensor]:
        if not learned:
            return None, _horner(matrix.columns, weights, grad)
        # <g, M^k x> = <(M^T)^k g, x>: the powers of the way back serve the coefficients too.
        flat, power, x_grad = x.reshape(-1), grad, grad * weights[0]
        inner = [torch.dot(power.view(-1), flat)]
        for weight in weights[1:]:
            power = csr_product(matrix.columns, power)
            inner.append(torch.dot(power.view(-1), flat))
            x_grad.add_(power, alpha=weight)
        return torch.stack(inner), x_grad

    return _horner(matrix.rows, weights, x), back


def _horner(matrix: Tensor, coefficients: Sequence[float], x: Tensor) -> Tensor:
    out = x * coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        out = csr_multiply_add(matrix, out, x, coefficient)
    return out


def traced_bernstein(
    low: SparseMatrix, high: SparseMatrix, coefficients: Tensor, x: Tensor
) -> tuple[Tensor, Back]:
    """Return ``Σ_k coefficients[k] · high^(K-k) low^k @ x`` for K + 1 coefficients, in 2K products.

    The powers of ``low`` are taken once; those of ``high`` are nested around them (Horner's scheme).

    Args:
        low: An operator [N, N].
        high: Another one, which commutes with the first.
        coefficients: The coefficients [K + 1].
        x: The scores [N, C].

    Returns:
        The sum [N, C], and a function from its gradient to those of ``coefficients`` and ``x``.

    Example:
        >>> one = SparseMatrix.from_entries(torch.tensor([0]), torch.tensor([0]), torch.tensor([0.5]), (1, 1))
        >>> two = SparseMatrix.from_entries(torch.tensor([0]), torch.tensor([0]), torch.tensor([1.5]), (1, 1))
        >>> out, _ = traced_bernstein(one, two, torch.tensor([1.0, 2.0, 4.0]), torch.ones(1, 1))
        >>> out.item()  # 1.5² + 2·1.5·0.5 + 4·0.5²
        4.75
    """
    weights, powers = coefficients.tolist(), [x]
    for _ in weights[1:]:
        powers.append(csr_product(low.rows, powers[-1]))
    out = x * weights[0]
    for weight, power in zip(weights[1:], powers[1:], strict=True):
        out = csr_multiply_add(high.rows, out, power, weight)

    def back(grad: Tensor) -> tuple[Tensor, Tensor]:
        grads = [grad]
        for _ in weights[1:]:
            grads.append(csr_product(high.columns, grads[-1]))
        grads.reverse()
        pairs = zip(grads, powers, strict=True)
        inner = torch.stack([torch.dot(own.view(-1), power.reshape(-1)) for own, power in pairs])
        x_grad = grads[-1] * weights[-1]
        for weight, own in zip(reversed(weights[:-1]), reversed(grads[:-1]), strict=True):
            x_grad = csr_multiply_add(low.columns, x_grad, own, weight)
        return inner, x_grad

    return out, back
