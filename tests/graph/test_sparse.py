"""The sparse matrix, its product and its gradient, against dense algebra."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postel.graph import SparseMatrix, sparse_product


@st.composite
def matrices(draw: st.DrawFn) -> tuple[SparseMatrix, torch.Tensor]:
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    cell = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1), st.integers(-4, 4))
    cells = draw(st.lists(cell, max_size=20))
    dense = torch.zeros(rows, columns)
    for row, column, value in cells:
        dense[row, column] += value
    parts = [torch.tensor([c[i] for c in cells], dtype=torch.int64) for i in range(3)]
    return SparseMatrix.from_entries(parts[0], parts[1], parts[2].float(), (rows, columns)), dense


@given(matrices(), st.sampled_from([1, 2, 5, 31, 32, 64]))
def test_product_and_gradient_equal_dense_ones(pair, width):
    matrix, dense = pair
    x = torch.randn(dense.shape[1], width, requires_grad=True)
    bias = torch.randn(width, requires_grad=True)
    weight = torch.randn(dense.shape[0], width)
    ours = torch.autograd.grad((sparse_product(matrix, x, bias) * weight).sum(), [x, bias])
    theirs = torch.autograd.grad(((dense @ x + bias) * weight).sum(), [x, bias])
    assert torch.allclose(sparse_product(matrix, x, bias), dense @ x + bias, atol=1e-4)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-4)


@given(matrices())
def test_transpose_costs_nothing_and_is_right(pair):
    matrix, dense = pair
    assert matrix.T.rows is matrix.columns
    assert torch.equal(matrix.T @ torch.eye(dense.shape[0]), dense.T)


def test_symmetric_matrix_is_its_own_transpose():
    pair = torch.tensor([0, 1])
    matrix = SparseMatrix.from_entries(pair, pair.flip(0), torch.ones(2), (2, 2))
    assert matrix.is_symmetric and matrix.T.rows is matrix.rows
    skew = SparseMatrix.from_entries(pair, pair.flip(0), torch.tensor([1.0, 2.0]), (2, 2))
    assert not skew.is_symmetric


@pytest.mark.parametrize("width", [2, 64])
def test_empty_matrix_gives_zeros_whatever_the_memory_held(width):
    nothing = torch.empty(0, dtype=torch.int64)
    matrix = SparseMatrix.from_entries(nothing, nothing, torch.empty(0), (3, 3))
    for _ in range(20):
        garbage = torch.full((3, width), float("nan"))
        del garbage
        assert torch.equal(matrix @ torch.ones(3, width), torch.zeros(3, width))


@pytest.mark.parametrize("width", [1, 3, 8])
def test_no_gradient_is_recorded_without_need(width):
    pair = torch.tensor([0, 1])
    matrix = SparseMatrix.from_entries(pair, pair, torch.ones(2), (2, 2))
    with torch.no_grad():
        assert not sparse_product(matrix, torch.ones(2, width, requires_grad=True)).requires_grad
