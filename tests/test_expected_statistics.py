"""Expected counts and closed-form leave-one-out against plain loops that count everything again for each node."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reference_expected as reference
from postel import expected_statistics, soft_counts
from postel.direction import oriented
from postel.errors import InputError
from postel.expected_statistics import expected_counts, log_evidence
from postel.labels import KnownLabels
from postel.statistics import class_counts, count_edges
from support import SmallGraph, small_graphs

CENTERS = st.sampled_from(["labelled", "train"])


def one_hot(graph: SmallGraph, nodes: list[int]) -> reference.Rows:
    k = graph.num_classes
    return [[Fraction(u in nodes and graph.classes[u] == m) for m in range(k)] for u in range(graph.num_nodes)]


def soft_rows(draw: st.DataObject, graph: SmallGraph) -> reference.Rows:
    """One-hot rows for training nodes; a distribution, a part of one, or nothing for the others."""
    rows = one_hot(graph, graph.train)
    for u in range(graph.num_nodes):
        if u not in graph.train:
            parts = draw.draw(st.lists(st.integers(0, 4), min_size=graph.num_classes, max_size=graph.num_classes))
            size = 1 << max(sum(parts) - 1, 0).bit_length()  # dyadic, so that float64 holds it
            rows[u] = [Fraction(part, size) for part in parts]
    return rows


def as_tensor(rows: reference.Rows, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor([[float(value) for value in row] for row in rows], dtype=dtype)


def centers_of(graph: SmallGraph, centers: str) -> list[bool]:
    return [centers == "labelled" or u in graph.train for u in range(graph.num_nodes)]


@given(small_graphs(), CENTERS)
def test_one_hot_labels_give_the_integer_counts_exactly(graph: SmallGraph, centers: str) -> None:
    known = graph.known
    integers = count_edges(graph.edge_index, known, centers=centers)
    hard = expected_counts(graph.edge_index, known, centers=centers)
    table = as_tensor(one_hot(graph, graph.train + graph.pseudo), torch.float32)
    soft = expected_counts(graph.edge_index, known.with_evidence(table), centers=centers)
    for ours in (hard, soft):
        assert torch.equal(ours.pairs, integers.pairs.double())
        assert torch.equal(ours.histograms, integers.histograms.double())
        assert torch.equal(ours.classes, class_counts(known).double())
    assert torch.equal(hard.reverse, soft.reverse)


@settings(max_examples=60)
@given(small_graphs(max_nodes=7), CENTERS, st.data())
def test_expected_counts_equal_plain_loops(graph: SmallGraph, centers: str, data: st.DataObject) -> None:
    rows = soft_rows(data, graph)
    known = graph.known.with_evidence(as_tensor(rows))
    classes, pairs, histograms = reference.counts(graph.entries, rows, centers_of(graph, centers))
    ours = expected_counts(graph.edge_index, known, centers=centers)
    assert torch.allclose(ours.classes, as_tensor([classes])[0], rtol=0, atol=1e-12)
    assert torch.allclose(ours.pairs, as_tensor(pairs), rtol=0, atol=1e-12)
    assert torch.allclose(ours.histograms, as_tensor(histograms), rtol=0, atol=1e-12)
    some = torch.tensor(data.draw(st.permutations(range(graph.num_nodes)))[:3])
    part = expected_counts(graph.edge_index, known, rows=some, centers=centers)
    assert torch.equal(part.pairs, ours.pairs)
    assert torch.equal(part.histograms, ours.histograms[some])
    assert torch.equal(part.reverse, ours.reverse[some])


@settings(max_examples=120)
@given(small_graphs(max_nodes=7), CENTERS, st.booleans(), st.data())
def test_leave_one_out_equals_counting_again_without_the_node(
    graph: SmallGraph, centers: str, soft: bool, data: st.DataObject
) -> None:
    if soft:
        rows = soft_rows(data, graph)
        known = graph.known.with_evidence(as_tensor(rows))
    else:
        rows, known = one_hot(graph, graph.train + graph.pseudo), graph.known
    own = known.train_only().dense()
    evidence = log_evidence(expected_counts(graph.edge_index, known, centers=centers), own)
    assert torch.isfinite(evidence.sums).all()
    for i in range(graph.num_nodes):
        log_prior, sums, number = reference.log_parts(
            graph.entries, rows, centers_of(graph, centers), i, leave_out=i in graph.train
        )
        assert evidence.neighbors[i].item() == pytest.approx(number, abs=1e-12)
        assert evidence.log_prior(slice(i, i + 1))[0].tolist() == pytest.approx(log_prior, abs=1e-12)
        assert evidence.sums[i].tolist() == pytest.approx(sums, abs=1e-10)
        means = [value / number if number else 0.0 for value in sums]
        assert evidence.means(slice(i, i + 1))[0].tolist() == pytest.approx(means, abs=1e-10)


@given(small_graphs(pseudo=False), CENTERS, st.data())
def test_a_training_nodes_own_label_changes_no_bit_of_its_evidence_but_rounding(
    graph: SmallGraph, centers: str, data: st.DataObject
) -> None:
    i = data.draw(st.sampled_from(graph.train))
    other = SmallGraph(**{**vars(graph), "classes": list(graph.classes)})
    other.classes[i] = data.draw(st.integers(0, graph.num_classes - 1))
    row = torch.tensor([i])
    parts = []
    for one in (graph, other):
        counts = expected_counts(one.edge_index, one.known, rows=row, centers=centers)
        parts.append(log_evidence(counts, one.known.dense()[row]))
    assert torch.allclose(parts[0].sums, parts[1].sums, atol=1e-10)
    assert torch.allclose(parts[0].log_prior(row * 0), parts[1].log_prior(row * 0), atol=1e-12)


def hub(leaves: int, shuffled: bool) -> tuple[torch.Tensor, KnownLabels]:
    """A star whose center has more neighbors than one block of float32 sums, in two orders of entries."""
    ids = torch.arange(1, leaves + 1)
    out = torch.stack([torch.zeros_like(ids), ids])
    edges = torch.cat([out, out.flip(0)], dim=1)
    if shuffled:
        edges = edges[:, torch.randperm(edges.size(1), generator=torch.Generator().manual_seed(1))]
    known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([2]), num_nodes=leaves + 1, num_classes=3)
    noise = torch.rand(leaves + 1, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return edges, known.with_evidence((noise / noise.sum(dim=1, keepdim=True)).float())


@pytest.mark.parametrize("shuffled", [False, True])
def test_float32_evidence_of_a_hub_is_summed_precisely_and_in_any_order_of_entries(shuffled: bool) -> None:
    edges, known = hub(300_000, shuffled)
    assert known.evidence is not None
    counts = expected_counts(edges, known, rows=torch.tensor([0]))
    exact = known.evidence[1:].double().sum(dim=0)
    assert torch.allclose(counts.histograms[0], exact, rtol=1e-7, atol=0)
    assert torch.allclose(counts.reverse[0], exact, rtol=1e-7, atol=0)


def test_the_number_of_threads_changes_no_bit() -> None:
    edges, known = hub(20_000, shuffled=True)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            counts = expected_counts(edges, known)
            results.append((counts, log_evidence(counts, known.dense())))
    finally:
        torch.set_num_threads(before)
    (one, one_logs), (two, two_logs) = results
    for name in ("classes", "pairs", "histograms", "reverse"):
        assert torch.equal(getattr(one, name), getattr(two, name)), name
    assert torch.equal(one_logs.sums, two_logs.sums)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Count every graph the way large ones are counted, in chunks and blocks that small graphs fill."""
    monkeypatch.setattr(expected_statistics, "LARGE", 0)
    monkeypatch.setattr(soft_counts, "_CHUNK", 4096)
    monkeypatch.setattr(soft_counts, "_BLOCK", 1000)
    return monkeypatch


def random_graph(undirected: bool, in_order: bool) -> torch.Tensor:
    """Entries with a hub, self-loops and repeated ones."""
    edges = torch.randint(0, 800, (2, 9000), generator=torch.Generator().manual_seed(0))
    edges[0, :2000] = 7
    edges[1, 2000:2010] = edges[0, 2000:2010]
    edges = torch.cat([edges, edges.flip(0)], dim=1) if undirected else edges
    return edges[:, (edges[0] * 800 + edges[1]).argsort()] if in_order else edges


@pytest.mark.parametrize("centers", ["labelled", "train"])
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("undirected", [True, False])
def test_a_large_graph_has_the_counts_of_a_small_one(
    large: pytest.MonkeyPatch, undirected: bool, in_order: bool, centers: str
) -> None:
    edges = random_graph(undirected, in_order)
    draws = torch.Generator().manual_seed(1)
    classes = torch.randint(0, 5, (80,), generator=draws)
    known = KnownLabels.from_index(torch.arange(0, 800, 10), classes, num_nodes=800, num_classes=5)
    soft = known.with_evidence(torch.softmax(torch.randn(800, 5, generator=draws, dtype=torch.float64), 1))
    if undirected:
        oriented(edges, 800, "source_to_target")
    for rows in (known.index, None, torch.arange(30, 3, -1)):
        many = expected_counts(edges, soft, rows=rows, centers=centers)
        with large.context() as small:
            small.setattr(expected_statistics, "LARGE", 1 << 60)
            few = expected_counts(edges, soft, rows=rows, centers=centers)
        for name in ("classes", "pairs", "histograms", "reverse"):
            assert torch.allclose(getattr(many, name), getattr(few, name), rtol=1e-12, atol=1e-12), name


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(small_graphs(max_nodes=7), CENTERS, st.booleans(), st.data())
def test_the_counts_of_large_graphs_equal_plain_loops(
    large: pytest.MonkeyPatch, graph: SmallGraph, centers: str, both_ways: bool, data: st.DataObject
) -> None:
    rows = soft_rows(data, graph)
    known = graph.known.with_evidence(as_tensor(rows))
    entries = [*graph.entries, *((v, u) for u, v in graph.entries)] if both_ways else graph.entries
    edges = torch.tensor(entries, dtype=torch.int64).view(-1, 2).T
    if both_ways:
        oriented(edges, graph.num_nodes, "source_to_target")
    classes, pairs, histograms = reference.counts(entries, rows, centers_of(graph, centers))
    some = torch.tensor(data.draw(st.permutations(range(graph.num_nodes)))[:3])
    ours = expected_counts(edges, known, rows=some, centers=centers)
    assert torch.allclose(ours.classes, as_tensor([classes])[0], rtol=0, atol=1e-12)
    assert torch.allclose(ours.pairs, as_tensor(pairs), rtol=0, atol=1e-12)
    assert torch.allclose(ours.histograms, as_tensor(histograms)[some], rtol=0, atol=1e-12)


@pytest.mark.parametrize("undirected", [True, False])
def test_the_number_of_threads_changes_no_bit_of_a_large_graph(
    large: pytest.MonkeyPatch, undirected: bool
) -> None:
    edges = random_graph(undirected, in_order=True)
    known = KnownLabels.from_index(torch.arange(80), torch.arange(80) % 5, num_nodes=800)
    soft = known.with_evidence(torch.softmax(torch.randn(800, 5, generator=torch.Generator().manual_seed(2)), 1))
    if undirected:
        oriented(edges, 800, "source_to_target")
    before, counts = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            counts.append(expected_counts(edges, soft, rows=known.index))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for name in ("classes", "pairs", "histograms", "reverse"):
        assert torch.equal(getattr(counts[0], name), getattr(counts[1], name)), name


def test_integer_counts_are_the_same_whether_or_not_a_graph_is_known_to_be_undirected() -> None:
    edges = random_graph(undirected=True, in_order=False)
    known = KnownLabels.from_index(torch.arange(80), torch.arange(80) % 5, num_nodes=800)
    before = expected_counts(edges, known, rows=known.index)
    oriented(edges, 800, "source_to_target")
    after = expected_counts(edges, known, rows=known.index)
    assert torch.equal(before.reverse, after.reverse) and torch.equal(before.histograms, after.histograms)
    edges[1, 0] = 3  # no longer undirected
    changed, fresh = (expected_counts(part, known, rows=known.index) for part in (edges, edges.clone()))
    assert torch.equal(changed.reverse, fresh.reverse) and not torch.equal(changed.reverse, after.reverse)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (torch.zeros(2, 2, dtype=torch.int64), "float tensor"),
        (torch.zeros(3, 2), r"shape \[2, 2\]"),
        (torch.tensor([[0.0, 0.0], [0.9, 0.9]]), "at most 1"),
        (torch.tensor([[0.0, 0.0], [-0.1, 0.9]]), "at most 1"),
        (torch.tensor([[0.0, 0.0], [float("nan"), 0.9]]), "at most 1"),
    ],
)
def test_bad_evidence_gets_one_sentence(rows: torch.Tensor, message: str) -> None:
    known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
    with pytest.raises(InputError, match=message):
        known.with_evidence(rows)


def test_evidence_is_copied_unless_told_and_dropped_with_pseudo_labels() -> None:
    known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
    rows = torch.full((2, 2), 0.5)
    kept = known.with_evidence(rows)
    assert rows.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert (
        kept.train_only().evidence is None
        and kept.with_pseudo(torch.tensor([1]), torch.tensor([0])).evidence is None
    )
    assert known.with_evidence(rows, copy=False).evidence is not None and rows[0].tolist() == [0.0, 1.0]
