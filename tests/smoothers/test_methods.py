"""What every method promises, and each method's labels against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from postel import ALS, SALS, CalibratedPosteL, Distillation, OneHot, PosteL, UniformSmoothing
from postel.smoothers import SMOOTHERS, Smoother, make_smoother
from support import SmallGraph, small_graphs

METHODS: list[Smoother] = [
    OneHot(),
    UniformSmoothing(0.3),
    UniformSmoothing(0.3, spread="others"),
    SALS(0.7),
    SALS(0.7, weight="sym", isolated="prior", self_loops=True),
    SALS(0.4, weight="inv_degree", isolated="uniform", pseudo_labels=True),
    ALS(0.6),
    ALS(0.6, normalization="sym", steps=2, restart=0.1),
    PosteL(0.8, 0.4),
    CalibratedPosteL(0.4),
    PosteL.as_released(0.8, 0.4),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@given(graph=small_graphs())
def test_every_row_is_a_distribution(method: Smoother, graph: SmallGraph) -> None:
    rows = method.soft_labels(graph.edge_index, graph.known)
    assert tuple(rows.shape) == (graph.num_nodes, graph.num_classes)
    assert bool((rows >= 0).all())
    assert (rows.sum(dim=1) - 1).abs().max() < 1e-12


@pytest.mark.parametrize("method", METHODS, ids=repr)
@given(graph=small_graphs(pseudo=False), random=st.randoms(use_true_random=False))
def test_hidden_labels_change_no_bit(method: Smoother, graph: SmallGraph, random: Any) -> None:
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
    mask[torch.tensor(graph.train)] = True
    y = torch.tensor(graph.classes)
    other = torch.where(mask, y, torch.tensor([random.randrange(graph.num_classes) for _ in graph.classes]))
    soft = [
        method(Data(edge_index=graph.edge_index, y=labels, train_mask=mask, num_classes=graph.num_classes)).soft_y
        for labels in (y, other)
    ]
    assert torch.equal(soft[0], soft[1])


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_method_can_be_made_again_from_its_name_and_parameters(method: Smoother) -> None:
    again = make_smoother(method.method_name(), **method.params())
    assert type(again) is type(method) and again.params() == method.params()
    assert repr(again) == repr(method)


def test_names_are_file_names() -> None:
    assert list(SMOOTHERS) == ["one_hot", "uniform", "distillation", "sals", "als", "postel", "calibrated"]
    with pytest.raises(ValueError, match="there is no method 'magic'; choose from one_hot, uniform"):
        make_smoother("magic")


@given(small_graphs(), st.floats(0, 1))
def test_uniform_by_hand_and_by_torch(graph: SmallGraph, epsilon: float) -> None:
    k = graph.num_classes
    others = UniformSmoothing(epsilon, spread="others").soft_labels(graph.edge_index, graph.known)
    everyone = UniformSmoothing(epsilon).soft_labels(graph.edge_index, graph.known)
    for i in range(graph.num_nodes):
        for m in range(k):
            own = graph.classes[i] == m
            if i not in graph.train:
                expected = (1 / k, 1 / k)
            else:
                expected = (1 - epsilon if own else epsilon / (k - 1), (1 - epsilon) * own + epsilon / k)
            assert others[i, m].item() == pytest.approx(expected[0], abs=1e-12)
            assert everyone[i, m].item() == pytest.approx(expected[1], abs=1e-12)
    logits = torch.arange(graph.num_nodes * k, dtype=torch.float64).view(-1, k).sin()
    train = torch.tensor(graph.train)
    ours = torch.nn.functional.cross_entropy(logits[train], everyone[train])
    theirs = torch.nn.functional.cross_entropy(
        logits[train], torch.tensor(graph.classes)[train], label_smoothing=epsilon
    )
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-12)


@given(
    small_graphs(),
    st.floats(0, 1),
    st.sampled_from(["mean", "sym", "inv_degree"]),
    st.sampled_from(["one-hot", "uniform", "prior"]),
    st.booleans(),
    st.booleans(),
)
def test_sals_by_plain_loops(
    graph: SmallGraph, smoothing: float, weight: Any, isolated: Any, self_loops: bool, pseudo_labels: bool
) -> None:
    k = graph.num_classes
    entries = [(u, v) for u, v in graph.entries if self_loops or u != v]
    labelled = graph.train + (graph.pseudo if pseudo_labels else [])
    degree = [max(1, sum(u == j for u, _ in entries)) for j in range(graph.num_nodes)]
    weigh = {"mean": lambda d: 1.0, "sym": lambda d: d**-0.5, "inv_degree": lambda d: 1 / d}[weight]
    shares = [sum(graph.classes[i] == m for i in labelled) / len(labelled) for m in range(k)]
    expected = []
    for i in range(graph.num_nodes):
        own = [float(graph.classes[i] == m) for m in range(k)]
        sums = [0.0] * k
        for u, v in entries:
            if u == i and v in labelled:
                sums[graph.classes[v]] += weigh(degree[v])
        if sum(sums):
            average = [value / sum(sums) for value in sums]
        elif isolated == "one-hot" and i in graph.train:
            average = own
        else:
            average = [1 / k] * k if isolated == "uniform" else shares
        mixed = [smoothing * a + (1 - smoothing) * o for a, o in zip(average, own, strict=True)]
        expected.append(mixed if i in graph.train else average)
    method = SALS(smoothing, weight=weight, isolated=isolated, self_loops=self_loops, pseudo_labels=pseudo_labels)
    ours = method.soft_labels(graph.edge_index, graph.known)
    assert np.abs(ours.numpy() - np.array(expected)).max() < 1e-9


@given(
    small_graphs(),
    st.integers(1, 4),
    st.floats(0, 1),
    st.sampled_from(["row", "sym"]),
    st.booleans(),
    st.floats(0, 1),
)
def test_als_propagation_by_a_dense_matrix(
    graph: SmallGraph, steps: int, restart: float, normalization: Any, self_loops: bool, smoothing: float
) -> None:
    n, k = graph.num_nodes, graph.num_classes
    adjacency = np.zeros((n, n))
    for u, v in graph.entries:
        if self_loops or u != v:
            adjacency[u, v] += 1
    degree = np.maximum(adjacency.sum(axis=1), 1)
    if normalization == "row":
        matrix = adjacency / degree[:, None]
    else:
        matrix = adjacency / np.sqrt(np.outer(degree, degree))
    start = np.zeros((n, k))
    for i in graph.train:
        start[i, graph.classes[i]] = 1
    rows = start
    for _ in range(steps):
        rows = (1 - restart) * matrix @ rows + restart * start
    method = ALS(smoothing, steps=steps, restart=restart, normalization=normalization, self_loops=self_loops)
    ours = method.soft_labels(graph.edge_index, graph.known).numpy()
    shares = start.sum(axis=0) / len(graph.train)
    for i in range(n):
        total = rows[i].sum()
        expected = rows[i] / total if total > 0 else start[i] if i in graph.train else shares
        if i in graph.train:
            expected = smoothing * expected + (1 - smoothing) * start[i]
        assert np.abs(ours[i] - expected).max() < 1e-9


def distillation_data() -> Data:
    return Data(
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        y=torch.tensor([0, 2, 1]),
        train_mask=torch.tensor([True, True, False]),
        num_classes=3,
        teacher_logits=torch.tensor([[2.0, 0.0, -1.0], [0.5, 0.1, 0.3], [0.0, 3.0, 0.0]]),
    )


def test_distillation_needs_a_teacher_and_mixes_it() -> None:
    data = distillation_data()
    soft = Distillation(0.25, temperature=2.0)(data).soft_y
    teacher = np.exp(data.teacher_logits.numpy() / 2)
    teacher /= teacher.sum(axis=1, keepdims=True)
    expected = teacher.copy()
    expected[0] = 0.25 * teacher[0] + 0.75 * np.array([1, 0, 0])
    expected[1] = 0.25 * teacher[1] + 0.75 * np.array([0, 0, 1])
    assert np.abs(soft.numpy() - expected).max() < 1e-6
    del data.teacher_logits
    with pytest.raises(ValueError, match="learns from a teacher"):
        Distillation()(data)
    data.teacher_logits = torch.zeros(3, 2)
    with pytest.raises(ValueError, match=r"teacher_logits must have shape \[3, 3\], got \[3, 2\]"):
        Distillation()(data)


@pytest.mark.parametrize("nodes", ["train", "all"])
@pytest.mark.parametrize("hard_mix", [False, True])
def test_distillation_loss_by_its_formula(nodes: Any, hard_mix: bool) -> None:
    data = distillation_data()
    method = Distillation(0.3, temperature=2.0, nodes=nodes, hard_mix=hard_mix)
    from postel.smoothers.graph_labels import known_labels

    student = torch.tensor([[0.1, 0.2, 0.3], [1.0, -1.0, 0.0], [0.4, 0.4, 0.1]])
    loss = method.objective(data.edge_index, known_labels(data), lambda: data.teacher_logits).loss(student, 1)

    def p(logits: torch.Tensor, temperature: float) -> np.ndarray:
        e = np.exp(logits.numpy().astype(float) / temperature)
        return e / e.sum(axis=1, keepdims=True)

    taught = [0, 1] if nodes == "train" else [0, 1, 2]
    teacher, hot = p(data.teacher_logits, 2.0), np.eye(3)[[0, 2]]
    hard = -np.mean(np.log(p(student, 1.0)[[0, 1], [0, 2]]))
    if hard_mix:
        target = teacher.copy()
        target[:2] = 0.3 * teacher[:2] + 0.7 * hot
        expected = -np.mean((target * np.log(p(student, 1.0))).sum(axis=1)[taught])
    else:
        kl = (teacher * np.log(teacher / p(student, 2.0))).sum(axis=1)[taught].mean()
        expected = 0.3 * 4 * kl + 0.7 * hard
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_als_targets_move_from_one_hot_to_the_refined_label() -> None:
    data = distillation_data()
    from postel.smoothers.graph_labels import known_labels

    method = ALS(0.8, warmup=10)
    objective = method.objective(data.edge_index, known_labels(data), lambda: torch.zeros(3, 3))
    assert [objective.share(epoch) for epoch in (1, 5, 10, 500)] == pytest.approx([0.08, 0.4, 0.8, 0.8])
    student = torch.tensor([[0.1, 0.2, 0.3], [1.0, -1.0, 0.0], [0.4, 0.4, 0.1]])
    rows = method.propagated(data.edge_index, known_labels(data))[:2].numpy()
    refined = np.exp(rows * 5.0)
    refined /= refined.sum(axis=1, keepdims=True)
    log_p = torch.log_softmax(student, dim=1)[:2].numpy()
    hot = np.eye(3)[[0, 2]]
    for epoch, share in ((5, 0.4), (500, 0.8)):
        target = (1 - share) * hot + share * refined
        expected = -(target * log_p).sum(axis=1).mean() - (hot * np.log(refined)).sum(axis=1).mean()
        assert objective.loss(student, epoch).item() == pytest.approx(expected, rel=1e-5)
    assert [tuple(p.shape) for p in objective.parameters()] == [(3, 3)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: UniformSmoothing(1.5), r"epsilon must lie in \[0, 1\]"),
        (lambda: UniformSmoothing(spread="some"), "spread must be one of"),
        (lambda: SALS(-0.1), r"smoothing must lie in \[0, 1\]"),
        (lambda: SALS(weight="degree"), "weight must be one of"),
        (lambda: SALS(isolated="zero"), "isolated must be one of"),
        (lambda: ALS(steps=0), "steps must be a whole number above 0"),
        (lambda: ALS(anchor=0), "anchor must be above 0"),
        (lambda: ALS(restart=2), r"restart must lie in \[0, 1\]"),
        (lambda: Distillation(weight=2), r"weight must lie in \[0, 1\]"),
        (lambda: Distillation(temperature=0), "temperature must be a number above 0"),
        (lambda: Distillation(nodes="test"), "nodes must be one of"),
    ],
)
def test_bad_hyper_parameters_are_refused(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
