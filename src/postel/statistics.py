"""Counts of labels over nodes and edges, and the prior and conditional distributions that they give.

Everything is an integer until the last moment, so counts of any partition of the edges add up to the counts of
the whole graph, exactly.

An entry (i, j) of ``edge_index`` makes j a neighbor of i: wherever labels are counted, i is called the center and
j the neighbor. (Where a network passes messages along the same entry, i is the source and j the target: see
:mod:`postel.graph.operators`.) A repeated entry counts each time; a self-loop is no neighbor unless
``self_loops=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
    """What the edges say; the counts of shards add up with ``+``.

    Args:
        pairs: ``pairs[n, m]`` counts entries with a center of class n and a neighbor of class m (Eq. 3),
            int64 [K, K]; float64 where entries weigh differently.
        histograms: ``histograms[r, m]`` counts the neighbors of class m of the r-th wanted node, int32 [R, K];
            float64 where entries weigh differently.
    """

    pairs: Tensor
    histograms: Tensor

    def __add__(self, other: EdgeCounts) -> EdgeCounts:
        return EdgeCounts(self.pairs + other.pairs, self.histograms + other.histograms)


def check_edge_index(edge_index: Tensor, num_nodes: int) -> None:
    """Check that edge entries have the right shape and type and name nodes that there are.

    Args:
        edge_index: The edge entries.
        num_nodes: Number of nodes.

    Raises:
        InputError: If ``edge_index`` is no integer tensor [2, E] of ids in [0, ``num_nodes``).
    """
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
    """Count the labelled nodes of each class.

    Args:
        known: The labels.

    Returns:
        The counts, int64 [K].

    Example:
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
    """Count edge entries by the classes of their two ends, and the labelled neighbors of nodes by class.

    Args:
        edge_index: Edge entries [2, E] that passed :func:`check_edge_index`: all of a graph's, or any shard.
        known: The labels; neighbors are always labelled nodes.
        rows: The nodes whose histograms are wanted, int64 [R]; all N without it.
        self_loops: Whether a self-loop makes a node its own neighbor.
        centers: Which nodes are centers of ``pairs``: all ``"labelled"`` ones, or ``"train"`` nodes only.

    Returns:
        The counts.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2, 3, 3], [1, 2, 0, 0, 0, 3]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=4)
        >>> counts = count_edges(edges, known)
        >>> counts.pairs.tolist(), counts.histograms.tolist()
        ([[0, 2], [2, 0]], [[0, 2], [1, 0], [1, 0], [1, 0]])
    """
    k, device = known.num_classes, edge_index.device
    # Class k stands for "not labelled". Such centers are counted like the others and cut off at the end, which
    # costs less than leaving them out. Centers whose histogram is wanted have k + 1 added to their class, so that
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
        center, neighbor = entries
        classes = neighbor_class.index_select(0, neighbor)
        if not all_labelled:
            center, neighbor, classes = _select(classes < k, center, neighbor, classes)
        if not self_loops and _any_equal(center, neighbor):
            center, classes = _select(center != neighbor, center, classes)
        codes = center_code.index_select(0, center)
        block_pairs = torch.bincount(codes.to(code_type).mul_(k + 1).add_(classes), minlength=bins)
        places = center.to(torch.int64)
        if rank is not None:
            places, classes = _select(codes > k, center, classes)
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
    """Count how often each of ``places`` int64 [M] occurs, from the lowest on, or None where they lie far apart.

    In sorted edges a block's places lie close together; then this is faster than adding them one by one.
    """
    if places.numel() == 0:
        return None
    low, high = (int(value) for value in places.aminmax())
    if high - low >= places.numel():
        return None
    return low, torch.bincount(places - low)


def for_each_block(function: Callable[[_Block], None], blocks: Sequence[_Block], workers: int) -> None:
    """Call a function on every block, on several threads: torch lets go of the interpreter's lock.

    Args:
        function: What is called; its results are dropped.
        blocks: What it is called with.
        workers: Number of threads.
    """
    if workers == 1 or len(blocks) < 2:
        for block in blocks:
            function(block)
        return
    with worker_threads(workers) as pool:
        for _ in pool.map(function, blocks):
            pass


@contextmanager
def worker_threads(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Start threads in which torch takes one core each: else every one of them would start as many again.

    Args:
        workers: Number of threads.

    Yields:
        The threads. Torch has its own number of threads back at the end.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(workers) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


def prior(counts: Tensor) -> Tensor:
    """Estimate the prior: the share of each class among the labelled nodes.

    Args:
        counts: Labelled nodes of each class, int64 [K].

    Returns:
        The prior, float64 [K].

    Example:
        >>> prior(torch.tensor([1, 3])).tolist()
        [0.25, 0.75]
    """
    return normalize_rows(counts)


def conditional(pairs: Tensor) -> Tensor:
    """Estimate P(neighbor's class m | center's class n) (Eq. 3).

    Args:
        pairs: Entries by the classes of center and neighbor, [K, K].

    Returns:
        The conditional, float64 [K, K] with one row per class n; uniform where class n has no pair.

    Example:
        >>> conditional(torch.tensor([[1, 3], [0, 0]])).tolist()
        [[0.25, 0.75], [0.5, 0.5]]
    """
    return normalize_rows(pairs)


def normalized_conditional(histograms: Tensor, classes: Tensor, num_classes: int) -> Tensor:
    """Estimate the conditional so that every labelled node weighs the same, however many neighbors it has.

    Each histogram is scaled to sum to 1, summed over its class, and the rows are normalized. Centers without
    labelled neighbors say nothing.

    Args:
        histograms: Labelled neighbors of the centers by class, [M, K].
        classes: Classes of the centers, int64 [M].
        num_classes: Number of classes.

    Returns:
        The conditional, float64 [K, K].

    Example:
        >>> histograms = torch.tensor([[3, 1], [0, 1], [0, 0]])
        >>> normalized_conditional(histograms, torch.tensor([0, 0, 1]), 2).tolist()
        [[0.375, 0.625], [0.5, 0.5]]
    """
    totals = histograms.sum(dim=1, keepdim=True)
    shares = histograms.to(torch.float64) / totals.masked_fill(totals == 0, 1)
    sums = torch.zeros(num_classes, histograms.size(1), dtype=torch.float64, device=histograms.device)
    return normalize_rows(sums.index_add_(0, classes, shares))


def normalize_rows(counts: Tensor) -> Tensor:
    """Scale rows to sum to 1; a row of zeros becomes uniform.

    Args:
        counts: Numbers of at least 0, rows in the last dimension.

    Returns:
        The distributions, float64.
    """
    totals = counts.sum(dim=-1, keepdim=True)
    shares = counts.to(torch.float64) / totals.clamp(min=1) if not counts.is_floating_point() else counts / totals
    return torch.where(totals > 0, shares, 1.0 / counts.size(-1))
