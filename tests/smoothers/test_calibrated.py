"""CalibratedPosteL against brute force, its invariances, and what it must not look at."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

import reference_expected as reference
from postel import CalibratedPosteL, PosteL, load_dataset
from postel.errors import InputError
from postel.exponents import Exponents
from postel.labels import KnownLabels
from postel.smoothers import calibrated_soft_labels, make_smoother
from postel.smoothers.graph_labels import known_labels
from support import SmallGraph, small_graphs

SWITCHES = {
    "calibration": st.sampled_from(["exponents", "temperature", "none"]),
    "leave_one_out": st.booleans(),
    "centers": st.sampled_from(["labelled", "train"]),
}


def brute_force(
    graph: SmallGraph, rows: reference.Rows, exponents: Exponents, switches: dict[str, Any], alpha: float
) -> np.ndarray:
    """Soft labels by their definition, given the exponents: every node's counts are taken anew."""
    is_center = [switches["centers"] == "labelled" or u in graph.train for u in range(graph.num_nodes)]
    out = []
    for i in range(graph.num_nodes):
        training = i in graph.train
        left_out = training and switches["leave_one_out"]
        log_prior, sums, number = reference.log_parts(graph.entries, rows, is_center, i, left_out)
        logits = exponents.prior * np.array(log_prior) + exponents.total * np.array(sums)
        if number:
            logits = logits + exponents.mean * np.array(sums) / number
        q = np.exp(logits - logits.max())
        q /= q.sum()
        own = np.arange(graph.num_classes) == graph.classes[i]
        out.append(alpha * q + (1 - alpha) * own if training else q)
    return np.array(out)


@settings(max_examples=60)
@given(small_graphs(max_nodes=7), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.fixed_dictionaries(SWITCHES))
def test_equals_brute_force(graph: SmallGraph, alpha: float, switches: dict[str, Any]) -> None:
    labelled = graph.train + graph.pseudo
    rows = [
        [Fraction(u in labelled and graph.classes[u] == m) for m in range(graph.num_classes)]
        for u in range(graph.num_nodes)
    ]
    smoother = CalibratedPosteL(alpha, **switches)
    exponents = smoother.statistics(graph.edge_index, graph.known)["exponents"]
    ours = smoother.soft_labels(graph.edge_index, graph.known)
    assert np.abs(ours.numpy() - brute_force(graph, rows, exponents, switches, alpha)).max() < 1e-9
    function = calibrated_soft_labels(graph.edge_index, graph.known, alpha=alpha, **switches)
    assert torch.equal(ours, function)


@given(small_graphs(), st.fixed_dictionaries(SWITCHES), st.data())
def test_chosen_rows_are_rows_of_all(graph: SmallGraph, switches: dict[str, Any], data: st.DataObject) -> None:
    whole = calibrated_soft_labels(graph.edge_index, graph.known, **switches)
    train = torch.tensor(graph.train)
    some = torch.tensor(data.draw(st.permutations(range(graph.num_nodes)))[:3])
    for rows in (train, some):
        part = calibrated_soft_labels(graph.edge_index, graph.known, rows=rows, **switches)
        assert torch.allclose(part, whole[rows], atol=1e-12)
    targets = CalibratedPosteL(**switches).train_targets(graph.edge_index, graph.known)
    assert torch.allclose(targets.rows, whole[train], atol=1e-12)


@given(small_graphs(), st.fixed_dictionaries(SWITCHES), st.floats(0, 0.499))
def test_the_own_class_is_always_on_top_and_rows_are_distributions(
    graph: SmallGraph, switches: dict[str, Any], alpha: float
) -> None:
    rows = calibrated_soft_labels(graph.edge_index, graph.known, alpha=alpha, **switches)
    assert torch.allclose(rows.sum(1), torch.ones(graph.num_nodes, dtype=torch.float64))
    for i in graph.train:
        assert rows[i].argmax() == graph.classes[i]


@given(small_graphs(pseudo=False), st.fixed_dictionaries(SWITCHES), st.randoms(use_true_random=False))
def test_permuting_hidden_labels_changes_no_bit(graph: SmallGraph, switches: dict[str, Any], random: Any) -> None:
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
    mask[torch.tensor(graph.train)] = True
    y = torch.tensor(graph.classes)
    hidden = (~mask).nonzero().view(-1).tolist()
    other = y.clone()
    other[hidden] = y[random.sample(hidden, len(hidden))]
    smoother = CalibratedPosteL(**switches)
    one, two = (
        smoother(
            Data(edge_index=graph.edge_index, y=labels, train_mask=mask, num_classes=graph.num_classes)
        ).soft_y
        for labels in (y, other)
    )
    assert torch.equal(one, two)


@given(small_graphs(pseudo=False), st.data())
def test_renaming_nodes_renames_the_result(graph: SmallGraph, data: st.DataObject) -> None:
    nodes = data.draw(st.permutations(range(graph.num_nodes)))
    classes = [0] * graph.num_nodes
    for i, new in enumerate(nodes):
        classes[new] = graph.classes[i]
    renamed = SmallGraph(
        graph.num_nodes,
        graph.num_classes,
        [(nodes[u], nodes[v]) for u, v in graph.entries],
        classes,
        sorted(nodes[i] for i in graph.train),
    )
    before = calibrated_soft_labels(graph.edge_index, graph.known)
    after = calibrated_soft_labels(renamed.edge_index, renamed.known)
    assert torch.allclose(after[torch.tensor(nodes)], before, atol=1e-6)


def test_a_graph_of_hubs_is_no_longer_sure_of_everything(data_root: Path) -> None:
    """Chameleon: the plain posterior is surer than it is right, the calibrated one is not."""
    data = load_dataset("chameleon", split=0, data_root=data_root)
    known = known_labels(data)
    ask = {"alpha": 1.0, "rows": known.index}
    plain = calibrated_soft_labels(data.edge_index, known, calibration="none", **ask)  # type: ignore[arg-type]
    fitted = calibrated_soft_labels(data.edge_index, known, **ask)  # type: ignore[arg-type]
    own = torch.arange(len(known.index)), known.classes

    def gap(rows: torch.Tensor) -> float:
        return (rows.amax(1).mean() - (rows.argmax(1) == known.classes).double().mean()).abs().item()

    assert gap(plain) > 0.15 and gap(fitted) < 0.05
    assert -fitted[own].log().mean() < torch.tensor(5.0).log() < -plain[own].log().mean()


def test_evidence_of_a_model_enters_as_probabilities() -> None:
    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    known = KnownLabels.from_index(torch.tensor([0, 3]), torch.tensor([0, 1]), num_nodes=4)
    sure = known.with_evidence(torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    hard = known.with_pseudo(torch.tensor([1, 2]), torch.tensor([0, 1]))
    assert torch.allclose(calibrated_soft_labels(edges, sure), calibrated_soft_labels(edges, hard), atol=1e-6)
    vague = known.with_evidence(torch.full((4, 2), 0.5))
    rows = calibrated_soft_labels(edges, vague, alpha=1.0)
    assert torch.allclose(rows[1], torch.tensor([0.5, 0.5], dtype=torch.float64), atol=1e-6)


@given(small_graphs(max_nodes=7), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.data())
def test_a_round_trains_on_what_neighbors_and_the_model_say_of_other_nodes(
    graph: SmallGraph, alpha: float, data: st.DataObject
) -> None:
    """A part of a label that the model keeps to itself goes to the neighbors; of no word there is no target."""
    k = graph.num_classes
    parts = st.lists(st.integers(0, 4), min_size=k, max_size=k)
    said = [data.draw(parts) for _ in range(graph.num_nodes)]
    table = torch.tensor([[part / (4 * k) for part in row] for row in said], dtype=torch.float64)
    known = graph.known.train_only().with_evidence(table)
    smoother = CalibratedPosteL(alpha)
    made = smoother.train_targets(graph.edge_index, known)
    whole = smoother.soft_labels(graph.edge_index, known)
    assert torch.allclose(made.rows, whole[known.index], atol=1e-12)
    expected = [i for i in range(graph.num_nodes) if i not in graph.train and sum(said[i])]
    assert made.other_nodes is not None and made.other_rows is not None
    assert made.other_nodes.tolist() == expected
    for i, row in zip(expected, made.other_rows.tolist(), strict=True):
        for m in range(k):
            kept = 1 - sum(said[i]) / (4 * k)
            model = said[i][m] / (4 * k) + kept * float(whole[i, m])
            assert row[m] == pytest.approx(alpha * float(whole[i, m]) + (1 - alpha) * model, abs=1e-12)
    only = CalibratedPosteL(alpha, targets="train").train_targets(graph.edge_index, known)
    assert only.other_nodes is None and torch.allclose(only.rows, made.rows, atol=1e-12)


def test_pseudo_labels_are_trained_on_as_one_hot_rows() -> None:
    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    known = KnownLabels.from_index(torch.tensor([0, 3]), torch.tensor([0, 1]), num_nodes=4)
    labelled = known.with_pseudo(torch.tensor([2]), torch.tensor([1]))
    made = CalibratedPosteL(0.0).train_targets(edges, labelled)
    assert made.other_nodes.tolist() == [2] and made.other_rows.tolist() == [[0.0, 1.0]]  # type: ignore[union-attr]
    assert CalibratedPosteL().train_targets(edges, known).other_nodes is None


def test_settings_are_shown_and_checked() -> None:
    shown = repr(CalibratedPosteL(0.3, evidence="hard"))
    assert shown.startswith("CalibratedPosteL(alpha=0.3, evidence='hard'") and "targets='all'" in shown
    assert isinstance(make_smoother("calibrated", accept="accuracy"), CalibratedPosteL)
    for wrong in (
        {"alpha": 2},
        {"evidence": "some"},
        {"calibration": "platt"},
        {"accept": "never"},
        {"centers": "all"},
        {"targets": "some"},
    ):
        with pytest.raises(InputError, match=next(iter(wrong))):
            CalibratedPosteL(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="accept"):
        PosteL(accept="never")  # type: ignore[arg-type]
