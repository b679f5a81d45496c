from __future__ import annotations

from functools import reduce
from operator import add

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postel import statistics
from postel.labels import KnownLabels
from postel.statistics import check_edge_index, count_edges
from support import SmallGraph, small_graphs


@given(small_graphs(), st.booleans(), st.sampled_from(["labelled", "train"]))
def test_counts_are_those_of_a_loop_over_entries(graph: SmallGraph, self_loops: bool, centers: str) -> None:
    counts = count_edges(graph.edge_index, graph.known, self_loops=self_loops, centers=centers)
    k = graph.num_classes
    pairs = [[0] * k for _ in range(k)]
    histograms = [[0] * k for _ in range(graph.num_nodes)]
    labelled = graph.train + graph.pseudo
    for u, v in graph.entries:
        if v not in labelled or (u == v and not self_loops):
            continue
        histograms[u][graph.classes[v]] += 1
        if u in (graph.train if centers == "train" else labelled):
            pairs[graph.classes[u]][graph.classes[v]] += 1
    assert counts.pairs.tolist() == pairs
    assert counts.histograms.tolist() == histograms


@given(small_graphs(), st.data())
def test_any_split_of_the_edges_gives_the_same_counts(graph: SmallGraph, data: st.DataObject) -> None:
    edges = graph.edge_index
    whole = count_edges(edges, graph.known)
    owner = torch.tensor(
        data.draw(st.lists(st.integers(0, 3), min_size=edges.size(1), max_size=edges.size(1))), dtype=torch.int64
    )
    summed = reduce(add, [count_edges(edges[:, owner == shard], graph.known) for shard in range(4)])
    assert torch.equal(summed.pairs, whole.pairs)
    assert torch.equal(summed.histograms, whole.histograms)


@given(small_graphs(), st.data())
def test_histograms_of_chosen_rows_are_rows_of_all(graph: SmallGraph, data: st.DataObject) -> None:
    chosen = data.draw(st.permutations(range(graph.num_nodes)))[: data.draw(st.integers(0, graph.num_nodes))]
    rows = torch.tensor(chosen, dtype=torch.int64)
    part = count_edges(graph.edge_index, graph.known, rows=rows)
    whole = count_edges(graph.edge_index, graph.known)
    assert torch.equal(part.histograms, whole.histograms[rows])
    assert torch.equal(part.pairs, whole.pairs)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("num_classes", [3, 127, 128, 300])
@pytest.mark.parametrize("in_order", [True, False])
def test_many_blocks_and_threads_count_the_same(
    threads: int, num_classes: int, in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(num_classes)
    edges = torch.randint(0, 500, (2, 20_000), generator=generator)
    if in_order:
        edges = edges[:, edges[0].argsort(stable=True)]
    y = torch.randint(0, num_classes, (500,), generator=generator)
    known = KnownLabels.from_mask(y, torch.rand(500, generator=generator) < 0.7, num_classes)
    whole = count_edges(edges, known)
    monkeypatch.setattr(statistics, "_BLOCK", 777)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    blocks = count_edges(edges, known)
    assert torch.equal(blocks.pairs, whole.pairs)
    assert torch.equal(blocks.histograms, whole.histograms)
    for rows in (known.index, torch.arange(0, 500, 100)):
        part = count_edges(edges, known, rows=rows)
        assert torch.equal(part.pairs, whole.pairs)
        assert torch.equal(part.histograms, whole.histograms[rows])
    as_int32 = count_edges(edges.to(torch.int32), known)
    assert torch.equal(as_int32.histograms, whole.histograms)


@pytest.mark.parametrize(
    ("edge_index", "says"),
    [
        ([[0], [1]], "must be a tensor"),
        (torch.tensor([0, 1]), r"shape \[2, E\], got \[2\]"),
        (torch.zeros(3, 2, dtype=torch.int64), r"shape \[2, E\], got \[3, 2\]"),
        (torch.tensor([[0.0], [1.0]]), "int64 node ids, got float32"),
        (torch.tensor([[0], [4]]), r"in \[0, 3\], got 4"),
        (torch.tensor([[-1], [2]]), r"in \[0, 3\], got -1"),
    ],
)
def test_bad_edges_are_refused(edge_index: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_edge_index(edge_index, 4)  # type: ignore[arg-type]
