"""Every backbone against torch_geometric's layers or dense algebra at equal weights: outputs and gradients.

Graphs are directed, with self-loops, repeated entries and isolated nodes.
"""

from __future__ import annotations

from itertools import pairwise
from math import comb

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import APPNP as PygAPPNP
from torch_geometric.nn import ChebConv, GATConv, GCNConv

from postel.backbones import make_backbone
from postel.graph import prepare

FEATURES, CLASSES = 5, 3


@st.composite
def graphs(draw: st.DrawFn) -> Data:
    nodes = draw(st.integers(2, 9))
    node = st.integers(0, nodes - 1)
    entries = draw(st.lists(st.tuples(node, node), max_size=30))
    edge_index = torch.tensor(entries, dtype=torch.int64).reshape(-1, 2).t().contiguous()
    if draw(st.booleans()):
        edge_index = torch.cat([edge_index, edge_index.flip(0)], 1)
    torch.manual_seed(draw(st.integers(0, 1000)))
    return Data(x=torch.randn(nodes, FEATURES) * (torch.rand(nodes, FEATURES) < 0.7), edge_index=edge_index)


def _compare(ours, reference, pairs, data, dense_above, tolerance=2e-4):
    """Equal logits, and equal gradients for each pair (our parameter, reference parameter, whether transposed)."""
    graph = prepare(data, dense_above=dense_above)
    ours.eval()
    out, expected = ours(graph), reference(data.x, data.edge_index)
    assert torch.allclose(out, expected, atol=tolerance)
    upstream = torch.randn_like(out)
    mine = torch.autograd.grad((out * upstream).sum(), [pair[0] for pair in pairs])
    theirs = torch.autograd.grad((expected * upstream).sum(), [pair[1] for pair in pairs])
    for a, b, (_, _, turned) in zip(mine, theirs, pairs, strict=True):
        b = b.t() if turned else b
        assert torch.allclose(a, b.reshape(a.shape), atol=tolerance * 5, rtol=1e-3)
    with torch.no_grad():
        assert torch.allclose(ours(graph), expected, atol=tolerance)


def _copy(pairs):
    with torch.no_grad():
        for mine, theirs, turned in pairs:
            mine.copy_((theirs.t() if turned else theirs).reshape(mine.shape))


def _randomize(module: nn.Module) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.7)


class Stack(nn.Module):
    def __init__(self, layers, act):
        super().__init__()
        self.layers, self.act = nn.ModuleList(layers), act

    def forward(self, x, edge_index):
        for layer in self.layers[:-1]:
            x = self.act(layer(x, edge_index))
        return self.layers[-1](x, edge_index)


DENSITIES = st.sampled_from([0.0, 1.0])


@given(graphs(), DENSITIES, st.integers(2, 3))
def test_gcn_equals_gcnconv(data, dense_above, depth):
    widths = [FEATURES, *[4] * (depth - 1), CLASSES]
    reference = Stack([GCNConv(a, b) for a, b in pairwise(widths)], F.relu)
    _randomize(reference)
    ours = make_backbone("gcn", FEATURES, CLASSES, hidden=4, num_layers=depth)
    convs, layers = reference.layers, [ours.first, *ours.middle, ours.last]
    pairs = [(mine.weight, conv.lin.weight, mine is ours.first) for mine, conv in zip(layers, convs, strict=True)]
    pairs += [(mine.bias, conv.bias, False) for mine, conv in zip(layers, convs, strict=True)]
    _copy(pairs)
    _compare(ours, reference, pairs, data, dense_above)


@given(graphs(), DENSITIES, st.integers(1, 3))
def test_gat_equals_gatconv(data, dense_above, heads):
    first = GATConv(FEATURES, 4, heads=heads)
    last = GATConv(4 * heads, CLASSES, heads=1, concat=False)
    reference = Stack([first, last], F.elu)
    _randomize(reference)
    ours = make_backbone("gat", FEATURES, CLASSES, hidden=4, heads=heads)
    pairs = [(ours.first.weight, first.lin.weight, True), (ours.last.weight, last.lin.weight, False)]
    for mine, conv in ((ours.attention[0], first), (ours.last_attention, last)):
        pairs += [(mine.source, conv.att_src, False), (mine.target, conv.att_dst, False)]
        pairs += [(mine.bias, conv.bias, False)]
    _copy(pairs)
    _compare(ours, reference, pairs, data, dense_above)


def test_gat_stands_extreme_scores():
    """The softmax is shifted by its own maximum: scores far apart neither overflow nor vanish."""
    data = Data(x=torch.eye(4)[:, :4], edge_index=torch.tensor([[0, 1, 2], [3, 3, 3]]))
    first, last = GATConv(4, 4), GATConv(4, 2, heads=1, concat=False)
    reference = Stack([first, last], F.elu)
    ours = make_backbone("gat", 4, 2, hidden=4, heads=1)
    pairs = [(ours.first.weight, first.lin.weight, True), (ours.last.weight, last.lin.weight, False)]
    for mine, conv in ((ours.attention[0], first), (ours.last_attention, last)):
        pairs += [(mine.source, conv.att_src, False), (mine.target, conv.att_dst, False)]
    with torch.no_grad():
        first.lin.weight.copy_(torch.eye(4))
        first.att_src.copy_(torch.tensor([300.0, -300.0, 100.0, 0.0]).view(1, 1, 4))
    _copy(pairs)
    _compare(ours, reference, pairs, data, 0.0)


@given(graphs(), DENSITIES, st.integers(1, 4))
def test_chebnet_equals_chebconv(data, dense_above, terms):
    first, last = ChebConv(FEATURES, 4, terms), ChebConv(4, CLASSES, terms)
    reference = Stack([first, last], F.relu)
    _randomize(reference)
    ours = make_backbone("chebnet", FEATURES, CLASSES, hidden=4, terms=terms)
    with torch.no_grad():
        ours.first.weight.copy_(torch.cat([lin.weight.t() for lin in first.lins], 1))
        ours.later[0].weight.copy_(torch.cat([lin.weight for lin in last.lins], 0))
        ours.biases[0].copy_(first.bias)
        ours.biases[1].copy_(last.bias)
    pairs = [(ours.biases[0], first.bias, False), (ours.biases[1], last.bias, False)]
    _compare(ours, reference, pairs, data, dense_above)
    graph, upstream = prepare(data, dense_above=dense_above), torch.randn(data.num_nodes, CLASSES)
    mine = torch.autograd.grad((ours(graph) * upstream).sum(), [ours.first.weight, ours.later[0].weight])
    weights = [lin.weight for lin in (*first.lins, *last.lins)]
    theirs = torch.autograd.grad((reference(data.x, data.edge_index) * upstream).sum(), weights)
    assert torch.allclose(mine[0], torch.cat([g.t() for g in theirs[:terms]], 1), atol=1e-3, rtol=1e-3)
    assert torch.allclose(mine[1], torch.cat(theirs[terms:], 0), atol=1e-3, rtol=1e-3)


class Spread(nn.Module):
    """A two-layer extractor in torch's own layers, and a propagation."""

    def __init__(self, propagate):
        super().__init__()
        self.first, self.last = nn.Linear(FEATURES, 4), nn.Linear(4, CLASSES)
        self.propagate = propagate

    def forward(self, x, edge_index):
        return self.propagate(self.last(self.first(x).relu()), edge_index)

    def pairs(self, extract):
        return [
            (extract.first.weight, self.first.weight, True),
            (extract.first.bias, self.first.bias, False),
            (extract.last.weight, self.last.weight, False),
            (extract.last.bias, self.last.bias, False),
        ]


@given(graphs(), DENSITIES)
def test_mlp_equals_linear_layers(data, dense_above):
    reference = Spread(lambda z, _: z)
    ours = make_backbone("mlp", FEATURES, CLASSES, hidden=4)
    pairs = reference.pairs(ours.extract)
    _copy(pairs)
    _compare(ours, reference, pairs, data, dense_above)


@given(graphs(), DENSITIES, st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.integers(1, 10))
def test_appnp_equals_torch_geometric(data, dense_above, teleport, steps):
    reference = Spread(PygAPPNP(steps, teleport))
    ours = make_backbone("appnp", FEATURES, CLASSES, hidden=4, steps=steps, teleport=teleport)
    pairs = reference.pairs(ours.extract)
    _copy(pairs)
    _compare(ours, reference, pairs, data, dense_above)


def _counts(edge_index, nodes):
    """Dense A with A[target, source] the number of entries, self-loops left out."""
    dense = torch.zeros(nodes, nodes)
    for source, target in edge_index.t().tolist():
        if source != target:
            dense[target, source] += 1
    return dense


def _scaled(matrix, degree):
    scale = torch.where(degree > 0, degree.clamp_min(1e-9) ** -0.5, torch.zeros(()))
    return scale.unsqueeze(1) * matrix * scale


@given(graphs(), DENSITIES, st.integers(1, 6))
def test_gprgnn_equals_dense_powers(data, dense_above, steps):
    gamma = nn.Parameter(torch.randn(steps + 1))

    def propagate(z, edge_index):
        matrix = _counts(edge_index, z.shape[0]) + torch.eye(z.shape[0])
        walk = _scaled(matrix, matrix.sum(1))
        return sum(gamma[k] * torch.linalg.matrix_power(walk, k) @ z for k in range(steps + 1))

    reference = Spread(propagate)
    ours = make_backbone("gprgnn", FEATURES, CLASSES, hidden=4, steps=steps)
    pairs = [*reference.pairs(ours.extract), (ours.gamma, gamma, False)]
    _copy(pairs)
    _compare(ours, reference, pairs, data, dense_above)


@given(graphs(), DENSITIES, st.integers(1, 8))
def test_bernnet_equals_dense_bernstein_sum(data, dense_above, order):
    theta = nn.Parameter(torch.randn(order + 1))

    def propagate(z, edge_index):
        counts, identity = _counts(edge_index, z.shape[0]), torch.eye(z.shape[0])
        low = identity - _scaled(counts, counts.sum(0))  # degrees are of outgoing entries
        high = 2 * identity - low
        power = torch.linalg.matrix_power
        return sum(
            theta[k].relu() * comb(order, k) / 2**order * power(high, order - k) @ power(low, k) @ z
            for k in range(order + 1)
        )

    reference = Spread(propagate)
    ours = make_backbone("bernnet", FEATURES, CLASSES, hidden=4, order=order)
    pairs = [*reference.pairs(ours.extract), (ours.theta, theta, False)]
    _copy(pairs)
    _compare(ours, reference, pairs, data, dense_above)


@pytest.mark.parametrize("global_gate", [False, True])
@pytest.mark.parametrize("input_layers", [1, 2])
@settings(max_examples=30)
@given(data=graphs(), layers=st.integers(1, 3))
def test_ordered_gnn_equals_dense_equations(global_gate, input_layers, data, layers):
    hidden, chunk = 6, 3
    ours = make_backbone(
        "ordered_gnn",
        FEATURES,
        CLASSES,
        hidden=hidden,
        chunk=chunk,
        num_layers=layers,
        input_layers=input_layers,
        global_gate=global_gate,
    )
    _randomize(ours)
    # Unit u follows gate entry u mod chunk here; the published order is consecutive: renumber the units.
    unit = torch.arange(hidden)
    order = (unit % (hidden // chunk)) * chunk + unit // (hidden // chunk)

    def norm(layer, x):
        return F.layer_norm(x, (hidden,), layer.weight[order], layer.bias[order])

    def reference(x, edge_index):
        counts = _counts(edge_index, x.shape[0])
        walk = counts / counts.sum(1, keepdim=True).clamp_min(1)
        x = norm(ours.input_norms[0], (x @ ours.first.weight[:, order] + ours.first.bias[order]).relu())
        for layer, own in zip(ours.inputs, ours.input_norms[1:], strict=True):
            x = norm(own, F.linear(x, layer.weight[order][:, order], layer.bias[order]).relu())
        gate = torch.zeros(x.shape[0], chunk)
        for number in range(layers):
            mean = walk @ x
            layer = ours.gates[0 if global_gate else number]
            weight = torch.cat([layer.weight[:, :hidden][:, order], layer.weight[:, hidden:][:, order]], 1)
            opened = F.linear(torch.cat([x, mean], 1), weight, layer.bias).softmax(1).cumsum(1)
            gate = gate + (1 - gate) * opened
            spread = gate.repeat_interleave(hidden // chunk, 1)
            x = norm(ours.norms[number], spread * x + (1 - spread) * mean)
        return F.linear(x, ours.last.weight[:, order], ours.last.bias)

    pairs = [(parameter, parameter, False) for parameter in ours.parameters()]
    _compare(ours, reference, pairs, data, 0.0, tolerance=2e-3)
