"""Which end of a directed edge is whose neighbor: ``flow``, as torch_geometric's ``MessagePassing`` has it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.nn import SimpleConv
from torch_geometric.utils import is_undirected, to_undirected

from postel import ALS, SALS, CalibratedPosteL, NodeClassifier, OneHot, PosteL, direction, functional
from postel.direction import is_directed
from postel.experiments.running.execute import classifier_of
from postel.experiments.spec import MethodSpec, RunSpec
from postel.smoothers import Smoother
from postel.smoothers.graph_labels import known_labels
from support import SmallGraph, small_graphs

METHODS: list[Smoother] = [PosteL(), CalibratedPosteL(), SALS(weight="sym"), ALS()]


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direction, "_told", [True])


def star() -> Data:
    """Nodes 1, 2 and 3 point to node 0."""
    return Data(
        x=torch.eye(4),
        edge_index=torch.tensor([[1, 2, 3], [0, 0, 0]]),
        y=torch.tensor([0, 1, 1, 0]),
        train_mask=torch.tensor([False, True, True, False]),
    )


def test_the_default_reads_what_layers_read() -> None:
    data = star()
    read = SimpleConv("sum")(
        torch.nn.functional.one_hot(data.y, 2).double() * data.train_mask[:, None], data.edge_index
    )
    assert read.tolist() == [[0.0, 2.0], *[[0.0, 0.0]] * 3]
    soft = SALS(1.0, isolated="uniform")(data).soft_y
    assert soft[0].tolist() == [0.0, 1.0] and soft[3].tolist() == [0.5, 0.5]
    other = SALS(1.0, isolated="uniform", flow="target_to_source")(data).soft_y
    assert other[0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.method_name())
@given(graph=small_graphs(pseudo=False))
def test_flow_turns_the_edges_round(method: Smoother, graph: SmallGraph) -> None:
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
    mask[torch.tensor(graph.train)] = True
    classes = {"y": torch.tensor(graph.classes), "train_mask": mask, "num_classes": graph.num_classes}
    one = Data(edge_index=graph.edge_index, **classes)
    turned = Data(edge_index=graph.edge_index.flip(0), **classes)
    back = method.replaced(flow="target_to_source")
    assert torch.allclose(method(one).soft_y, back(turned).soft_y, atol=1e-6)
    both = Data(edge_index=to_undirected(graph.edge_index, num_nodes=graph.num_nodes), **classes)
    assert torch.equal(method(both).soft_y, back(both).soft_y)  # to the bit


@given(graph=small_graphs())
def test_directed_graphs_are_known(graph: SmallGraph) -> None:
    edges = graph.edge_index
    pairs = [tuple(pair) for pair in edges.t().tolist()]
    expected = any(pairs.count(pair) != pairs.count(pair[::-1]) for pair in pairs)
    assert is_directed(edges, graph.num_nodes) == expected
    both = to_undirected(edges, num_nodes=graph.num_nodes)
    assert is_undirected(both) and not is_directed(both, graph.num_nodes)


def test_a_directed_graph_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direction, "_told", [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for method in (PosteL(flow="target_to_source"), OneHot(), PosteL(), PosteL(), SALS()):
            method(star())
    assert [str(each.message)[:22] for each in caught if each.category is UserWarning] == [
        "the graph is directed:"
    ]


def test_a_model_learns_from_the_same_neighbors_as_the_transform() -> None:
    data = star()
    data.val_mask = ~data.train_mask
    for flow in ("source_to_target", "target_to_source"):
        method = PosteL(flow=flow)
        model = NodeClassifier("gcn", smoother=method, pseudo_labels=False, max_epochs=1).fit(data)
        edges = data.edge_index.flip(0) if flow == "source_to_target" else data.edge_index
        known = known_labels(data)
        assert torch.equal(model.history_[0].conditional, method.statistics(edges, known)[1])
        expected = functional.posterior_soft_labels(edges, known, dtype=torch.float32)
        assert torch.equal(method(data).soft_y, expected)


def spec(dataset: str, **params: Any) -> RunSpec:
    return RunSpec(dataset=dataset, fingerprint="", method=MethodSpec(name="postel", params=params))


def test_runs_on_the_papers_graphs_read_edges_as_the_paper_does() -> None:
    flows = [classifier_of(each).smoother.flow for each in (spec("actor"), spec("web.npz"))]
    assert flows == ["target_to_source", "source_to_target"]
    assert classifier_of(spec("actor", flow="source_to_target")).smoother.flow == "source_to_target"
    assert PosteL.as_published().flow == PosteL.as_released().flow == "target_to_source"


@given(st.sampled_from(METHODS))
def test_an_unknown_flow_is_refused(method: Smoother) -> None:
    with pytest.raises(ValueError, match="flow must be one of 'source_to_target', 'target_to_source', got 'up'"):
        method.replaced(flow="up")
