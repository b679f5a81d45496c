"""The transform, the classifier and the diagnosis take the same graphs, and refuse the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from postel import NodeClassifier, PosteL, diagnose, load_dataset
from postel.errors import InputError


@pytest.fixture(scope="module")
def graph() -> Data:
    data = load_dataset("karate")
    data.x = torch.eye(34)[:, :20] * 0.5
    data.y = (data.y > 0).long()
    del data.num_classes, data.class_names
    return data


def changed(graph: Data, **parts: Any) -> Data:
    data = graph.clone()
    for name, value in parts.items():
        data[name] = value
    return data


def outcome(data: Data, **settings: Any) -> tuple[Tensor, Tensor, float, float]:
    """What the three make of a graph."""
    model = NodeClassifier("gcn", smoother=PosteL(), max_epochs=3, **settings).fit(data)
    return PosteL()(data).soft_y, model.logits_, model.score(data), diagnose(data).all_labels.edge_homophily


@pytest.fixture(scope="module")
def usual(graph: Data) -> Any:
    return outcome(graph)


SAME: dict[str, Callable[[Data], dict[str, Any]]] = {
    "int32 edges": lambda data: {"edge_index": data.edge_index.int()},
    "uint8 edges": lambda data: {"edge_index": data.edge_index.to(torch.uint8)},
    "boolean labels": lambda data: {"y": data.y.bool()},
    "labels in a column": lambda data: {"y": data.y.view(-1, 1)},
    "boolean labels in a column": lambda data: {"y": data.y.bool().view(-1, 1)},
    "int8 labels": lambda data: {"y": data.y.to(torch.int8)},
    "float64": lambda data: {"x": data.x.double()},
    "float16": lambda data: {"x": data.x.half()},
    "bfloat16": lambda data: {"x": data.x.bfloat16()},
    "with gradient": lambda data: {"x": data.x.clone().requires_grad_()},
    "numpy": lambda data: {"x": data.x.numpy()},
    "numpy, float16, columns first": lambda data: {"x": np.asfortranarray(data.x.numpy().astype(np.float16))},
    **{
        f"scipy {form}": lambda data, form=form: {"x": getattr(sp, f"{form}_array")(data.x.numpy())}
        for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    },
    "scipy matrix": lambda data: {"x": sp.lil_matrix(data.x.numpy())},
    "torch coo": lambda data: {"x": data.x.to_sparse_coo()},
    "torch coo, not coalesced": lambda data: {"x": halves(data.x)},
    "torch csr": lambda data: {"x": data.x.to_sparse_csr()},
    "torch csc": lambda data: {"x": data.x.to_sparse_csc()},
    "torch csr, float16": lambda data: {"x": data.x.half().to_sparse_csr()},
}


def halves(x: Tensor) -> Tensor:
    entries = x.to_sparse_coo().coalesce()
    places, values = entries.indices(), entries.values()
    return torch.sparse_coo_tensor(places.repeat(1, 2), (values / 2).repeat(2), x.shape)


@pytest.mark.parametrize("form", SAME)
def test_every_form_of_a_graph_gives_the_same(graph: Data, usual: Any, form: str) -> None:
    found, expected = outcome(changed(graph, **SAME[form](graph))), usual
    assert all(torch.equal(a, b) for a, b in zip(found[:2], expected[:2], strict=True))
    assert found[2:] == expected[2:]


@pytest.mark.parametrize(
    "form", ["int32 edges", "boolean labels in a column", "float16", "scipy lil", "torch coo"]
)
def test_and_in_batches_too(graph: Data, form: str) -> None:
    expected = outcome(graph, batch_size=8)
    found = outcome(changed(graph, **SAME[form](graph)), batch_size=8)
    torch.testing.assert_close(found[1], expected[1])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"y": torch.full((34,), 0.5)}, "integer tensor of shape"),
        ({"y": torch.zeros(34, 2, dtype=torch.long)}, "integer tensor of shape"),
        ({"y": None}, "y"),
        ({"y": torch.tensor([2**31 - 2] * 34)}, "would make 2147483647 classes"),
        ({"edge_index": torch.zeros(2, 3)}, "edge_index must"),
        ({"edge_index": torch.tensor([[0], [34]], dtype=torch.int32)}, r"in \[0, 33\], got"),
    ],
)
def test_what_one_refuses_the_others_refuse_too(graph: Data, parts: dict[str, Any], message: str) -> None:
    data = changed(graph, **parts)
    with pytest.raises(InputError, match=message):
        PosteL()(data)
    with pytest.raises(InputError, match=message):
        NodeClassifier("gcn", max_epochs=1).fit(data)
    with pytest.raises(InputError):
        diagnose(data)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.full((34, 1), 1e300, dtype=torch.float64), "finite"),
        (torch.full((34, 1), float("nan")).half(), "finite"),
        (sp.lil_array(np.full((34, 1), np.inf)), "finite"),
        (torch.full((34, 1), float("inf")).to_sparse_csr(), "finite"),
        (torch.ones(34, 1, dtype=torch.complex64), "floating-point numbers"),
        (torch.ones(34, 1, dtype=torch.int64), "floating-point numbers"),
        (np.full((34, 1), "a"), "tensor or a scipy sparse matrix, got ndarray"),
        (np.ones(34), "shape"),
        ([[1.0]] * 34, "got list"),
        (sp.csr_array((34, 1), dtype=np.complex64), "must hold numbers"),
        (torch.ones(33, 1), "33 rows"),
    ],
)
@pytest.mark.parametrize("batch_size", [None, 8])
def test_features_that_cannot_be_used_are_told(graph: Data, x: Any, message: str, batch_size: int | None) -> None:
    with pytest.raises(InputError, match=message):
        NodeClassifier("gcn", max_epochs=1, batch_size=batch_size).fit(changed(graph, x=x))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, r"data\.y is missing"),
        (torch.full((34,), -1), "selects 34 nodes without label"),
        (torch.zeros(34), "integer tensor"),
        (torch.full((34,), 2), "a node of class 2, and the model knows the classes 0 to 1"),
        (torch.full((34,), 2**40), "a node of class"),
        ([0] * 34, "got list"),
    ],
)
def test_a_score_needs_labels_that_the_model_knows(graph: Data, y: Any, message: str) -> None:
    model = NodeClassifier("gcn", max_epochs=1).fit(graph)
    data = changed(graph, y=y)
    with pytest.raises(InputError, match=message):
        model.score(data, torch.ones(34, dtype=torch.bool))
    assert model.predict(data).shape == (34,)


def test_a_batch_may_be_larger_than_any_number(graph: Data) -> None:
    huge, one = (NodeClassifier("gcn", max_epochs=2, batch_size=size).fit(graph) for size in (10**20, 34))
    assert torch.equal(huge.logits_, one.logits_)


def test_a_score_needs_nodes(graph: Data) -> None:
    model = NodeClassifier("gcn", max_epochs=1).fit(graph)
    with pytest.raises(InputError, match="no nodes to score"):
        model.score(changed(graph, test_mask=None))
    with pytest.raises(InputError, match="no node to score"):
        model.score(graph, torch.zeros(34, dtype=torch.bool))
    with pytest.raises(InputError, match="mask must be"):
        model.score(graph, torch.ones(33, dtype=torch.bool))
