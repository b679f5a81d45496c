"""Edges that count by their weight: whole numbers are repeated edges, and wrong weights are one clear sentence."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch_geometric.transforms as T
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

import reference
from cli.commands import Here
from postel import ALS, SALS, CalibratedPosteL, KnownLabels, NodeClassifier, OneHot, PosteL, load_dataset, tune
from postel.datasets.storage import StoredGraph, read_graph_file, write_graph_file
from postel.errors import InputError
from postel.functional import (
    als_soft_labels,
    calibrated_soft_labels,
    posterior_soft_labels,
    sals_soft_labels,
)
from postel.graph import LabelledGraph
from support import SmallGraph, small_graphs

SWITCHES = {
    "likelihood": st.sampled_from(["edge", "normalized", "local"]),
    "hops": st.integers(1, 3),
    "isolated": st.sampled_from(["prior", "one-hot"]),
    "centers": st.sampled_from(["labelled", "train"]),
    "self_loops": st.booleans(),
}


@st.composite
def weighted_graphs(draw: st.DrawFn, weights: Any, pseudo: bool = True) -> tuple[SmallGraph, list[Any]]:
    graph = draw(small_graphs(pseudo=pseudo))
    size = len(graph.entries)
    return graph, draw(st.lists(weights, min_size=size, max_size=size))


def repeated(graph: SmallGraph, weights: list[int]) -> SmallGraph:
    entries = [entry for entry, weight in zip(graph.entries, weights, strict=True) for _ in range(weight)]
    return SmallGraph(graph.num_nodes, graph.num_classes, entries, graph.classes, graph.train, graph.pseudo)


def as_tensor(weights: list[Any]) -> Tensor:
    return torch.tensor(weights, dtype=torch.float64)


@given(weighted_graphs(st.integers(0, 4)), st.fixed_dictionaries(SWITCHES))
def test_whole_weights_are_repeated_edges_to_the_bit(
    drawn: tuple[SmallGraph, list[int]], switches: dict[str, Any]
) -> None:
    graph, weights = drawn
    more = repeated(graph, weights)
    mixed = {"alpha": 0.8, "beta": 0.4, **switches}
    ours = posterior_soft_labels(graph.edge_index, graph.known, edge_weight=as_tensor(weights), **mixed)
    assert torch.equal(ours, posterior_soft_labels(more.edge_index, more.known, **mixed))
    exact = reference.soft_labels(more, alpha=Fraction(4, 5), beta=Fraction(2, 5), **switches)
    assert np.abs(ours.numpy() - np.array(exact, dtype=float)).max() < 1e-9


@given(weighted_graphs(st.integers(0, 4)), st.sampled_from(["labelled", "train"]), st.booleans())
def test_whole_weights_are_repeated_edges_in_the_calibrated_posterior(
    drawn: tuple[SmallGraph, list[int]], centers: Any, leave_one_out: bool
) -> None:
    graph, weights = drawn
    more = repeated(graph, weights)
    switches = {"centers": centers, "leave_one_out": leave_one_out}
    ours = calibrated_soft_labels(graph.edge_index, graph.known, edge_weight=as_tensor(weights), **switches)
    assert torch.equal(ours, calibrated_soft_labels(more.edge_index, more.known, **switches))


@given(weighted_graphs(st.integers(0, 4), pseudo=False), st.sampled_from(["labelled", "train"]), st.data())
def test_whole_weights_are_repeated_edges_under_a_models_probabilities(
    drawn: tuple[SmallGraph, list[int]], centers: Any, data: st.DataObject
) -> None:
    graph, weights = drawn
    parts = st.lists(st.integers(1, 9), min_size=graph.num_classes, max_size=graph.num_classes)
    said = torch.tensor([data.draw(parts) for _ in range(graph.num_nodes)], dtype=torch.float64)
    known = graph.known.with_evidence(said / said.sum(dim=1, keepdim=True))
    more = repeated(graph, weights)
    ours = calibrated_soft_labels(graph.edge_index, known, edge_weight=as_tensor(weights), centers=centers)
    theirs = calibrated_soft_labels(more.edge_index, known, centers=centers)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-6)


@given(weighted_graphs(st.integers(0, 4)), st.sampled_from(["mean", "sym", "inv_degree"]), st.booleans())
def test_whole_weights_are_repeated_edges_in_sals_and_als(
    drawn: tuple[SmallGraph, list[int]], weight: Any, self_loops: bool
) -> None:
    graph, weights = drawn
    more = repeated(graph, weights)
    ours = sals_soft_labels(
        graph.edge_index, graph.known, weight=weight, self_loops=self_loops, edge_weight=as_tensor(weights)
    )
    theirs = sals_soft_labels(more.edge_index, more.known, weight=weight, self_loops=self_loops)
    assert torch.equal(ours, theirs) if weight == "mean" else torch.allclose(ours, theirs, rtol=0, atol=1e-12)
    for normalization in ("row", "sym"):
        ours = als_soft_labels(
            graph.edge_index, graph.known, normalization=normalization, edge_weight=as_tensor(weights)
        )
        theirs = als_soft_labels(more.edge_index, more.known, normalization=normalization)
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def brute_force(graph: SmallGraph, weights: list[float], normalized: bool) -> list[list[float]]:
    """The posterior of every node by loops over weighted entries, from the definitions."""
    k, labelled = graph.num_classes, graph.train + graph.pseudo
    base = [sum(graph.classes[u] == m for u in labelled) / len(labelled) for m in range(k)]
    counts = [[0.0] * k for _ in range(graph.num_nodes)]
    for (i, j), weight in zip(graph.entries, weights, strict=True):
        if i != j and j in labelled:
            counts[i][graph.classes[j]] += weight
    pairs = [[0.0] * k for _ in range(k)]
    for u in labelled:
        total = sum(counts[u])
        for m in range(k):
            if total > 0:
                pairs[graph.classes[u]][m] += counts[u][m] / total if normalized else counts[u][m]
    chances = [[value / sum(row) if sum(row) else 1 / k for value in row] for row in pairs]
    out = []
    for i in range(graph.num_nodes):
        rows = []
        for n in range(k):
            row = base[n]
            for m in range(k):
                row *= chances[n][m] ** counts[i][m] if counts[i][m] else 1.0
            rows.append(row)
        total = sum(rows)
        out.append([row / total for row in rows] if total > 1e-250 else base)
    return out


@given(weighted_graphs(st.sampled_from([0.0, 0.125, 0.3, 1.0, 2.5])), st.booleans())
def test_fractions_count_as_fractions_of_an_edge(drawn: tuple[SmallGraph, list[float]], normalized: bool) -> None:
    graph, weights = drawn
    likelihood: Any = "normalized" if normalized else "edge"
    everyone = torch.arange(graph.num_nodes)
    other = everyone[~torch.isin(everyone, torch.tensor(graph.train))]
    ours = posterior_soft_labels(
        graph.edge_index, graph.known, edge_weight=as_tensor(weights), beta=0, likelihood=likelihood, rows=other
    )
    expected = np.array(brute_force(graph, weights, normalized)).reshape(graph.num_nodes, -1)[other.numpy()]
    assert np.abs(ours.numpy() - expected).max(initial=0.0) < 1e-9


def small_data() -> Data:
    return Data(
        edge_index=torch.tensor([[0, 1, 0, 2, 3, 2], [1, 0, 2, 0, 2, 3]]),
        edge_weight=torch.tensor([3.0, 3.0, 1.0, 1.0, 2.0, 2.0]),
        y=torch.tensor([0, 1, 1, 0]),
        train_mask=torch.tensor([True, True, True, False]),
    )


def repeated_data(data: Data) -> Data:
    times = data.edge_weight.long()
    return Data(edge_index=data.edge_index.repeat_interleave(times, 1), y=data.y, train_mask=data.train_mask)


@pytest.mark.parametrize("method", [PosteL, CalibratedPosteL, SALS, ALS])
def test_the_transform_reads_edge_weight_or_the_attribute_that_is_named(method: Any) -> None:
    data = small_data()
    expected = method()(repeated_data(data)).soft_y
    assert torch.allclose(method(edge_weight=True)(data).soft_y, expected, rtol=0, atol=1e-7)
    named = Data(edge_index=data.edge_index, y=data.y, train_mask=data.train_mask)
    named.edge_attr = data.edge_weight.view(-1, 1)
    assert torch.allclose(method(edge_weight="edge_attr")(named).soft_y, expected, rtol=0, atol=1e-7)
    sparse = T.ToSparseTensor(attr="edge_weight")(small_data())
    assert "edge_index" not in sparse
    assert torch.allclose(method(edge_weight=True)(sparse).soft_y, expected, rtol=0, atol=1e-7)
    plain = Data(edge_index=data.edge_index, y=data.y, train_mask=data.train_mask)
    assert torch.equal(method()(data).soft_y, method()(plain).soft_y), "without the option weights change nothing"
    assert f"edge_weight={True}" in repr(method(edge_weight=True))


def test_pseudo_labels_and_weights_go_together() -> None:
    data = small_data()
    guess = torch.tensor([-1, -1, -1, 1])
    weighted = PosteL(edge_weight=True).with_pseudo_labels(data, guess).soft_y
    assert torch.equal(weighted, PosteL().with_pseudo_labels(repeated_data(data), guess).soft_y)


def test_weights_that_differ_by_direction_follow_the_flow() -> None:
    # Node 2 hears 3 times of node 0 and once of node 1; the ways back weigh the other way round.
    data = Data(
        edge_index=torch.tensor([[0, 2, 1, 2], [2, 0, 2, 1]]),
        edge_weight=torch.tensor([3.0, 1.0, 1.0, 3.0]),
        y=torch.tensor([0, 1, 0]),
        train_mask=torch.tensor([True, True, False]),
    )
    heard = SALS(edge_weight=True)(data).soft_y[2]
    said = SALS(edge_weight=True, flow="target_to_source")(data).soft_y[2]
    assert heard.tolist() == [0.75, 0.25] and said.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("method", [PosteL, CalibratedPosteL, SALS, ALS])
def test_a_classifier_trains_on_weighted_soft_labels(method: Any) -> None:
    data = load_dataset("karate", split=0)
    # Both directions of a link weigh the same, so that the networks see an undirected graph either way.
    low, high = data.edge_index.min(dim=0).values, data.edge_index.max(dim=0).values
    times = 1 + (low + high) % 2
    data.edge_weight = times.float()

    def fitted(smoother: Any, graph: Any) -> Tensor:
        return NodeClassifier(smoother=smoother, max_epochs=8, pseudo_labels=1).fit(graph).logits_

    weighted = fitted(method(edge_weight=True), data)
    assert torch.equal(weighted, fitted(method(edge_weight=True), LabelledGraph.from_data(data)))
    assert not torch.equal(weighted, fitted(method(), data))
    # With an MLP the edges reach the training through the soft labels alone.
    more = data.clone()
    more.edge_index = data.edge_index.repeat_interleave(times, 1)
    ours, theirs = (
        NodeClassifier("mlp", smoother=smoother, max_epochs=8, pseudo_labels=1).fit(graph).logits_
        for smoother, graph in ((method(edge_weight=True), data), (method(), more))
    )
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (torch.tensor([1.0, -1.0, 1.0, 1.0, 1.0, 1.0]), "edge_weight must hold numbers of at least 0, got -1.0"),
        (torch.full((6,), math.nan), "edge_weight must hold finite numbers"),
        (torch.full((6,), math.inf), "edge_weight must hold finite numbers"),
        (torch.ones(5), r"one number for each of 6 edge entries, got shape \[5\]"),
        (torch.ones(6, 2), r"data.edge_weight must hold one number per edge to count by, got float32 of shape"),
        (torch.ones(6, dtype=torch.bool), "edge_weight must be a tensor of numbers"),
        (torch.full((6,), 1e300, dtype=torch.float64), r"must add up to 2\^53 at most"),
        (None, "data has no edge_weight: set data.edge_weight to one number per edge"),
    ],
)
def test_wrong_weights_are_one_clear_sentence(weights: Any, sentence: str) -> None:
    data = small_data()
    data.edge_weight = weights
    for method in (PosteL, CalibratedPosteL, SALS, ALS):
        with pytest.raises(InputError, match=sentence):
            method(edge_weight=True)(data)


def test_a_method_says_which_weights_it_takes() -> None:
    data = small_data()
    known = KnownLabels.from_mask(data.y, data.train_mask)
    with pytest.raises(InputError, match=r"PosteL\(edge_weight=True\) counts edges by weight: give edge_weight"):
        PosteL(edge_weight=True).soft_labels(data.edge_index, known)
    with pytest.raises(InputError, match="OneHot does not count edges, so it takes no edge_weight"):
        OneHot().soft_labels(data.edge_index, known, edge_weight=data.edge_weight)
    for wrong in (1, "", "two words", torch.ones(3), None):
        with pytest.raises(InputError, match="edge_weight must be True"):
            PosteL(edge_weight=wrong)


def tables(folder: Path) -> tuple[str, str]:
    links = ["source,target,km"]
    links += [f"{i},{j},{1 + (i + j) % 3}" for i in range(12) for j in (i + 1, i + 3, i + 4) if j < 12]
    (folder / "links.csv").write_text("\n".join([*links, "0,1,2", ""]))
    (folder / "nodes.csv").write_text(
        "\n".join(["node,label,size", *(f"{i},{'ab'[i % 2]},{i % 5}" for i in range(12)), ""])
    )
    return str(folder / "links.csv"), str(folder / "nodes.csv")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def test_convert_keeps_weights_and_methods_count_by_them(here: Here, tmp_path: Path) -> None:
    files, out = tables(tmp_path), str(tmp_path / "roads.npz")
    done = here("convert", *files, out, "--edge-weight", "km", "--undirected", cwd=tmp_path)
    assert done.returncode == 0 and "weights" in done.stdout, done.stderr
    data = load_dataset(out, protocol="stratified")
    first = (data.edge_index[0] == 0) & (data.edge_index[1] == 1)
    assert data.edge_weight.dtype == torch.float32 and data.edge_weight[first].tolist() == [4.0]
    sound = load_dataset(out, protocol="stratified", recipe="sound")
    assert torch.equal(sound.edge_weight, data.edge_weight)
    shown = {}
    for method in ("postel", "postel:edge_weight=true"):
        arguments = ("train", out, "-m", method, "--protocol", "stratified", "--max-epochs", "5", "--json")
        done = here(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        shown[method] = json.loads(done.stdout)["result"]["val_loss"]
    assert shown["postel"] != shown["postel:edge_weight=true"]


@pytest.mark.parametrize("wrong", ["-2", "far", "", "inf"])
def test_convert_refuses_wrong_weights_and_writes_nothing(here: Here, tmp_path: Path, wrong: str) -> None:
    links, nodes = tables(tmp_path)
    text = Path(links).read_text()
    Path(links).write_text(text.replace("\n0,1,2\n", f"\n0,1,{wrong}\n"))
    done = here("convert", links, nodes, "g.npz", "--edge-weight", "km", cwd=tmp_path)
    assert done.returncode == 2 and ("weight" in done.stderr or "km" in done.stderr)
    assert not (tmp_path / "g.npz").exists()
    done = here("convert", links, nodes, "g.npz", "--edge-weight", "miles", cwd=tmp_path)
    assert done.returncode == 2 and "miles" in done.stderr


def test_a_graph_files_fingerprint_names_its_weights(tmp_path: Path) -> None:
    parts: Any = (np.eye(4), [[0, 1], [1, 0]], [0, 1, 1, 0])
    plain = StoredGraph.checked(*parts)
    light, heavy = (StoredGraph.checked(*parts, edge_weight=[1.0, weight]) for weight in (1.0, 2.0))
    assert len({graph.fingerprint() for graph in (plain, light, heavy)}) == 3
    write_graph_file(tmp_path / "g.npz", heavy)
    assert read_graph_file(tmp_path / "g.npz").edge_weight.tolist() == [1.0, 2.0]
    for wrong in ([1.0], [1.0, math.nan], [-1.0, 1.0], ["a", "b"]):
        with pytest.raises(InputError, match="edge_weight must hold"):
            StoredGraph.checked(*parts, edge_weight=wrong)


def test_a_search_tells_graphs_of_other_weights_apart() -> None:
    data = load_dataset("karate", split=0)
    data.edge_weight = torch.ones(data.edge_index.size(1))
    fixed = {"max_epochs": 3}
    found = set()
    for factor, method in itertools.product((1, 2), ("postel", "postel:edge_weight=true")):
        data.edge_weight = torch.full_like(data.edge_weight, float(factor))
        choice = tune(data, methods=[method], budget=4, workers=1, progress=False, fixed=fixed)
        found.add(choice.lines[1].spec.fingerprint)
    assert len(found) == 3, "weights that no method counts by are no part of the graph"


def test_tables_say_that_they_count_rows(tmp_path: Path) -> None:
    from postel.scale import smooth_tables

    with pytest.raises(InputError, match="tables count each row of edges once"):
        smooth_tables("edges.csv", "labels.csv", tmp_path / "soft.parquet", settings=PosteL(edge_weight=True))
