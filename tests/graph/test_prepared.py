"""``prepare``: what it accepts, what it keeps, what it refuses."""

from __future__ import annotations

import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import NormalizeFeatures

from postel.errors import InputError
from postel.graph import prepare

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def _data(**changes: object) -> Data:
    values: dict[str, object] = {"x": torch.rand(4, 5), "edge_index": EDGES}
    return Data(**{**values, **changes})


def test_sparse_and_dense_input_give_the_same_graph():
    x = torch.rand(4, 5) * (torch.rand(4, 5) < 0.5)
    kinds = [x, x.to_sparse(), x.to_sparse_csr(), scipy.sparse.csr_array(x.numpy())]
    for kind in kinds:
        data = Data(edge_index=EDGES)
        data.x = kind
        assert torch.equal(prepare(data).features.dense(), x)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_normalized_on_request(sparse):
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0], [2.0, 0.0]])
    data = Data(x=x.to_sparse() if sparse else x, edge_index=torch.tensor([[0], [1]]))
    expected = NormalizeFeatures()(Data(x=x.clone())).x
    assert torch.allclose(prepare(data, normalize_features=True).features.dense(), expected)
    assert torch.equal(prepare(data).features.dense(), x)


def test_operators_are_built_once():
    graph = prepare(_data())
    for name in ("gcn", "adjacency", "bernstein", "mean"):
        assert getattr(graph, name) is getattr(graph, name)


def test_features_are_spread_only_where_they_are_dense():
    x = torch.rand(4, 5)
    dense, sparse = prepare(_data(x=x)), prepare(_data(x=x), dense_above=1.0)
    assert sparse.spread_features("gcn") is None
    spread = dense.spread_features("gcn")
    assert spread is not None
    assert torch.allclose(spread.dense(), dense.gcn @ x)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"x": None}, "data.x is missing"),
        ({"x": torch.tensor([[float("nan")] * 5] * 4)}, "must be finite"),
        ({"x": torch.tensor([[float("inf")] * 5] * 4)}, "must be finite"),
        ({"x": torch.rand(4)}, r"shape \[N, F\]"),
        ({"x": torch.rand(4, 0)}, r"shape \[N, F\]"),
        ({"x": torch.ones(4, 5, dtype=torch.int64)}, r"use data.x.float\(\)"),
        ({"y": torch.zeros(3, dtype=torch.int64)}, "has 4 rows but data.y has 3"),
        ({"edge_index": None}, r"shape \[2, E\]"),
        ({"edge_index": torch.tensor([[0, 1, 2]])}, r"shape \[2, E\]"),
        ({"edge_index": EDGES.float()}, "must be int64"),
        ({"edge_index": torch.tensor([[0], [4]])}, r"nodes in \[0, 3\], got 0..4"),
        ({"edge_index": torch.tensor([[-1], [0]])}, r"nodes in \[0, 3\], got -1"),
    ],
)
def test_bad_input_is_one_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        prepare(_data(**changes))
    assert "\n" not in str(caught.value)
