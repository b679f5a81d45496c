"""What users of torch_geometric and OGB hand over: sparse adjacencies, index splits, networks, and mistakes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_geometric.transforms as T
from torch import Tensor, nn
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GAT, GCN, MLP, GCNConv
from torch_geometric.utils import to_torch_csr_tensor

from postel import NodeClassifier, PosteL, load_dataset, tune
from postel.errors import InputError
from postel.experiments.search.memory import GraphInMemory


@pytest.fixture(scope="module")
def karate() -> Data:
    return load_dataset("karate")


def quick(backbone: Any = "gcn", **changes: Any) -> NodeClassifier:
    settings = {"smoother": PosteL(), "max_epochs": 5, "pseudo_labels": 1, **changes}
    return NodeClassifier(backbone, **settings)


class Coordinates:
    """What torch-sparse's ``SparseTensor`` offers of itself, where that package is not installed."""

    def __init__(self, row: Tensor, column: Tensor) -> None:
        self.row, self.column = row, column

    def coo(self) -> tuple[Tensor, Tensor, None]:
        return self.row, self.column, None


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo, None], ids=str)
def test_a_transposed_adjacency_is_read_like_edges(karate: Data, layout: torch.layout | None) -> None:
    one_way = Data(**{**karate.to_dict(), "edge_index": karate.edge_index[:, karate.edge_index[0] < 20]})
    if layout is None:
        stored = Data(**{**one_way.to_dict(), "edge_index": None})
        stored.adj_t = Coordinates(one_way.edge_index[1], one_way.edge_index[0])
    else:
        stored = T.ToSparseTensor(remove_edge_index=True, layout=layout)(one_way)
        assert "edge_index" not in stored
    assert torch.equal(PosteL()(stored).soft_y, PosteL()(one_way).soft_y)
    if layout is not None:
        torch.testing.assert_close(quick().fit(stored).logits_, quick().fit(one_way).logits_)


def test_splits_may_be_node_ids_as_in_ogb(karate: Data) -> None:
    ids = karate.clone()
    for name in ("train_mask", "val_mask", "test_mask"):
        ids[name] = karate[name].nonzero().view(-1).flip(0)  # in any order
    assert torch.equal(PosteL()(ids).soft_y, PosteL()(karate).soft_y)
    by_ids, by_masks = quick().fit(ids), quick().fit(karate)
    assert torch.equal(by_ids.logits_, by_masks.logits_)
    assert by_ids.score(ids) == by_masks.score(karate) == by_masks.score(karate, ids.test_mask)


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        (torch.tensor([0, 0]), "train_mask names a node twice: ids must differ, and a mask must be a boolean"),
        (torch.tensor([1, 34]), r"train_mask must name nodes in \[0, 33\], got 34"),
        (torch.tensor([0, 1], dtype=torch.uint8), r"train_mask is uint8, .* use .*train_mask.bool\(\)"),
        (torch.tensor([0.5]), r"train_mask must be a boolean tensor of shape \[34\] or node ids, got float32"),
    ],
)
def test_node_ids_that_do_not_fit_are_refused(karate: Data, mask: Tensor, says: str) -> None:
    wrong = karate.clone()
    wrong.train_mask = mask
    for use in (PosteL(), quick().fit):
        with pytest.raises(InputError, match=says):
            use(wrong)


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (HeteroData(), "data is a HeteroData, whose nodes are of several kinds; .*to_homogeneous"),
        ([Data(), Data()], "data is a list of 2 items; give one graph at a time"),
        (torch.eye(3), "data must be a torch_geometric Data, got Tensor"),
        (None, "data must be a torch_geometric Data, got NoneType"),
    ],
    ids=["hetero", "list", "tensor", "nothing"],
)
def test_what_is_no_graph_is_named(graph: Any, says: str, karate: Data) -> None:
    fitted = quick(max_epochs=1, pseudo_labels=False).fit(karate)
    for use in (PosteL(), quick().fit, fitted.predict):
        with pytest.raises(InputError, match=says):
            use(graph)


class Own(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv = GCNConv(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv(x, edge_index)


@pytest.mark.parametrize("model", [GCN, GAT, GCNConv, MLP, Own], ids=lambda model: model.__name__)
def test_a_class_of_networks_simply_works(karate: Data, model: type[nn.Module]) -> None:
    fitted, again = quick(model).fit(karate), quick(model).fit(karate)
    assert fitted.predict_proba(karate).shape == (34, 4)
    assert torch.equal(fitted.logits_, again.logits_)


def test_a_class_takes_its_own_arguments(karate: Data) -> None:
    model = quick(GCN, backbone_args={"hidden_channels": 8, "num_layers": 3, "dropout": 0.5}).fit(karate)
    assert model.backbone_.module.num_layers == 3 and model.backbone_.module.hidden_channels == 8
    with pytest.raises(InputError, match="Own has no argument 'width'; it takes in_channels, out_channels"):
        quick(Own, backbone_args={"width": 3}).fit(karate)
    with pytest.raises(InputError, match=r"GAT cannot be made with these arguments: .*'width'"):
        quick(GAT, backbone_args={"width": 3}).fit(karate)


def test_an_instance_is_copied_and_reset(karate: Data) -> None:
    network = GCN(34, 16, 2, 4)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    first, again, other = (quick(network, seed=seed).fit(karate) for seed in (0, 0, 1))
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert torch.equal(first.logits_, again.logits_) and not torch.equal(first.logits_, other.logits_)
    plain = nn.Sequential(nn.Linear(34, 8), nn.ReLU(), nn.Linear(8, 4))
    assert quick(plain).fit(karate).predict(karate).shape == (34,)


class Weighty(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(34, 4))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x @ self.weight


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (GCN(10, 8, 2, 4), "this GCN has in_channels=10, but the graph has 34 features"),
        (GCN(34, 8, 2, 3), "this GCN has out_channels=3, but the graph has 4 classes"),
        (nn.Linear(34, 5), r"Linear must return logits of shape \[34, 4\], got \[34, 5\]"),
        (Weighty(), r"Weighty has weights but no reset_parameters\(\)"),
        (3, "backbone must be a name, a class, a function or a torch module, got int"),
        (dict, "dict is no class of torch modules"),
    ],
    ids=["features", "classes", "logits", "reset", "number", "class"],
)
def test_a_network_that_cannot_be_used_is_named(karate: Data, model: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        quick(model).fit(karate)


def test_a_search_takes_node_ids_for_masks(karate: Data) -> None:
    by_id = karate.clone()
    for name in ("train_mask", "val_mask", "test_mask"):
        by_id[name] = karate[name].nonzero().view(-1)
    chosen = [
        tune(data, methods=["one_hot"], budget=6, workers=1, progress=False, fixed={"max_epochs": 3})
        for data in (karate, by_id)
    ]
    assert chosen[0].chosen.setting == chosen[1].chosen.setting
    assert chosen[0].lines[0].summary == chosen[1].lines[0].summary
    assert GraphInMemory.of(by_id).nodes == int(karate.val_mask.sum())


def test_a_search_takes_a_transposed_adjacency(karate: Data) -> None:
    adjacent = karate.clone()
    adjacent.adj_t = to_torch_csr_tensor(karate.edge_index.flip(0), size=(34, 34))
    del adjacent.edge_index
    quickly = {"methods": ["ls"], "budget": 6, "progress": False, "fixed": {"max_epochs": 3}}
    chosen = [
        tune(data, workers=workers, **quickly) for data, workers in ((karate, 1), (adjacent, 1), (adjacent, 2))
    ]
    scores = [[line.score for line in choice.lines] for choice in chosen]
    assert scores[0] == scores[1] == scores[2] and chosen[0].reason == chosen[1].reason


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (HeteroData(), "data is a HeteroData"),
        ([Data(), Data()], "data is a list of 2 items; give one graph at a time"),
        (None, "data must be a torch_geometric Data, got NoneType"),
        (Data(x=torch.ones(3, 2), y=torch.tensor([0, 1, 0])), "data.edge_index must be a tensor"),
    ],
    ids=["hetero", "list", "nothing", "no edges"],
)
def test_a_search_names_what_is_no_graph(data: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        tune(data, methods=["ls"], budget=6, workers=1, progress=False)
