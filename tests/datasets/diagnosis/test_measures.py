"""Each measure against its definition, written with loops over nodes and entries."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postel import statistics
from postel.datasets.diagnosis import measures
from postel.labels import KnownLabels

K = 3


@st.composite
def labelled_graphs(draw, symmetric=None):
    """Entries (with self-loops and repetitions) and labels, some unknown, as plain lists."""
    n = draw(st.integers(2, 8))
    y = draw(st.lists(st.integers(-1, K - 1), min_size=n, max_size=n).filter(lambda ys: max(ys) >= 0))
    node = st.integers(0, n - 1)
    entries = draw(st.lists(st.tuples(node, node), max_size=25))
    if draw(st.booleans()) if symmetric is None else symmetric:
        entries = entries + [(b, a) for a, b in entries]
    return entries, y


def counted(entries, y, self_loops=False):
    edge_index = torch.tensor(entries, dtype=torch.int64).view(-1, 2).T
    labels = torch.tensor(y)
    known = KnownLabels.from_mask(labels, labels >= 0, K)
    return statistics.count_edges(edge_index, known, self_loops=self_loops), labels


def seen(entries, y):
    """Entries between labelled nodes, without self-loops."""
    return [(a, b) for a, b in entries if a != b and y[a] >= 0 and y[b] >= 0]


def same(value, expected):
    return value == pytest.approx(expected, abs=1e-12, nan_ok=True)


def divided(top, bottom):
    return top / bottom if bottom else math.nan


@given(labelled_graphs())
def test_edge_homophily(graph):
    entries, y = graph
    kept = seen(entries, y)
    assert same(
        measures.edge_homophily(counted(entries, y)[0].pairs),
        divided(sum(y[a] == y[b] for a, b in kept), len(kept)),
    )


@given(labelled_graphs())
def test_node_homophily(graph):
    entries, y = graph
    shares = []
    for node in range(len(y)):
        around = [y[b] for a, b in seen(entries, y) if a == node]
        if around:
            shares.append(around.count(y[node]) / len(around))
    counts, labels = counted(entries, y)
    assert same(measures.node_homophily(counts.histograms, labels), divided(sum(shares), len(shares)))


@given(labelled_graphs())
def test_class_homophily(graph):
    entries, y = graph
    found = measures.class_homophily(counted(entries, y)[0].pairs).tolist()
    for k in range(K):
        around = [y[b] for a, b in seen(entries, y) if y[a] == k]
        assert same(found[k], divided(around.count(k), len(around)))


@given(labelled_graphs(symmetric=True))
def test_adjusted_homophily_on_undirected_graphs(graph):
    entries, y = graph
    kept = seen(entries, y)
    degree = Counter(
        y[a] for a, _ in kept
    )  # both directions are listed: this is the degree, and 2|E| their number
    chance = divided(sum(value**2 for value in degree.values()), len(kept) ** 2)
    homophily = divided(sum(y[a] == y[b] for a, b in kept), len(kept))
    found = measures.adjusted_homophily(counted(entries, y)[0].pairs)
    assert same(found, divided(homophily - chance, 1 - chance) if kept else math.nan)


@given(labelled_graphs(symmetric=True))
def test_label_informativeness_on_undirected_graphs(graph):
    entries, y = graph
    kept = seen(entries, y)
    joint = {pair: count / len(kept) for pair, count in Counter((y[a], y[b]) for a, b in kept).items()}
    single = {k: count / len(kept) for k, count in Counter(y[a] for a, _ in kept).items()}
    mutual = sum(p * math.log(p / (single[a] * single[b])) for (a, b), p in joint.items())
    entropy = -sum(p * math.log(p) for p in single.values())
    assert same(measures.label_informativeness(counted(entries, y)[0].pairs), divided(mutual, entropy))


@given(labelled_graphs())
def test_directed_entries_count_both_ways_where_direction_has_no_meaning(graph):
    entries, y = graph
    one, both = (counted(listed, y)[0].pairs for listed in (entries, entries + [(b, a) for a, b in entries]))
    assert same(measures.adjusted_homophily(one), measures.adjusted_homophily(both))
    assert same(measures.label_informativeness(one), measures.label_informativeness(both))


@given(labelled_graphs())
def test_independence_gap(graph):
    entries, y = graph
    counts, labels = counted(entries, y)
    of_two = measures.neighbor_pairs(counts.histograms, labels, K)
    found = measures.independence_gap(counts.pairs, of_two).tolist()
    kept = seen(entries, y)
    for k in range(K):
        joint: Counter[tuple[int, int]] = Counter()
        for node in range(len(y)):
            if y[node] == k:
                joint.update(permutations([y[b] for a, b in kept if a == node], 2))
        around = [y[b] for a, b in kept if y[a] == k]
        marginal = [around.count(m) / len(around) if around else 1 / K for m in range(K)]
        total = sum(joint.values())
        expected = math.nan
        if total:
            gaps = (abs(joint[m, n] / total - marginal[m] * marginal[n]) for m in range(K) for n in range(K))
            expected = sum(gaps) / 2
        assert same(found[k], expected)


def test_the_gap_is_zero_for_independent_neighbors_and_large_for_tied_ones():
    independent = torch.tensor([[2, 0], [1, 1], [1, 1], [0, 2]])
    tied = torch.tensor([[2, 0], [0, 2], [2, 0], [0, 2]])
    pairs, labels = torch.tensor([[4, 4], [0, 0]]), torch.zeros(4, dtype=torch.int64)
    for histograms, expected in ((independent, 0.0), (tied, 0.5)):
        of_two = measures.neighbor_pairs(histograms, labels, 2)
        assert measures.independence_gap(pairs, of_two)[0].item() == expected


@given(st.lists(st.lists(st.integers(1, 9), min_size=K, max_size=K), min_size=K, max_size=K))
def test_contrast(rows):
    matrix = [[value / sum(row) for value in row] for row in rows]
    gaps = [
        sum(abs(a - b) for a, b in zip(matrix[i], matrix[j], strict=True)) / 2 for i in range(K) for j in range(i)
    ]
    assert same(measures.contrast(torch.tensor(matrix, dtype=torch.float64)), sum(gaps) / len(gaps))


def test_nodes_with_one_neighbor_or_another_label_are_no_twins():
    one = torch.tensor([[0, 1], [2, 2]])
    two = torch.tensor([[0, 0, 1, 1, 1], [2, 3, 3, 2, 2]])
    assert measures.twin_nodes(one, torch.tensor([0, 0, 1, 1])) == 0
    assert measures.twin_nodes(two, torch.tensor([0, 0, 1, 1])) == 2
    assert measures.twin_nodes(two, torch.tensor([0, 1, 1, 1])) == 0


@given(labelled_graphs())
def test_twin_nodes(graph):
    entries, y = graph
    around = [frozenset(b for a, b in entries if a == node) for node in range(len(y))]
    twins = sum(
        len(around[i]) >= 2 and any(around[i] == around[j] and y[i] == y[j] for j in range(len(y)) if j != i)
        for i in range(len(y))
    )
    edge_index = torch.tensor(entries, dtype=torch.int64).view(-1, 2).T
    assert measures.twin_nodes(edge_index, torch.tensor(y)) == twins
