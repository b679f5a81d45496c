"""Fused layers and hand-written gradients in training mode, against autograd with the same random bits."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from postel.backbones import BACKBONES, make_backbone
from postel.backbones.attention import NEGATIVE_SLOPE, attention_pattern, traced_attention
from postel.backbones.chebnet import combine_terms, spread_terms
from postel.backbones.gat import traced_elu
from postel.backbones.gating import traced_gates, traced_norm
from postel.backbones.layers import NARROW, traced_linear, traced_relu_linear
from postel.backbones.polynomial import traced_bernstein, traced_polynomial
from postel.graph import SparseMatrix, prepare
from postel.graph.bernoulli import keep_bits
from postel.training import seeded


def _same(traced, expected: torch.Tensor, inputs: list[torch.Tensor | None], tolerance: float = 1e-9) -> None:
    """A traced kernel's output and way back, against autograd of the plain formula."""
    (out, back), told = traced, [place for place, value in enumerate(inputs) if value is not None]
    assert torch.allclose(out, expected, atol=tolerance, rtol=tolerance)
    upstream = torch.randn_like(out)
    with torch.no_grad():
        mine = back(upstream.clone())
    theirs = torch.autograd.grad((expected * upstream).sum(), [inputs[place] for place in told], retain_graph=True)
    for place, gradient in zip(told, theirs, strict=True):
        assert torch.allclose(mine[place], gradient, atol=tolerance, rtol=tolerance)


def _randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def _random_matrix(size: int) -> tuple[SparseMatrix, torch.Tensor]:
    dense = (torch.randn(size, size) * (torch.rand(size, size) < 0.3)).double()
    row, column = dense.nonzero().t()
    matrix = SparseMatrix.from_entries(row, column, dense[row, column], (size, size))
    return SparseMatrix(matrix.rows.double(), matrix.columns.double()), dense


@pytest.mark.parametrize("width", [3, NARROW, NARROW + 1])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("with_operator", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_relu_dropout_linear(width, with_bias, with_operator, p):
    operator, dense = _random_matrix(11)
    x, weight = _randn(11, 7), _randn(width, 7)
    bias = _randn(width) if with_bias else None
    with seeded(5):
        bits, keep = keep_bits(x.numel(), 1 - p)
    expected = (x.relu() * bits.view(11, 7) / keep) @ weight.T
    expected = dense @ expected if with_operator else expected
    expected = expected + bias if bias is not None else expected
    through = operator if with_operator else None
    with seeded(5), torch.no_grad():
        traced = traced_relu_linear(x, weight, bias, p=p, through=through)
    _same(traced, expected, [x, weight, bias])


@pytest.mark.parametrize("width", [3, NARROW + 1])
def test_narrow_linear(width):
    x, weight, bias = _randn(11, 7), _randn(width, 7), _randn(width)
    with torch.no_grad():
        traced = traced_linear(x, weight, bias)
    _same(traced, x @ weight.T + bias, [x, weight, bias])


@pytest.mark.parametrize("p", [0.0, 0.4])
def test_elu_with_dropout(p):
    x = _randn(11, 7)
    with seeded(5):
        bits, keep = keep_bits(x.numel(), 1 - p)
    expected = torch.nn.functional.elu(x) * bits.view(11, 7) / keep
    with seeded(5), torch.no_grad():
        out, back = traced_elu(x, p)
    _same((out, lambda grad: [back(grad)]), expected, [x], 1e-6)  # the mask and its scale are float32


def test_polynomials_with_and_without_learned_coefficients():
    operator, dense = _random_matrix(8)
    x, learned = _randn(8, 3), _randn(4)
    powers = [torch.linalg.matrix_power(dense, k) for k in range(4)]
    expected = sum(learned[k] * powers[k] @ x for k in range(4))
    with torch.no_grad():
        traced, fixed = (traced_polynomial(operator, learned, x, learned=own) for own in (True, False))
    _same(traced, expected, [learned, x], 1e-8)
    _same(fixed, expected, [None, x], 1e-8)


def test_bernstein_takes_twice_the_order_products(monkeypatch):
    operator, dense = _random_matrix(8)
    square = dense @ dense
    other = SparseMatrix(operator.rows @ operator.rows, operator.columns @ operator.columns)
    x, learned = _randn(8, 3), _randn(6)
    power = torch.linalg.matrix_power
    expected = sum(learned[k] * power(square, 5 - k) @ power(dense, k) @ x for k in range(6))
    calls = []
    real_addmm = torch.addmm
    monkeypatch.setattr(torch, "addmm", lambda *args, **kwargs: calls.append(1) or real_addmm(*args, **kwargs))
    with torch.no_grad():
        traced = traced_bernstein(operator, other, learned, x)
    assert len(calls) == 2 * 5
    _same(traced, expected, [learned, x], 1e-6)


@pytest.mark.parametrize("terms", [1, 2, 3, 5])
def test_chebyshev_terms(terms):
    operator, dense = _random_matrix(8)
    scores = _randn(8, terms * 3)
    polynomials = [torch.eye(8, dtype=torch.float64), -dense]
    for _ in range(terms):
        polynomials.append(-2 * dense @ polynomials[-1] - polynomials[-2])
    parts = scores.chunk(terms, 1)
    expected = sum(polynomials[k] @ parts[k] for k in range(terms))
    with torch.no_grad():
        out = combine_terms(operator, scores, terms)
    _same((out, lambda grad: [spread_terms(operator, grad, terms)]), expected, [scores], 1e-8)


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize("size", [1.0, 200.0])  # the second is past what exp stands without a shift
@pytest.mark.parametrize(("heads", "width"), [(2, 3), (1, 1), (1, 7), (1, 8)])  # one narrow head has its own way
def test_attention_with_dropout_on_its_weights(p, size, heads, width):
    edge_index = torch.tensor([[0, 1, 2, 2, 2, 3], [1, 0, 1, 1, 2, 0]])
    graph = prepare(Data(x=torch.eye(5), edge_index=edge_index))
    pattern = attention_pattern(graph, heads)
    by_source, by_target = ((torch.randn(heads, 5).double() * size).requires_grad_() for _ in range(2))
    values = _randn(heads * 5, width)
    source, target = pattern.sources.long(), pattern.targets.long()
    with seeded(7):
        bits, keep = keep_bits(heads * source.numel(), 1 - p)
    scores = torch.nn.functional.leaky_relu(by_source[:, source] + by_target[:, target], NEGATIVE_SLOPE)
    expected = torch.zeros(heads, 5, width, dtype=torch.float64)
    for head in range(heads):
        for node in range(5):
            own = target == node
            weights = scores[head, own].softmax(0) * bits.view(heads, -1)[head, own] / keep
            expected[head, node] = weights @ values.view(heads, 5, width)[head, source[own]]
    with seeded(7), torch.no_grad():
        traced = traced_attention(pattern, by_source, by_target, values, p)
    _same(traced, expected.view(-1, width), [by_source, by_target, values])
    assert source.numel() == 5 + 5  # one loop a node; the repeated edge stays, the given loop does not


@pytest.mark.parametrize("first", [False, True])
def test_gates(first):
    operator, dense = _random_matrix(7)
    x, weight, bias = _randn(7, 6), _randn(3, 12), _randn(3)
    closed = None if first else torch.rand(7, 3, dtype=torch.float64, requires_grad=True)
    mean = dense @ x
    opened = (torch.cat([x, mean], 1) @ weight.T + bias).softmax(1).cumsum(1)
    gates = opened if closed is None else closed + (1 - closed) * opened
    spread = gates.repeat(1, 2)
    mixed = spread * x + (1 - spread) * mean
    with torch.no_grad():
        ours, our_gates, back = traced_gates(operator, weight, bias, x, closed)
    assert torch.allclose(ours, mixed) and torch.allclose(our_gates, gates)
    upstream, gates_upstream = torch.randn_like(mixed), torch.randn_like(gates)
    for later in (gates_upstream, None):
        with torch.no_grad():
            mine = back(upstream.clone(), later)
        total = (mixed * upstream).sum() + (0 if later is None else (gates * later).sum())
        inputs = [value for value in (x, closed, weight, bias) if value is not None]
        theirs = torch.autograd.grad(total, inputs, retain_graph=True)
        assert (mine[1] is None) == first
        for a, b in zip([value for value in mine if value is not None], theirs, strict=True):
            assert torch.allclose(a, b)


@pytest.mark.parametrize("p", [0.0, 0.4])
def test_norm_with_dropout(p):
    norm = torch.nn.LayerNorm(6).double()
    with torch.no_grad():
        norm.weight.copy_(torch.randn(6)), norm.bias.copy_(torch.randn(6))
    x = _randn(9, 6)
    with seeded(5):
        bits, keep = keep_bits(x.numel(), 1 - p)
    expected = norm(x) * bits.view(9, 6) / keep
    with seeded(5), torch.no_grad():
        traced = traced_norm(x, norm, p)
    _same(traced, expected, [x, norm.weight, norm.bias])


@pytest.mark.parametrize("name", BACKBONES)
def test_a_training_step_has_the_gradient_that_autograd_is_given(name):
    """``run`` sets the same gradients as ``backbone(graph)`` under autograd, with and without the shared layer."""
    torch.manual_seed(0)
    graph = prepare(Data(x=torch.rand(30, 6), edge_index=torch.randint(0, 30, (2, 90))))
    backbone, upstream = make_backbone(name, 6, 3), torch.randn(30, 3)
    with seeded(2):
        (backbone(graph) * upstream).sum().backward()
    expected = [parameter.grad for parameter in backbone.parameters()]
    shared = backbone.evaluate(graph)[1]
    for known in (None, shared):
        backbone.zero_grad()
        with seeded(2):
            logits, back = backbone.run(graph, known)
        assert not logits.requires_grad
        back(upstream.clone())
        for gradient, parameter in zip(expected, backbone.parameters(), strict=True):
            assert torch.equal(gradient, parameter.grad)


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
