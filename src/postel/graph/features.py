"""Node features, sparse or dense by density, and their product with a weight matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from postel.graph.bernoulli import keep_bits
from postel.graph.sparse import SparseMatrix, csr_like, csr_parts, csr_product, csr_tensor
from postel.graph.tracing import Back, differentiable

# Above this share of non-zeros a dense product is faster than a sparse one.
DENSE_ABOVE = 0.2
# The transposed product reads a gradient row for every non-zero: so many rows of it stay in the cache.
BLOCK_NODES = 1024
# Up to this many nodes one block is as fast.
ONE_BLOCK_NODES = 4 * BLOCK_NODES
# Numbers in a line of the cache: where rows begin with one, the product of the gradient is a fifth faster.
LINE = 16

# Nodes from, nodes to, and the transposed features of those nodes.
Block = tuple[int, int, Tensor]


class Features:
    """Features [N, F] of all nodes, constant during training.

    Use :meth:`from_dense` or :meth:`from_scipy` to make one: they decide whether the features are stored dense or
    sparse.

    Args:
        dense: The dense features, or None if they are stored sparse.
        rows: The features as a CSR tensor, or None if they are stored dense.
        turned: The transpose of ``rows``, which the gradient multiplies with.

    Example:
        >>> features = Features.from_dense(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), dense_above=0.6)
        >>> features.is_sparse, features.product(torch.eye(2)).tolist()
        (True, [[1.0, 0.0], [0.0, 2.0]])
    """

    def __init__(self, dense: Tensor | None, rows: Tensor | None = None, turned: _Turned | None = None) -> None:
        self._dense = dense
        self._rows = rows
        self._turned = turned

    @classmethod
    def from_dense(
        cls, x: Tensor, *, device: torch.device | str = "cpu", dense_above: float = DENSE_ABOVE
    ) -> Features:
        """Take the features of a dense tensor.

        Args:
            x: The features [N, F].
            device: Where to put them.
            dense_above: Up to this share of non-zeros the features are stored sparse.

        Returns:
            The features.
        """
        if int(torch.count_nonzero(x)) > dense_above * x.numel():
            return cls(x.to(device=device, dtype=torch.float32).contiguous())
        return cls.from_scipy(scipy.sparse.csr_array(x.cpu().numpy()), device=device, dense_above=1.0)

    @classmethod
    def from_scipy(
        cls, x: Any, *, device: torch.device | str = "cpu", dense_above: float = DENSE_ABOVE
    ) -> Features:
        """Take the features of a scipy sparse matrix.

        Args:
            x: The features [N, F].
            device: Where to put them.
            dense_above: Above this share of non-zeros the features are stored dense.

        Returns:
            The features.
        """
        x = scipy.sparse.csr_array(x).astype(np.float32)
        x.sum_duplicates()
        x.eliminate_zeros()
        if x.nnz > dense_above * x.shape[0] * x.shape[1]:
            return cls(torch.from_numpy(x.toarray()).to(device))
        return cls(None, csr_tensor(x.indptr, x.indices, x.data, x.shape, device), _Turned(x, device))

    @property
    def is_sparse(self) -> bool:
        """Whether only the non-zero features are stored."""
        return self._rows is not None

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes and features."""
        x = self._dense if self._rows is None else self._rows
        assert x is not None
        return (x.shape[0], x.shape[1])

    def dense(self) -> Tensor:
        """Return the features as a dense tensor [N, F]; it is made on first use and then reused."""
        if self._dense is None:
            assert self._rows is not None
            self._dense = self._rows.to_dense()
        return self._dense

    def product(
        self,
        weight: Tensor,
        bias: Tensor | None = None,
        *,
        p: float = 0.0,
        training: bool = False,
        through: SparseMatrix | None = None,
    ) -> Tensor:
        """Multiply the features with a weight matrix: ``through @ (dropout(features, p) @ weight) + bias``.

        Args:
            weight: The weight [F, D].
            bias: A bias [D], or None for no bias.
            p: The dropout rate. Only non-zero features are drawn for.
            training: Whether to apply the dropout.
            through: An operator [N, N] to multiply with, or None for no operator.

        Returns:
            The product [N, D], differentiable by weight and bias.
        """
        rate = p if training else 0.0
        return differentiable(lambda w, b: self.trace(w, b, p=rate, through=through), weight, bias)

    def trace(
        self, weight: Tensor, bias: Tensor | None = None, *, p: float = 0.0, through: SparseMatrix | None = None
    ) -> tuple[Tensor, Back]:
        """Return the product of :meth:`product` in training mode, and the way back to weight and bias.

        Args:
            weight: The weight [F, D].
            bias: A bias [D], or None for no bias.
            p: The dropout rate.
            through: An operator [N, N] to multiply with, or None for no operator.

        Returns:
            The product [N, D], and a function from its gradient to those of ``weight`` and ``bias``.
        """
        x, transposed, scale = self._dropped(p)
        out = _scaled_product(x, weight, scale)
        if through is not None:
            out = csr_product(through.rows, out)
        if bias is not None:
            out.add_(bias)

        return out, _way_back(transposed, scale, bias is not None, through)

    def way_back(self, *, bias: bool, through: SparseMatrix | None = None) -> Back:
        """Return the way back of :meth:`trace` without dropout, for a caller who has the product already.

        Args:
            bias: Whether there is a bias.
            through: The operator, or None for no operator.

        Returns:
            A function from the product's gradient [N, D] to those of weight and bias.
        """
        _, transposed, scale = self._dropped(0.0)
        return _way_back(transposed, scale, bias, through)

    def _dropped(self, p: float) -> tuple[Tensor, Callable[[], list[Block]], float]:
        """The features after dropout, a function that transposes them, and the factor that both still lack."""
        if self._rows is None:
            assert self._dense is not None
            x = self._dense
            keep = 1.0
            if p > 0.0:
                bits, keep = keep_bits(x.numel(), 1.0 - p, x.device)
                x = torch.mul(x, bits.view(x.shape))
            return x, lambda: [(0, x.shape[0], x.t())], 1.0 / keep
        assert self._turned is not None
        rows, turned = self._rows, self._turned
        if p == 0.0:
            return rows, lambda: turned.constant, 1.0
        offsets, columns, values = csr_parts(rows)
        bits, keep = keep_bits(values.numel(), 1.0 - p, rows.device)
        values = torch.mul(values, bits)
        dropped = csr_like(offsets, columns, values, rows.shape)
        return dropped, lambda: turned.blocks(values), 1.0 / keep


class _Turned:
    """The transpose of sparse features, cut into blocks of nodes, for any values at the same places."""

    def __init__(self, x: Any, device: torch.device | str) -> None:
        """``x`` is a scipy CSR array [N, F]."""
        nodes, step = x.shape[0], x.shape[0] if x.shape[0] <= ONE_BLOCK_NODES else BLOCK_NODES
        places = scipy.sparse.csr_array((np.arange(x.nnz), x.indices, x.indptr), shape=x.shape)
        self._patterns: list[tuple[int, int, int, Tensor]] = []
        order, low = [], 0
        for first in range(0, nodes, step):
            last = min(first + step, nodes)
            turned = scipy.sparse.csr_array(places[first:last].T)
            self._patterns.append(
                (first, last, low, csr_tensor(turned.indptr, turned.indices, turned.data, turned.shape, device))
            )
            order.append(turned.data)
            low += turned.nnz
        self._order = torch.from_numpy(np.concatenate(order)).to(device)
        self.constant = self.blocks(torch.from_numpy(x.data).to(device))

    def blocks(self, values: Tensor) -> list[Block]:
        """The blocks with these values [nnz], given in the order of the untransposed features."""
        turned = values.index_select(0, self._order)
        out = []
        for first, last, low, pattern in self._patterns:
            offsets, columns, places = csr_parts(pattern)
            own = turned[low : low + places.numel()]
            out.append((first, last, csr_like(offsets, columns, own, pattern.shape)))
        return out


def _way_back(
    transposed: Callable[[], list[Block]], scale: float, bias: bool, through: SparseMatrix | None
) -> Back:
    def back(grad: Tensor) -> tuple[Tensor, Tensor | None]:
        bias_grad = grad.sum(0) if bias else None
        if through is not None:
            grad = csr_product(through.columns, grad)
        first, *others = transposed()
        weight_grad = _scaled_product(first[2], grad[first[0] : first[1]] if others else grad, scale)
        for low, high, block in others:
            weight_grad.add_(csr_product(block, grad[low:high]), alpha=scale)
        return weight_grad, bias_grad

    return back


def _scaled_product(x: Tensor, dense: Tensor, scale: float) -> Tensor:
    if x.layout != torch.strided:
        return csr_product(x, dense, scale)
    out = _product_in_blocks(x, dense) if x.device.type == "cpu" and x.stride(1) == 1 else torch.mm(x, dense)
    return out if scale == 1.0 else out.mul_(scale)


def _product_in_blocks(x: Tensor, dense: Tensor) -> Tensor:
    """``x @ dense``, some rows at a time: what is read of ``x`` and written stays in the cache."""
    out = dense.new_empty(x.shape[0], dense.shape[1])
    for low in range(0, x.shape[0], BLOCK_NODES):
        high = low + BLOCK_NODES
        torch.mm(x[low:high], dense, out=out[low:high])
    return out


def in_aligned_rows(x: Tensor) -> Tensor:
    """Copy a matrix so that each of its rows begins with a line of the cache.

    Args:
        x: A matrix [N, F].

    Returns:
        The same numbers, as a part of a wider matrix.
    """
    nodes, features = x.shape
    wide = x.new_zeros(nodes, -(-features // LINE) * LINE)
    wide[:, :features] = x
    return wide[:, :features]
