"""The usual way to write the eight backbones and their training loop with torch_geometric, to measure against.

Features are dense, dropout is torch's, messages are scattered; every layer is what torch_geometric's user gets.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import APPNP, ChebConv, GATConv, GCNConv, SimpleConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops, get_laplacian, remove_self_loops


class Convolutions(nn.Module):
    """Two convolutions with an activation and dropout between; GAT also drops its input."""

    def __init__(self, first: nn.Module, second: nn.Module, act: Callable[..., Tensor], drop_input: bool) -> None:
        super().__init__()
        self.first, self.second, self.act, self.drop_input = first, second, act, drop_input

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if self.drop_input:
            x = F.dropout(x, 0.5, self.training)
        x = F.dropout(self.act(self.first(x, edge_index)), 0.5, self.training)
        out: Tensor = self.second(x, edge_index)
        return out


class Spread(nn.Module):
    """A two-layer extractor, then a propagation of its class scores."""

    def __init__(self, inputs: int, classes: int, propagate: nn.Module | None, p: float = 0.0) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(inputs, 64), nn.Linear(64, classes)
        self.propagate, self.p = propagate, p

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = F.dropout(self.first(F.dropout(x, 0.5, self.training)).relu(), 0.5, self.training)
        x = F.dropout(self.second(x), self.p, self.training)
        return x if self.propagate is None else self.propagate(x, edge_index)


class PageRank(nn.Module):
    """GPR-GNN's propagation."""

    def __init__(self) -> None:
        super().__init__()
        self.propagate = SimpleConv("sum")
        powers = 0.9 ** torch.arange(11)
        powers[:-1] *= 0.1
        self.gamma = nn.Parameter(powers)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        edge_index, weight = gcn_norm(edge_index, None, x.size(0), dtype=x.dtype)
        out = x * self.gamma[0]
        for gamma in self.gamma[1:]:
            x = self.propagate(x, edge_index, weight)
            out = out + gamma * x
        return out


class Bernstein(nn.Module):
    """BernNet's propagation, K(K+3)/2 products as published."""

    def __init__(self, order: int = 10) -> None:
        super().__init__()
        self.propagate = SimpleConv("sum")
        self.order = order
        self.theta = nn.Parameter(torch.ones(order + 1))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        order, theta = self.order, self.theta.relu()
        low_index, low = get_laplacian(edge_index, None, "sym", x.dtype, x.size(0))
        high_index, high = add_self_loops(low_index, -low, fill_value=2.0, num_nodes=x.size(0))
        powers = [x]
        for _ in range(order):
            powers.append(self.propagate(powers[-1], high_index, high))
        out: Tensor = powers[order] * theta[0] / 2**order
        for k in range(1, order + 1):
            term = powers[order - k]
            for _ in range(k):
                term = self.propagate(term, low_index, low)
            out = out + theta[k] * (comb(order, k) / 2**order) * term
        return out


class Ordered(nn.Module):
    """OrderedGNN."""

    def __init__(self, inputs: int, classes: int, hidden: int = 256, chunk: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.propagate = SimpleConv("mean")
        self.first, self.last, self.chunk = nn.Linear(inputs, hidden), nn.Linear(hidden, classes), chunk
        self.input_norm = nn.LayerNorm(hidden)
        self.gates = nn.ModuleList(nn.Linear(2 * hidden, chunk) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        edge_index, _ = remove_self_loops(edge_index)
        x = self.input_norm(self.first(F.dropout(x, 0.5, self.training)).relu())
        closed = x.new_zeros(x.size(0), self.chunk)
        for gate, norm in zip(self.gates, self.norms, strict=True):
            x = F.dropout(x, 0.5, self.training)
            mean = self.propagate(x, edge_index)
            closed = closed + (1 - closed) * gate(torch.cat([x, mean], 1)).softmax(1).cumsum(1)
            spread = closed.repeat_interleave(x.size(1) // self.chunk, dim=1)
            x = norm(spread * x + (1 - spread) * mean)
        out: Tensor = self.last(F.dropout(x, 0.5, self.training))
        return out


def reference_model(name: str, inputs: int, classes: int) -> nn.Module:
    """The backbone called ``name`` in torch_geometric's usual form, called as ``module(x, edge_index)``."""
    makers: dict[str, Callable[[], nn.Module]] = {
        "gcn": lambda: Convolutions(GCNConv(inputs, 64), GCNConv(64, classes), F.relu, False),
        "gat": lambda: Convolutions(
            GATConv(inputs, 8, heads=8, dropout=0.5),
            GATConv(64, classes, heads=1, concat=False, dropout=0.5),
            F.elu,
            True,
        ),
        "appnp": lambda: Spread(inputs, classes, APPNP(10, 0.1)),
        "mlp": lambda: Spread(inputs, classes, None),
        "chebnet": lambda: Convolutions(ChebConv(inputs, 32, 2), ChebConv(32, classes, 2), F.relu, False),
        "gprgnn": lambda: Spread(inputs, classes, PageRank(), 0.5),
        "bernnet": lambda: Spread(inputs, classes, Bernstein(), 0.5),
        "ordered_gnn": lambda: Ordered(inputs, classes),
    }
    return makers[name]()


def reference_loop(model: nn.Module, data: Any, evaluations: int) -> Callable[[], float]:
    """A function that runs one epoch and returns the validation loss.

    The usual loop evaluates once without gradients; the published one runs four evaluation forwards per epoch.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    masks = (data.val_mask, data.train_mask, data.test_mask, data.val_mask)

    def epoch() -> float:
        model.train()
        optimizer.zero_grad()
        loss: Any = F.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
        model.eval()
        losses = []
        for number in range(evaluations):
            with torch.no_grad():
                out = model(data.x, data.edge_index)
                chosen = masks if evaluations == 1 else masks[number : number + 1]
                for mask in chosen[:3]:
                    losses.append(F.cross_entropy(out[mask], data.y[mask]).item())
        return losses[0]

    return epoch
