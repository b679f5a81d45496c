"""A sparse matrix that carries its transpose, and its product with a correct gradient.

The gradient of ``M @ x`` is ``M.T @ g``. Building that transpose costs more than the product itself, so it is
built once with the matrix; a symmetric matrix is its own.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, Protocol

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

_INT32_MAX = 2**31 - 1

# From this many columns on, an embedding bag is faster than a sparse product.
_WIDE = 32


class SparseMatrix:
    """A constant matrix [R, C] in compressed rows, with its transpose at hand.

    Use :meth:`from_scipy` or :meth:`from_entries` to make one.

    Args:
        rows: The matrix as a CSR tensor [R, C].
        columns: Its transpose as a CSR tensor [C, R]; ``rows`` itself if the matrix is symmetric.

    Example:
        >>> row, column, values = torch.tensor([0, 1]), torch.tensor([1, 2]), torch.tensor([2.0, 3.0])
        >>> matrix = SparseMatrix.from_entries(row, column, values, (2, 3))
        >>> (matrix @ torch.eye(3)).tolist()
        [[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]
        >>> matrix.T.shape
        (3, 2)
    """

    def __init__(self, rows: Tensor, columns: Tensor) -> None:
        self.rows = rows
        self.columns = columns

    @classmethod
    def from_scipy(cls, matrix: Any, device: torch.device | str = "cpu") -> SparseMatrix:
        """Make the same matrix as a scipy sparse one; repeated entries are added up.

        Args:
            matrix: A scipy sparse matrix [R, C].
            device: Where to put it.

        Returns:
            The matrix with its transpose.
        """
        matrix = scipy.sparse.csr_array(matrix)
        matrix.sum_duplicates()
        rows = csr_tensor(matrix.indptr, matrix.indices, matrix.data, matrix.shape, device)
        turned = scipy.sparse.csr_array(matrix.T)
        if matrix.shape == turned.shape and all(
            np.array_equal(getattr(matrix, part), getattr(turned, part)) for part in ("indptr", "indices", "data")
        ):
            return cls(rows, rows)
        return cls(rows, csr_tensor(turned.indptr, turned.indices, turned.data, turned.shape, device))

    @classmethod
    def from_entries(
        cls,
        row: Tensor,
        column: Tensor,
        values: Tensor,
        shape: tuple[int, int],
        device: torch.device | str = "cpu",
    ) -> SparseMatrix:
        """Make a matrix from its entries; repeated ones are added up.

        Args:
            row: The row of each entry [E].
            column: The column of each entry [E].
            values: The value of each entry [E].
            shape: Rows and columns.
            device: Where to put it.

        Returns:
            The matrix with its transpose.
        """
        entries = (values.cpu().numpy(), (row.cpu().numpy(), column.cpu().numpy()))
        return cls.from_scipy(scipy.sparse.coo_array(entries, shape=shape), device)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.rows.shape[0], self.rows.shape[1])

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return int(self.rows.values().numel())

    @property
    def is_symmetric(self) -> bool:
        """Whether the matrix is its own transpose."""
        return self.rows is self.columns

    @property
    def T(self) -> SparseMatrix:
        """The transpose, without any work."""
        return SparseMatrix(self.columns, self.rows)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """Return ``self @ dense`` [R, D] without a gradient; :func:`sparse_product` has one."""
        return csr_product(self.rows, dense)

    def __repr__(self) -> str:
        kind = "symmetric" if self.is_symmetric else "general"
        return f"SparseMatrix({self.shape[0]}x{self.shape[1]}, {self.nnz} entries, {kind})"


def csr_tensor(
    indptr: Any, indices: Any, values: Any, shape: tuple[int, ...], device: torch.device | str = "cpu"
) -> Tensor:
    """Make a torch CSR tensor of float32 values, with 32-bit indices where they suffice.

    Args:
        indptr: Where each row starts, [R + 1], as a numpy or torch array.
        indices: The column of each entry [E].
        values: The value of each entry [E].
        shape: Rows and columns.
        device: Where to put it.

    Returns:
        The CSR tensor.

    Example:
        >>> csr_tensor([0, 1, 1], [1], [2.0], (2, 2)).to_dense().tolist()
        [[0.0, 2.0], [0.0, 0.0]]
    """
    small = max(len(indices), shape[0], shape[1]) <= _INT32_MAX
    index_type = np.int32 if small else np.int64
    parts = (
        torch.from_numpy(np.ascontiguousarray(indptr, dtype=index_type)),
        torch.from_numpy(np.ascontiguousarray(indices, dtype=index_type)),
        torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)),
    )
    crow, columns, data = (part.to(device) for part in parts)
    return csr_like(crow, columns, data, shape)


def csr_like(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Make a torch CSR tensor over these very tensors: no copy, no check.

    Args:
        indptr: Where each row starts, [R + 1].
        indices: The column of each entry [E].
        values: The value of each entry [E].
        shape: Rows and columns.

    Returns:
        The CSR tensor.

    Example:
        >>> row, column = torch.tensor([0, 1, 1]), torch.tensor([1])
        >>> csr_like(row, column, torch.tensor([2.0]), (2, 2)).to_dense().tolist()
        [[0.0, 2.0], [0.0, 0.0]]
    """
    _hear_warning()
    matrix = torch.sparse_csr_tensor(indptr, indices, values, size=shape, check_invariants=False)
    # Asking the tensor for its parts makes three new views each time, in every product of a training step.
    vars(matrix)["parts"] = (indptr, indices, values)
    return matrix


def csr_parts(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return offsets, columns and values of a CSR tensor.

    Args:
        matrix: A CSR tensor, at best one of :func:`csr_like`, which has them at hand.

    Returns:
        Where each row starts [R + 1], the column of each entry [E], and its value [E].

    Example:
        >>> [part.tolist() for part in csr_parts(torch.eye(2).to_sparse_csr())]
        [[0, 1, 2], [0, 1], [1.0, 1.0]]
    """
    parts: tuple[Tensor, Tensor, Tensor] | None = vars(matrix).get("parts")
    return parts or (matrix.crow_indices(), matrix.col_indices(), matrix.values())


@cache
def _hear_warning() -> None:
    """Let torch say once, unheard, that its CSR support is beta: the products used here are tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        torch.sparse_csr_tensor(torch.tensor([0, 0]), torch.tensor([], dtype=torch.int64), [], size=(1, 1))


class Multiplier(Protocol):
    """What stands in for a CSR tensor where its entries are not stored."""

    shape: tuple[int, int]

    def multiply(self, dense: Tensor, scale: float = 1.0) -> Tensor:
        """Multiply with a dense matrix.

        Args:
            dense: A matrix [C, D].
            scale: A factor for the product.

        Returns:
            The product [R, D].
        """


def csr_product(matrix: Tensor | Multiplier, dense: Tensor, scale: float = 1.0) -> Tensor:
    """Return ``scale * matrix @ dense``, without gradient.

    A row of the product is a weighted sum of rows of ``dense``, which is what an embedding bag sums: on a CPU its
    kernel takes less than half the time of the sparse product once the rows are wide. For narrow ones,
    ``torch.mm`` fills the output with zeros twice before it multiplies; writing into an empty one does not.

    Args:
        matrix: A CSR tensor [R, C], or what stands in for one.
        dense: A matrix [C, D].
        scale: A factor for the product.

    Returns:
        The product [R, D].

    Example:
        >>> csr_product(csr_tensor([0, 1, 1], [1], [2.0], (2, 2)), torch.ones(2, 1)).tolist()
        [[2.0], [0.0]]
    """
    if not isinstance(matrix, Tensor):
        return matrix.multiply(dense, scale)
    if dense.shape[1] >= _WIDE and dense.dtype == torch.float32 and dense.device.type == "cpu":
        out = weighted_row_sums(*csr_parts(matrix), dense)
        return out if scale == 1.0 else out.mul_(scale)
    out = torch.empty((matrix.shape[0], dense.shape[1]), dtype=dense.dtype, device=dense.device)
    return torch.addmm(out, matrix, dense, beta=0.0, alpha=scale, out=out)


def weighted_row_sums(indptr: Tensor, indices: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    """Return the product of compressed rows with a wide matrix, without gradient.

    Args:
        indptr: Where each row starts, [R + 1].
        indices: The column of each entry [E].
        values: The value of each entry [E].
        dense: A matrix [C, D] in float32 on the CPU.

    Returns:
        The product [R, D].

    Example:
        >>> weighted_row_sums(torch.tensor([0, 2]), torch.tensor([0, 1]), torch.tensor([1.0, 2.0]), torch.eye(2))
        tensor([[1., 2.]])
    """
    # The public function, given a weight that can have a gradient, also prepares the way back to it.
    out: Tensor = torch._embedding_bag_forward_only(
        dense.contiguous(), indices, indptr, False, 0, False, values, True
    )[0]
    return out


def csr_multiply_add(matrix: Tensor | Multiplier, dense: Tensor, other: Tensor, weight: float) -> Tensor:
    """Return ``matrix @ dense + weight * other`` in one step, without gradient.

    Args:
        matrix: A CSR tensor [R, C], or what stands in for one.
        dense: A matrix [C, D].
        other: A matrix [R, D].
        weight: The factor of ``other``.

    Returns:
        The sum [R, D].

    Example:
        >>> matrix = csr_tensor([0, 1, 1], [1], [2.0], (2, 2))
        >>> csr_multiply_add(matrix, torch.ones(2, 1), torch.ones(2, 1), 10.0).tolist()
        [[12.0], [10.0]]
    """
    if not isinstance(matrix, Tensor):
        return matrix.multiply(dense).add_(other, alpha=weight)
    return torch.addmm(other, matrix, dense, beta=weight)


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: SparseMatrix, dense: Tensor, bias: Tensor | None) -> Tensor:
        ctx.matrix = matrix
        ctx.has_bias = bias is not None
        out = csr_product(matrix.rows, dense)
        return out if bias is None else out.add_(bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor | None]:
        grad = grad.contiguous()
        return None, csr_product(ctx.matrix.columns, grad), grad.sum(0) if ctx.has_bias else None


def sparse_product(matrix: SparseMatrix, dense: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``matrix @ dense + bias``; its gradient uses the stored transpose.

    Args:
        matrix: The matrix [R, C].
        dense: A matrix [C, D].
        bias: A bias [D], or None for no bias.

    Returns:
        The product [R, D], differentiable by ``dense`` and ``bias``.

    Example:
        >>> row, column, values = torch.tensor([0, 1]), torch.tensor([1, 1]), torch.tensor([2.0, 3.0])
        >>> matrix = SparseMatrix.from_entries(row, column, values, (2, 2))
        >>> x = torch.ones(2, 1, requires_grad=True)
        >>> sparse_product(matrix, x).sum().backward()
        >>> x.grad.tolist()
        [[0.0], [5.0]]
    """
    if torch.is_grad_enabled():
        return _SparseProduct.apply(matrix, dense, bias)
    out = csr_product(matrix.rows, dense)
    return out if bias is None else out.add_(bias)
