"""PosteL against exact brute force, its invariances, the transform's manners, and real graphs."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
import torch_geometric.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

import reference
from postel import KnownLabels, PosteL
from postel.smoothers.postel import posterior_soft_labels
from support import SmallGraph, small_graphs

CHOICES = {
    "likelihood": st.sampled_from(["edge", "normalized", "local"]),
    "hops": st.integers(1, 3),
    "noise": st.sampled_from(["uniform", "off-target"]),
    "isolated": st.sampled_from(["prior", "one-hot"]),
    "centers": st.sampled_from(["labelled", "train"]),
    "self_loops": st.booleans(),
}
weights = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(7, 8), Fraction(1)])


@settings(max_examples=300)
@given(small_graphs(), weights, weights, st.sampled_from(["edge", "normalized", "local"]), st.integers(1, 3))
def test_equals_exact_brute_force(
    graph: SmallGraph, alpha: Fraction, beta: Fraction, likelihood: Any, hops: int
) -> None:
    expected = reference.soft_labels(graph, alpha=alpha, beta=beta, likelihood=likelihood, hops=hops)
    ours = posterior_soft_labels(
        graph.edge_index, graph.known, alpha=float(alpha), beta=float(beta), likelihood=likelihood, hops=hops
    )
    assert np.abs(ours.numpy() - np.array(expected)).max() < 1e-9


@settings(max_examples=300)
@given(small_graphs(), weights, weights, st.fixed_dictionaries(CHOICES))
def test_equals_exact_brute_force_under_every_switch(
    graph: SmallGraph, alpha: Fraction, beta: Fraction, switches: dict[str, Any]
) -> None:
    expected = reference.soft_labels(graph, alpha=alpha, beta=beta, **switches)
    smoother = PosteL(float(alpha), float(beta), **switches)
    ours = smoother.soft_labels(graph.edge_index, graph.known)
    assert np.abs(ours.numpy() - np.array(expected)).max() < 1e-9
    assert torch.allclose(ours.sum(dim=1), torch.ones(graph.num_nodes, dtype=torch.float64))


@given(small_graphs(), st.fixed_dictionaries(CHOICES), st.data())
def test_chosen_rows_are_rows_of_all(graph: SmallGraph, switches: dict[str, Any], data: st.DataObject) -> None:
    rows = torch.tensor(data.draw(st.permutations(range(graph.num_nodes)))[:3])
    part = posterior_soft_labels(graph.edge_index, graph.known, beta=0.4, rows=rows, **switches)
    whole = posterior_soft_labels(graph.edge_index, graph.known, beta=0.4, **switches)
    assert torch.allclose(part, whole[rows], atol=1e-12)


@given(small_graphs(), st.fixed_dictionaries(CHOICES))
def test_train_targets_are_the_rows_and_statistics_of_two_passes(
    graph: SmallGraph, switches: dict[str, Any]
) -> None:
    smoother = PosteL(0.7, 0.4, **switches)
    made = smoother.train_targets(graph.edge_index, graph.known)
    whole = smoother.soft_labels(graph.edge_index, graph.known)
    assert made.rows.dtype == torch.float64
    assert torch.allclose(made.rows, whole[graph.known.train_only().index], rtol=0, atol=1e-15)
    prior, conditional = smoother.statistics(graph.edge_index, graph.known)
    assert torch.equal(made.statistics["prior"], prior)
    assert torch.equal(made.statistics["conditional"], conditional)
    single = smoother.train_targets(graph.edge_index, graph.known, dtype=torch.float32).rows
    assert torch.equal(single, made.rows.to(torch.float32))


@given(small_graphs(), st.floats(0, 0.499), st.floats(0, 3))
def test_alpha_below_a_half_keeps_the_true_class_most_probable(
    graph: SmallGraph, alpha: float, beta: float
) -> None:
    rows = posterior_soft_labels(graph.edge_index, graph.known, alpha=alpha, beta=beta)
    for i in graph.train:
        own = rows[i, graph.classes[i]]
        assert bool((own > torch.cat([rows[i, : graph.classes[i]], rows[i, graph.classes[i] + 1 :]])).all())


@given(small_graphs(), st.fixed_dictionaries(CHOICES), st.data())
def test_renaming_nodes_or_classes_renames_the_result(
    graph: SmallGraph, switches: dict[str, Any], data: st.DataObject
) -> None:
    nodes = data.draw(st.permutations(range(graph.num_nodes)))
    names = data.draw(st.permutations(range(graph.num_classes)))
    renamed_classes = [0] * graph.num_nodes
    for i, new in enumerate(nodes):
        renamed_classes[new] = names[graph.classes[i]]
    renamed = SmallGraph(
        graph.num_nodes,
        graph.num_classes,
        [(nodes[u], nodes[v]) for u, v in graph.entries],
        renamed_classes,
        [nodes[i] for i in graph.train],
        [nodes[i] for i in graph.pseudo],
    )
    smoother = PosteL(0.7, 0.3, **switches)
    before = smoother.soft_labels(graph.edge_index, graph.known)
    after = smoother.soft_labels(renamed.edge_index, renamed.known)
    assert torch.allclose(after[torch.tensor(nodes)][:, torch.tensor(names)], before, atol=1e-12)


def tiny() -> Data:
    return Data(
        x=torch.eye(5),
        edge_index=torch.tensor([[0, 1, 0, 2, 1, 3, 3, 4], [1, 0, 2, 0, 3, 1, 4, 3]]),
        y=torch.tensor([0, 1, 1, 0, 2]),
        train_mask=torch.tensor([True, True, True, False, False]),
        num_classes=3,
    )


@given(small_graphs(pseudo=False), st.fixed_dictionaries(CHOICES), st.randoms(use_true_random=False))
def test_permuting_hidden_labels_changes_no_bit(graph: SmallGraph, switches: dict[str, Any], random: Any) -> None:
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
    mask[torch.tensor(graph.train)] = True
    y = torch.tensor(graph.classes)
    hidden = (~mask).nonzero().view(-1).tolist()
    shuffled = random.sample(hidden, len(hidden))
    other = y.clone()
    other[hidden] = y[shuffled]
    data = Data(edge_index=graph.edge_index, y=y, train_mask=mask, num_classes=graph.num_classes)
    twin = Data(edge_index=graph.edge_index, y=other, train_mask=mask, num_classes=graph.num_classes)
    smoother = PosteL(0.8, 0.4, **switches)
    assert torch.equal(smoother(data).soft_y, smoother(twin).soft_y)


def test_transform_in_compose_leaves_the_callers_data_alone() -> None:
    data = tiny()
    before = copy.deepcopy(data)
    out = T.Compose([T.NormalizeFeatures(), PosteL(0.8, 0.4)])(data)
    assert out.soft_y.dtype == torch.float32 and tuple(out.soft_y.shape) == (5, 3)
    assert "soft_y" not in data
    assert all(torch.equal(data[key], before[key]) for key in ("x", "edge_index", "y", "train_mask"))
    assert out.y is data.y
    loss = torch.nn.functional.cross_entropy(torch.zeros(5, 3)[out.train_mask], out.soft_y[out.train_mask])
    assert loss.item() == pytest.approx(np.log(3), rel=1e-6)


def test_ogb_style_labels_and_absent_last_class() -> None:
    data = tiny()
    data.y = data.y.view(-1, 1)
    assert PosteL()(data).soft_y.shape == (5, 3)
    del data.num_classes
    assert PosteL()(data).soft_y.shape == (5, 2)  # hidden class 2 is not looked at
    assert PosteL(num_classes=4)(data).soft_y.shape == (5, 4)


def test_pseudo_labels_enter_by_method_and_by_function() -> None:
    data = tiny()
    predicted = torch.tensor([2, 2, 2, 1, 0])  # a model's arg-max; training entries must not count
    by_method = PosteL(0.8, 0.4).with_pseudo_labels(data, predicted).soft_y
    known = KnownLabels.from_mask(data.y, data.train_mask, 3).with_pseudo(
        torch.tensor([3, 4]), torch.tensor([1, 0])
    )
    by_function = posterior_soft_labels(data.edge_index, known, alpha=0.8, beta=0.4)
    assert torch.equal(by_method, by_function.to(torch.float32))
    assert not torch.equal(by_method, PosteL(0.8, 0.4)(data).soft_y)
    assert "soft_y" not in data
    partial = PosteL(0.8, 0.4).with_pseudo_labels(data, torch.tensor([-1, -1, -1, 1, -1])).soft_y
    assert not torch.equal(partial, by_method)


@pytest.mark.parametrize("likelihood", ["edge", "normalized", "local"])
def test_no_tensor_is_made_on_the_default_device(likelihood: Any) -> None:
    """What mixes devices on a CUDA tensor mixes them here too: tensors without a device land on ``meta``."""
    data = tiny()
    known = KnownLabels.from_mask(data.y, data.train_mask, 3).with_pseudo(torch.tensor([3]), torch.tensor([1]))
    expected = PosteL.as_released().soft_labels(data.edge_index, known)
    with torch.device("meta"):
        out = PosteL(likelihood=likelihood, hops=2).soft_labels(data.edge_index, known)
        released = PosteL.as_released().soft_labels(data.edge_index, known)
    assert out.device.type == "cpu" and bool(out.isfinite().all())
    assert torch.equal(released, expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_gives_the_same_numbers() -> None:
    data = tiny()
    on_gpu = PosteL(0.8, 0.4)(copy.deepcopy(data).cuda()).soft_y
    assert on_gpu.is_cuda
    assert torch.allclose(on_gpu.cpu(), PosteL(0.8, 0.4)(data).soft_y)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"alpha": 1.5}, r"alpha must lie in \[0, 1\], got 1.5"),
        ({"alpha": -0.1}, r"alpha must lie in \[0, 1\]"),
        ({"alpha": float("nan")}, r"alpha must lie in \[0, 1\], got nan"),
        ({"alpha": "high"}, "alpha must be a number, got 'high'"),
        ({"beta": -1.0}, "beta must be a number of at least 0, got -1.0"),
        ({"beta": float("nan")}, "beta must be a number of at least 0, got nan"),
        ({"beta": float("inf")}, "beta must be a number of at least 0, got inf"),
        ({"beta": 1.5, "noise": "off-target"}, r"beta must lie in \[0, 1\]"),
        ({"likelihood": "global"}, "likelihood must be one of 'edge', 'normalized', 'local', got 'global'"),
        ({"hops": 0}, "hops must be a whole number above 0"),
        ({"noise": "gaussian"}, "noise must be one of"),
        ({"isolated": "zero"}, "isolated must be one of"),
        ({"centers": "all"}, "centers must be one of"),
    ],
)
def test_bad_settings_are_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        PosteL(**arguments)


def broken(**changes: Any) -> Data:
    data = tiny()
    for key, value in changes.items():
        data[key] = value
    return data


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (broken(edge_index=torch.tensor([0, 1])), r"edge_index must have shape \[2, E\]"),
        (broken(edge_index=torch.rand(2, 4)), "edge_index must hold int64"),
        (broken(edge_index=torch.tensor([[0], [5]])), r"node ids in \[0, 4\], got 5"),
        (broken(y=torch.tensor([0, 3, 1, 0, 2])), r"labels must lie in \[0, 2\], got 3"),
        (broken(y=torch.tensor([0, 1, 1, 0])), "y must have one entry per node"),
        (broken(train_mask=torch.tensor([True, True])), r"boolean tensor of shape \[5\]"),
        (broken(train_mask=torch.tensor([1, 1, 1, 0, 0])), "boolean"),
        (broken(train_mask=torch.ones(5, 10, dtype=torch.bool)), "10 splits: choose one"),
        (broken(train_mask=torch.zeros(5, dtype=torch.bool)), "no training node"),
        (broken(y=torch.zeros(5, dtype=torch.int64), num_classes=1), "at least 2 classes"),
        (broken(train_mask=None), "data has no train_mask"),
        (broken(y=None), "data has no y"),
        (broken(edge_index=None), "data has no edge_index"),
    ],
)
def test_bad_data_is_refused_and_left_unchanged(data: Data, says: str) -> None:
    before = dict(data.to_dict())
    with pytest.raises(ValueError, match=says):
        PosteL()(data)
    assert dict(data.to_dict()).keys() == before.keys() and "soft_y" not in data


def released_formula(data: Data, rows: list[int], alpha: float, beta: float) -> tuple[np.ndarray, int]:
    """The published code's formula in 50 digits, and how many rows its float64 product loses to underflow."""
    k = int(data.num_classes)
    y = data.y.numpy()
    train = data.train_mask.numpy()
    sources, targets = data.edge_index.numpy()
    seen = train[targets]
    histogram = np.zeros((y.size, k), dtype=int)
    np.add.at(histogram, (sources[seen], y[targets[seen]]), 1)
    pairs = np.zeros((k, k), dtype=int)
    np.add.at(pairs, y[train], histogram[train])
    shares = np.bincount(y[train], minlength=k)
    lost = 0
    out = np.zeros((len(rows), k))
    with mpmath.workdps(50):
        conditional = [[mpmath.mpf(int(c)) / int(row.sum()) for c in row] for row in pairs]
        prior = [mpmath.mpf(int(c)) / int(shares.sum()) for c in shares]
        rounded = np.array([[float(c) for c in row] for row in conditional])
        for place, i in enumerate(rows):
            product = np.prod(rounded ** histogram[i], axis=1) * shares / shares.sum()
            lost += int(histogram[i].sum() > 0 and not product.sum() > 0)
            own = np.eye(k)[y[i]]
            joint = [
                prior[n] * mpmath.fprod(conditional[n][m] ** int(histogram[i, m]) for m in range(k))
                for n in range(k)
            ]
            total = mpmath.fsum(joint)
            p = np.array([float(v / total) for v in joint]) if histogram[i].sum() and total else own
            noisy = (1 - beta) * p + beta / (k - 1) * (1 - own)
            out[place] = alpha * noisy + (1 - alpha) * own
    return out, lost


@pytest.mark.parametrize(("name", "underflows"), [("cora", False), ("squirrel", True), ("computers", True)])
def test_real_graphs(name: str, underflows: bool, data_root: Path) -> None:
    from postel.datasets import load_dataset

    data = load_dataset(name, split=0, data_root=data_root)
    for smoother in (PosteL(0.8, 0.4), PosteL.as_released(0.8, 0.4), PosteL(0.8, 0.4, likelihood="normalized")):
        soft = smoother(data).soft_y
        assert bool(soft.isfinite().all())
        assert (soft.sum(dim=1) - 1).abs().max() < 1e-5
    degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes)
    train = data.train_mask.nonzero().view(-1)
    hubs = train[degree[train].argsort(descending=True)[:400]].tolist()
    rows = sorted({*hubs, *train[:: max(1, train.numel() // 600)].tolist()})
    expected, lost = released_formula(data, rows, 0.8, 0.4)
    ours: Tensor = PosteL.as_released(0.8, 0.4)(data).soft_y[torch.tensor(rows)]
    assert np.abs(ours.numpy() - expected).max() < 1e-6
    # The negative control: the product form, in the same float64, loses rows that the log form keeps.
    assert (lost > 0) == underflows


def test_local_on_computers(data_root: Path) -> None:
    from postel.datasets import load_dataset

    data = load_dataset("computers", split=0, data_root=data_root)
    soft = PosteL(1.0, 0.0, likelihood="local", hops=2)(data).soft_y
    assert bool(soft.isfinite().all()) and (soft.sum(dim=1) - 1).abs().max() < 1e-5
