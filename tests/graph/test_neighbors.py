"""Edges in compressed form: grouping, blocks, and operators equal to those with stored weights."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from postel.errors import InputError
from postel.graph import Features, Graph, LargeGraph, Neighbors, neighbors


@st.composite
def edges(draw: st.DrawFn) -> tuple[torch.Tensor, int]:
    nodes = draw(st.integers(1, 9))
    node = st.integers(0, nodes - 1)
    entries = draw(st.lists(st.tuples(node, node), max_size=40))
    return torch.tensor(entries, dtype=torch.int64).reshape(-1, 2).t().contiguous(), nodes


@given(edges())
def test_sources_are_grouped_by_target_and_repeated_entries_stay(pair):
    edge_index, nodes = pair
    ours = Neighbors.from_edge_index(edge_index, nodes)
    for node in range(nodes):
        expected = sorted(s for s, t in edge_index.t().tolist() if t == node != s)
        assert sorted(ours.sources[ours.offsets[node] : ours.offsets[node + 1]].tolist()) == expected
    again = sorted(map(tuple, ours.edge_index().t().tolist()))
    assert again == sorted((s, t) for s, t in edge_index.t().tolist() if s != t)


@given(edges(), st.integers(1, 12))
def test_blocks_cover_all_rows_once(pair, entries):
    ours = Neighbors.from_edge_index(*pair)
    ranges = list(ours.blocks(entries))
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == ours.num_nodes
    for first, last in ranges:
        assert last > first
        assert last - first == 1 or ours.offsets[last] - ours.offsets[first] <= entries


@given(edges(), st.sampled_from([1, 5, 1000]))
def test_operators_equal_the_stored_ones(pair, entries):
    edge_index, nodes = pair
    features = Features(torch.eye(nodes))
    small = Graph(features, edge_index)
    large = LargeGraph(features, Neighbors.from_edge_index(edge_index, nodes))
    dense = torch.randn(nodes, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors.Neighbors.blocks, "__defaults__", (entries,))
        pairs = [(small.gcn, large.gcn), (small.adjacency, large.adjacency), (small.mean, large.mean)]
        pairs += list(zip(small.bernstein, large.bernstein, strict=True))
        for stored, implicit in pairs:
            assert torch.allclose(stored @ dense, implicit @ dense, atol=1e-5)
            assert torch.allclose(2.0 * (stored @ dense), implicit.rows.multiply(dense, 2.0), atol=1e-5)


def test_a_users_module_gets_the_edges_of_a_large_graph():
    edge_index = torch.tensor([[0, 2, 1], [1, 1, 0]])
    data = Data(x=torch.eye(3), edge_index=edge_index)
    large = LargeGraph(Features.from_dense(data.x), Neighbors.from_edge_index(edge_index, 3))
    assert sorted(large.edge_index.t().tolist()) == sorted(edge_index.t().tolist())


def test_edges_are_checked():
    with pytest.raises(InputError, match=r"nodes in \[0, 1\], got 0..5"):
        Neighbors.from_edge_index(torch.tensor([[0], [5]]), 2)
