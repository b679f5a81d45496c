"""Fused layers and hand-written gradients in training mode, against autograd with the same random bits."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from postel.backbones import BACKBONES, make_backbone
from postel.backbones.attention import NEGATIVE_SLOPE, attend, attention_pattern
from postel.backbones.layers import NARROW, narrow_linear, relu_dropout_linear
from postel.backbones.polynomial import bernstein, polynomial
from postel.graph import SparseMatrix, prepare
from postel.graph.bernoulli import keep_bits
from postel.training import seeded


def _same(ours: torch.Tensor, expected: torch.Tensor, inputs: list[torch.Tensor]) -> None:
    assert torch.allclose(ours, expected, atol=1e-4, rtol=1e-4)
    upstream = torch.randn_like(ours)
    mine = torch.autograd.grad((ours * upstream).sum(), inputs)
    theirs = torch.autograd.grad((expected * upstream).sum(), inputs)
    for a, b in zip(mine, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-3, rtol=1e-3)


def _random_matrix(size: int) -> tuple[SparseMatrix, torch.Tensor]:
    dense = torch.randn(size, size) * (torch.rand(size, size) < 0.3)
    row, column = dense.nonzero().t()
    return SparseMatrix.from_entries(row, column, dense[row, column], (size, size)), dense


@pytest.mark.parametrize("width", [3, NARROW, NARROW + 1])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("with_operator", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_relu_dropout_linear(width, with_bias, with_operator, p):
    operator, dense = _random_matrix(11)
    x = torch.randn(11, 7, requires_grad=True)
    weight = torch.randn(width, 7, requires_grad=True)
    bias = torch.randn(width, requires_grad=True) if with_bias else None
    with seeded(5):
        bits, keep = keep_bits(x.numel(), 1 - p)
    expected = (x.relu() * bits.view(11, 7) / keep) @ weight.T
    expected = dense @ expected if with_operator else expected
    expected = expected + bias if bias is not None else expected
    through = operator if with_operator else None
    with seeded(5):
        ours = relu_dropout_linear(x, weight, bias, p=p, training=True, through=through)
    _same(ours, expected, [x, weight] + ([bias] if bias is not None else []))
    with seeded(5), torch.no_grad():
        plain = relu_dropout_linear(x, weight, bias, p=p, training=True, through=through)
    assert torch.allclose(plain, expected, atol=1e-4)


@pytest.mark.parametrize("width", [3, NARROW + 1])
def test_narrow_linear(width):
    x, weight = torch.randn(11, 7, requires_grad=True), torch.randn(width, 7, requires_grad=True)
    bias = torch.randn(width, requires_grad=True)
    _same(narrow_linear(x, weight, bias), x @ weight.T + bias, [x, weight, bias])


def test_polynomials_with_and_without_learned_coefficients():
    operator, dense = _random_matrix(8)
    x = torch.randn(8, 3, requires_grad=True)
    learned = torch.randn(4, requires_grad=True)
    powers = [torch.linalg.matrix_power(dense, k) for k in range(4)]
    expected = sum(learned[k] * powers[k] @ x for k in range(4))
    _same(polynomial(operator, learned, x), expected, [x, learned])
    fixed = learned.detach()
    _same(polynomial(operator, fixed, x), sum(fixed[k] * powers[k] @ x for k in range(4)), [x])


def test_bernstein_takes_twice_the_order_products(monkeypatch):
    operator, dense = _random_matrix(8)
    other, _ = _random_matrix(8)
    other = SparseMatrix.from_entries(
        *(dense @ dense).nonzero().t(), (dense @ dense)[(dense @ dense) != 0], (8, 8)
    )
    x, learned = torch.randn(8, 3, requires_grad=True), torch.randn(6, requires_grad=True)
    power = torch.linalg.matrix_power
    expected = sum(learned[k] * power(dense @ dense, 5 - k) @ power(dense, k) @ x for k in range(6))
    _same(bernstein(operator, other, learned, x) / 100, expected / 100, [x, learned])
    calls = []
    real_addmm = torch.addmm
    monkeypatch.setattr(torch, "addmm", lambda *args, **kwargs: calls.append(1) or real_addmm(*args, **kwargs))
    bernstein(operator, other, learned, x)
    assert len(calls) == 2 * 5


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_attention_with_dropout_on_its_weights(p):
    edge_index = torch.tensor([[0, 1, 2, 2, 2, 3], [1, 0, 1, 1, 2, 0]])
    graph, heads, width = prepare(Data(x=torch.eye(5), edge_index=edge_index)), 2, 3
    pattern = attention_pattern(graph, heads)
    by_source, by_target = (torch.randn(5 * heads, requires_grad=True) for _ in range(2))
    values = torch.randn(5 * heads, width, requires_grad=True)
    source, target = pattern.sources.long(), pattern.targets.long()
    with seeded(7):
        bits, keep = keep_bits(source.numel(), 1 - p)
    scores = torch.nn.functional.leaky_relu(by_source[source] + by_target[target], NEGATIVE_SLOPE).exp()
    weights = scores / torch.zeros(5 * heads).index_add(0, target, scores)[target] * bits / keep
    expected = torch.zeros(5 * heads, width).index_add(0, target, weights.unsqueeze(1) * values[source])
    with seeded(7):
        ours = attend(pattern, by_source, by_target, values, p, training=True)
    _same(ours, expected, [by_source, by_target, values])
    assert source.numel() == heads * (5 + 5)  # one loop a node; the repeated edge stays, the given loop does not


@pytest.mark.parametrize("name", BACKBONES)
def test_gradients_stand_a_plain_sum_and_features_of_zeros(name):
    """The gradient of a sum has no memory of its own, and zero features leave nothing to multiply."""
    edge_index = torch.randint(0, 10, (2, 30), generator=torch.Generator().manual_seed(0))
    for x in (torch.rand(10, 4), torch.zeros(10, 4)):
        graph, backbone = prepare(Data(x=x, edge_index=edge_index)), make_backbone(name, 4, 3).eval()
        backbone(graph).sum().backward()
        grads = [parameter.grad for parameter in backbone.parameters()]
        backbone.zero_grad()
        (backbone(graph) * torch.ones(10, 3)).sum().backward()
        for first, parameter in zip(grads, backbone.parameters(), strict=True):
            assert torch.allclose(first, parameter.grad, atol=1e-4)


@pytest.mark.parametrize("name", BACKBONES)
def test_shared_first_layer_is_exact_and_dropout_acts_in_training_only(name):
    torch.manual_seed(0)
    edge_index = torch.randint(0, 40, (2, 120))
    graph = prepare(Data(x=torch.rand(40, 12), edge_index=edge_index))
    backbone = make_backbone(name, 12, 3)
    backbone.switch(False)
    assert not any(module.training for module in backbone.modules())
    first, second = backbone(graph), backbone.decode(graph, backbone.encode(graph))
    assert torch.equal(first, second)
    backbone.switch(True)
    assert all(module.training for module in backbone.modules())
    assert not torch.equal(backbone(graph), backbone(graph))
    with seeded(3):
        drawn = backbone(graph)
    with seeded(3):
        assert torch.equal(drawn, backbone(graph))
