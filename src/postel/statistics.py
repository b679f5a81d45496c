"""Counts of labels over nodes and edges, and the prior and conditional distributions that they give.

Everything is an integer until the last moment, so counts of any partition of the edges add up to the counts of
the whole graph, exactly.

An entry (i, j) of ``edge_index`` makes j a neighbor of i; a repeated entry counts each time; a self-loop is no
neighbor unless ``self_loops=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from postel.errors import InputError
from postel.labels import KnownLabels

# Entries counted at a time: small enough that a block's temporaries stay in cache, which is what makes it fast.
_BLOCK = 1 << 18

_Block = TypeVar("_Block")


@dataclass(frozen=True, eq=False)
class EdgeCounts:
    """What the edges say: ``pairs`` [K, K] and ``histograms`` [R, K]; add the counts of shards with ``+``.

    ``pairs[n, m]`` counts entries (u, v) with centre u of class n and neighbor v of class m (Eq. 3);
    ``histograms[r, m]`` counts the neighbors of class m of the r-th wanted node.
    """

    pairs: Tensor
    histograms: Tensor

    def __add__(self, other: EdgeCounts) -> EdgeCounts:
        return EdgeCounts(self.pairs + other.pairs, self.histograms + other.histograms)


def check_edge_index(edge_index: Tensor, num_nodes: int) -> None:
    """Raise one clear sentence unless ``edge_index`` is an integer tensor [2, E] of ids below ``num_nodes``."""
    if not isinstance(edge_index, Tensor):
        raise InputError(f"edge_index must be a tensor of shape [2, E], got {type(edge_index).__name__}")
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise InputError(f"edge_index must have shape [2, E], got {list(edge_index.shape)}")
    if edge_index.dtype not in (torch.int64, torch.int32):
        raise InputError(
            f"edge_index must hold int64 node ids, got {str(edge_index.dtype).removeprefix('torch.')}"
        )
    if edge_index.numel() == 0:
        return
    low, high = (int(value) for value in edge_index.aminmax())
    if low < 0 or high >= num_nodes:
        raise InputError(f"edge_index must hold node ids in [0, {num_nodes - 1}], got {low if low < 0 else high}")


def class_counts(known: KnownLabels) -> Tensor:
    """Labelled nodes of each class, int64 [K].

    >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=4)
    >>> class_counts(known).tolist()
    [1, 2]
    """
    return torch.bincount(known.classes, minlength=known.num_classes)


def count_edges(
    edge_index: Tensor,
    known: KnownLabels,
    *,
    rows: Tensor | None = None,
    self_loops: bool = False,
    centers: str = "labelled",
) -> EdgeCounts:
    """Counts over the entries of ``edge_index``, with histograms for the nodes ``rows`` (all N without it).

    ``centers="train"`` lets only training nodes be centres of ``pairs``; neighbors are labelled nodes always.
    ``edge_index`` may be any shard of the edges; :func:`check_edge_index` has to have passed it.

    >>> edges = torch.tensor([[0, 0, 1, 2, 3, 3], [1, 2, 0, 0, 0, 3]])
    >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=4)
    >>> counts = count_edges(edges, known)
    >>> counts.pairs.tolist(), counts.histograms.tolist()
    ([[0, 2], [2, 0]], [[0, 2], [1, 0], [1, 0], [1, 0]])
    """
    k, device = known.num_classes, edge_index.device
    # Class k stands for "not labelled". Such centres are counted like the others and cut off at the end, which
    # costs less than leaving them out. Centres whose histogram is wanted have k + 1 added to their class, so that
    # one look-up tells both.
    small = torch.uint8 if 2 * (k + 1) <= 256 else torch.int32
    neighbor_class = _table(known, known, small, device)
    center_code = _table(known.train_only(), known, small, device) if centers == "train" else neighbor_class
    if rows is not None:
        rows = rows.to(device)
        center_code = center_code.clone()
        center_code[rows] += k + 1
    bins = 2 * (k + 1) ** 2
    code_type = torch.int16 if bins < 1 << 15 else torch.int64
    pairs = torch.zeros(bins, dtype=torch.int64, device=device)
    size = known.num_nodes if rows is None else rows.numel()
    histograms = torch.zeros(size * k, dtype=torch.int32, device=device)
    rank = None if rows is None else _ranks(rows, known.num_nodes)
    one = torch.ones((), dtype=torch.int32, device=device)
    all_labelled = known.index.numel() == known.num_nodes
    lock = Lock()

    def count_block(entries: Tensor) -> None:
        sources, targets = entries
        classes = neighbor_class.index_select(0, targets)
        if not all_labelled:
            sources, targets, classes = _select(classes < k, sources, targets, classes)
        if not self_loops and _any_equal(sources, targets):
            sources, classes = _select(sources != targets, sources, classes)
        codes = center_code.index_select(0, sources)
        block_pairs = torch.bincount(codes.to(code_type).mul_(k + 1).add_(classes), minlength=bins)
        places = sources.to(torch.int64)
        if rank is not None:
            places, classes = _select(codes > k, sources, classes)
            places = rank.index_select(0, places).to(torch.int64)
        places = places * k + classes
        close = _counted(places)
        with lock:
            pairs.add_(block_pairs)
            if close is None:
                histograms.index_add_(0, places, one.expand(places.numel()))
            else:
                histograms[close[0] : close[0] + close[1].numel()] += close[1]

    blocks = edge_index.split(_BLOCK, dim=1) if edge_index.numel() else ()
    workers = torch.get_num_threads() if device.type == "cpu" else 1
    for_each_block(count_block, blocks, workers)
    return EdgeCounts(pairs.view(2, k + 1, k + 1).sum(0)[:k, :k].contiguous(), histograms.view(size, k))


def _table(labels: KnownLabels, known: KnownLabels, dtype: torch.dtype, device: torch.device) -> Tensor:
    table = torch.full((known.num_nodes,), known.num_classes, dtype=dtype, device=device)
    table[labels.index.to(device)] = labels.classes.to(device, dtype)
    return table


def _ranks(rows: Tensor, num_nodes: int) -> Tensor:
    dtype = torch.int32 if rows.numel() < 1 << 31 else torch.int64
    ranks = torch.full((num_nodes,), -1, dtype=dtype, device=rows.device)
    ranks[rows] = torch.arange(rows.numel(), dtype=dtype, device=rows.device)
    return ranks


def _select(keep: Tensor, *parts: Tensor) -> list[Tensor]:
    # On a CPU numpy finds and compares in half of torch's time.
    on_cpu = keep.device.type == "cpu"
    chosen = torch.from_numpy(np.flatnonzero(keep.numpy())) if on_cpu else keep.nonzero().view(-1)
    return [part.index_select(0, chosen) for part in parts]


def _any_equal(first: Tensor, second: Tensor) -> bool:
    if first.device.type == "cpu":
        return bool((first.numpy() == second.numpy()).any())
    return bool((first == second).any())


def _counted(places: Tensor) -> tuple[int, Tensor] | None:
    """How often each of ``places`` int64 [M] occurs, from the lowest on, or None where they lie far apart.

    In sorted edges a block's places lie close together; then this is faster than adding them one by one.
    """
    if places.numel() == 0:
        return None
    low, high = (int(value) for value in places.aminmax())
    if high - low >= places.numel():
        return None
    return low, torch.bincount(places - low)


def for_each_block(function: Callable[[_Block], None], blocks: Sequence[_Block], workers: int) -> None:
    """Call ``function`` on every block, on ``workers`` threads: torch lets go of the interpreter's lock."""
    if workers == 1 or len(blocks) < 2:
        for block in blocks:
            function(block)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(function, blocks):
            pass


def prior(counts: Tensor) -> Tensor:
    """Share of each class among the labelled nodes, float64 [K].

    >>> prior(torch.tensor([1, 3])).tolist()
    [0.25, 0.75]
    """
    return normalize_rows(counts)


def conditional(pairs: Tensor) -> Tensor:
    """P(neighbor's class m | class n), float64 [K, K] with rows n (Eq. 3); uniform where class n has no pair.

    >>> conditional(torch.tensor([[1, 3], [0, 0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    return normalize_rows(pairs)


def normalized_conditional(histograms: Tensor, classes: Tensor, num_classes: int) -> Tensor:
    """The conditional in which every labelled node weighs the same, however many neighbors it has, [K, K].

    ``histograms`` [M, K] are those of the centres and ``classes`` [M] their classes: each histogram is scaled to
    1, summed over its class, and the rows are normalised. Centres without labelled neighbors say nothing.

    >>> histograms = torch.tensor([[3, 1], [0, 1], [0, 0]])
    >>> normalized_conditional(histograms, torch.tensor([0, 0, 1]), 2).tolist()
    [[0.375, 0.625], [0.5, 0.5]]
    """
    totals = histograms.sum(dim=1, keepdim=True)
    shares = histograms.to(torch.float64) / totals.clamp(min=1)
    sums = torch.zeros(num_classes, histograms.size(1), dtype=torch.float64, device=histograms.device)
    return normalize_rows(sums.index_add_(0, classes, shares))


def normalize_rows(counts: Tensor) -> Tensor:
    """Rows (the last dimension) scaled to sum to 1, in float64; a row of zeros becomes uniform."""
    totals = counts.sum(dim=-1, keepdim=True)
    shares = counts.to(torch.float64) / totals.clamp(min=1) if not counts.is_floating_point() else counts / totals
    return torch.where(totals > 0, shares, 1.0 / counts.size(-1))
