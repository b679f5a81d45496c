"""Features sparse and dense: the same product, gradient and dropout."""

from __future__ import annotations

import pytest
import scipy.sparse
import torch

from postel.graph import Features, SparseMatrix
from postel.graph import features as module
from postel.training import seeded


def _x(seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(30, 20, generator=generator)
    return x * (torch.rand(30, 20, generator=generator) < 0.3)


def _both() -> list[Features]:
    return [Features.from_dense(_x(), dense_above=above) for above in (0.0, 1.0)]


def _all() -> list[Features]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ONE_BLOCK_NODES", 8)
        patch.setattr(module, "BLOCK_NODES", 8)
        blocks = Features.from_dense(_x(), dense_above=1.0)
    assert len(blocks._turned.constant) == 4
    return [*_both(), blocks]


LAYOUTS = pytest.mark.parametrize("features", _all(), ids=["dense", "sparse", "sparse in blocks"])


def test_density_decides_the_layout():
    dense, sparse = _both()
    assert not dense.is_sparse and sparse.is_sparse
    assert torch.equal(dense.dense(), sparse.dense())
    assert Features.from_scipy(scipy.sparse.csr_array(_x().numpy()), dense_above=0.0).is_sparse is False


@LAYOUTS
@pytest.mark.parametrize("through", [False, True])
def test_product_and_gradient(features, through):
    mixing = torch.randn(30, 30)
    operator = SparseMatrix.from_scipy(scipy.sparse.csr_array(mixing.numpy())) if through else None
    weight, bias = torch.randn(20, 4, requires_grad=True), torch.randn(4, requires_grad=True)
    upstream = torch.randn(30, 4)
    out = features.product(weight, bias, through=operator)
    expected = (mixing @ (_x() @ weight) if through else _x() @ weight) + bias
    assert torch.allclose(out, expected, atol=1e-4)
    ours = torch.autograd.grad((out * upstream).sum(), [weight, bias])
    theirs = torch.autograd.grad((expected * upstream).sum(), [weight, bias])
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-3)
    with torch.no_grad():
        assert torch.allclose(features.product(weight, bias, through=operator), expected, atol=1e-4)


@LAYOUTS
def test_dropout_has_one_mask_forward_and_back_and_is_unbiased(features):
    weight = torch.eye(20, requires_grad=True)
    total = torch.zeros(30, 20)
    draws = 4000
    with seeded(0):
        for number in range(draws):
            out = features.product(weight, p=0.25, training=True)
            total += out.detach()
            if number == 0:
                # With an identity weight the gradient of sum(out * u) is the dropped features' transpose times u.
                upstream = torch.randn(30, 20)
                (grad,) = torch.autograd.grad((out * upstream).sum(), weight)
                assert torch.allclose(grad, out.detach().T @ upstream, atol=1e-4)
                ratio = (out / _x())[_x() != 0]
                assert {round(value, 3) for value in ratio.tolist()} == {0.0, 1.333}
    spread = _x().abs() * (0.25 / 0.75 / draws) ** 0.5
    assert bool(((total / draws - _x()).abs() <= 6 * spread + 1e-6).all())


def test_no_dropout_outside_training():
    features = _both()[1]
    assert torch.equal(features.product(torch.eye(20), p=0.9, training=False), features.product(torch.eye(20)))


def test_dense_features_are_multiplied_some_rows_at_a_time_and_in_aligned_rows_to_the_same_bits(monkeypatch):
    x, weight, upstream = torch.randn(50, 37), torch.randn(37, 5), torch.randn(50, 5)
    plain, plain_back = Features(x).trace(weight)
    aligned = module.in_aligned_rows(x)
    assert torch.equal(aligned, x) and aligned.stride() == (48, 1)
    monkeypatch.setattr(module, "BLOCK_NODES", 16)
    out, back = Features(aligned).trace(weight)
    assert torch.equal(out, plain) and torch.allclose(out, x @ weight, atol=1e-5)
    assert torch.equal(back(upstream)[0], plain_back(upstream)[0])
