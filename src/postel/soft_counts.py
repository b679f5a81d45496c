"""Expected counts of a large graph: chunks of entries on several threads, probabilities summed by center.

The work is one gathered row of probabilities per entry, which is bound by the latency of memory. So no row is
gathered twice, and on a graph that is known to be undirected an edge is looked at in one of its directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from postel.statistics import worker_threads

#: Entries times classes from which graphs are counted here. Float sums come out in another order than those of
#: smaller graphs, whose bits are to stay as they are.
LARGE = 1 << 26

#: Rows added up in the evidence's own precision before float64 takes over.
RUN = 512

# Entries that a thread takes at a time, and those whose temporaries stay in its cache.
_CHUNK = 1 << 22
_BLOCK = 1 << 18

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SoftCounts:
    """What was counted, all float64.

    Attributes:
        classes: Labelled nodes of each class [K].
        pairs: Entries by class of center and of neighbor [K, K].
        histograms: Neighbors of each wanted node by class [R, K].
        reverse: Centers that have the wanted node as their neighbor, by class [R, K].
    """

    classes: Tensor
    pairs: Tensor
    histograms: Tensor
    reverse: Tensor


@dataclass(frozen=True, eq=False)
class _Job:
    """What is to be counted: ``rank`` [N] numbers the wanted nodes and is -1 for others."""

    table: Tensor
    rank: Ints
    wanted: Flags
    is_center: Flags
    needed: Flags
    all_centers: bool
    undirected: bool
    some_wanted: bool


def count_large(
    edge_index: Tensor, table: Tensor, rank: Tensor, size: int, is_center: Tensor, *, undirected: bool
) -> SoftCounts:
    """Count pairs and neighbors in expectation, in an order of summation that no number of threads changes.

    Args:
        edge_index: The entries, int64 [2, E], on a CPU.
        table: Labels of all nodes as distributions, float [N, K].
        rank: Place of each wanted node among the R wanted ones, -1 for other nodes, int64 [N].
        size: Number of wanted nodes, R.
        is_center: Which nodes are centers of pairs, bool [N].
        undirected: Whether it is known that every entry has its way back.

    Returns:
        The counts.
    """
    k = table.size(1)
    wanted = rank >= 0
    job = _Job(
        table,
        rank.numpy(),
        wanted.numpy(),
        is_center.numpy(),
        (is_center | wanted).numpy(),
        all_centers=bool(is_center.all()),
        undirected=undirected,
        some_wanted=not bool(wanted.all()),
    )
    pairs = torch.zeros(k, k, dtype=torch.float64)
    histograms = torch.zeros(size, k, dtype=torch.float64)
    mirrored = undirected and job.all_centers
    reverse = histograms if mirrored else torch.zeros_like(histograms)
    chunks = edge_index.split(_CHUNK, dim=1)
    classes = torch.zeros(k, dtype=torch.float64)
    with worker_threads(torch.get_num_threads()) as pool:
        for total in pool.map(_column_sums, table.split(_BLOCK)):
            classes += total
        for part, neighbors, centers in pool.map(lambda chunk: _count_chunk(chunk, job), chunks):
            pairs += part
            for places, sums in neighbors:
                histograms.index_add_(0, places, sums)
            for places, sums in centers:
                reverse.index_add_(0, places, sums)
    return SoftCounts(classes, pairs + pairs.T if mirrored and job.some_wanted else pairs, histograms, reverse)


_Sums = list[tuple[Tensor, Tensor]]


def _count_chunk(chunk: Tensor, job: _Job) -> tuple[Tensor, _Sums, _Sums]:
    k = job.table.size(1)
    centers, neighbors = _sorted(*chunk.numpy())
    pairs = torch.zeros(k, k, dtype=torch.float64)
    histograms: _Sums = []
    for first in range(0, centers.size, _BLOCK):
        place = slice(first, first + _BLOCK)
        pairs += _count_block(centers[place], neighbors[place], job, histograms)
    reverse = [] if job.undirected and job.all_centers else [_centers_of_wanted(centers, neighbors, job)]
    return pairs, histograms, reverse


def _count_block(centers: Ints, neighbors: Ints, job: _Job, histograms: _Sums) -> Tensor:
    """Pairs of a block of sorted entries; the neighbors of its wanted nodes are added to ``histograms``."""
    starts = _starts(centers)
    nodes = centers[starts]
    if job.all_centers and job.undirected and job.some_wanted:
        # Half of the entries tell all pairs. Wanted nodes need their other neighbors too, and are few.
        upper = np.flatnonzero(neighbors > centers)
        begin = np.searchsorted(upper, starts)
        filled = np.flatnonzero(np.diff(begin, append=upper.size))
        sums, parts = _sums(job.table, _taken(neighbors, upper), begin[filled])
        pairs = _products(job.table, nodes[filled][parts], sums)
        nodes, sums = _sums_of_runs(job.table, neighbors, starts, nodes, job.wanted)
    else:
        nodes, sums = _sums_of_runs(job.table, neighbors, starts, nodes, job.needed)
        of_center = np.flatnonzero(job.is_center[nodes])
        pairs = _products(job.table, nodes[of_center], sums[torch.from_numpy(of_center)])
    ranks = job.rank[nodes]
    chosen = np.flatnonzero(ranks >= 0)
    histograms.append((torch.from_numpy(ranks[chosen]), sums[torch.from_numpy(chosen)].to(torch.float64)))
    return pairs


def _centers_of_wanted(centers: Ints, neighbors: Ints, job: _Job) -> tuple[Tensor, Tensor]:
    """Sums of the centers that have a wanted node as their neighbor."""
    keep = job.wanted[neighbors] & (centers != neighbors)
    if not job.all_centers:
        keep &= job.is_center[centers]
    places = np.flatnonzero(keep)
    nodes, others = _sorted(_taken(neighbors, places), _taken(centers, places))
    if nodes.size == 0:
        return torch.empty(0, dtype=torch.int64), torch.empty(0, job.table.size(1), dtype=torch.float64)
    starts = _starts(nodes)
    sums, parts = _sums(job.table, others, starts)
    return torch.from_numpy(job.rank[nodes[starts][parts]]), sums.to(torch.float64)


def _sums_of_runs(table: Tensor, neighbors: Ints, starts: Ints, nodes: Ints, needed: Flags) -> tuple[Ints, Tensor]:
    """Sums of the neighbors of those ``nodes`` that are needed, whose runs begin at ``starts``: nodes and sums."""
    keep = needed[nodes]
    lengths = np.diff(starts, append=neighbors.size)
    if not keep.all():
        neighbors = _taken(neighbors, np.flatnonzero(np.repeat(keep, lengths)))
        lengths, nodes = lengths[keep], nodes[keep]
        starts = np.cumsum(lengths) - lengths
    loops = np.flatnonzero(neighbors == np.repeat(nodes, lengths))
    if loops.size:
        neighbors = np.delete(neighbors, loops)
        lengths = lengths - np.bincount(np.searchsorted(starts, loops, side="right") - 1, minlength=nodes.size)
        nodes, lengths = nodes[lengths > 0], lengths[lengths > 0]
        starts = np.cumsum(lengths) - lengths
    sums, parts = _sums(table, neighbors, starts)
    return nodes[parts], sums


def _sums(table: Tensor, places: Ints, starts: Ints) -> tuple[Tensor, Ints]:
    """Rows ``table[places]`` added up in bags that begin at ``starts``: the sums [B, K], and the bag of each.

    A bag longer than ``RUN`` has several sums, so that float32 rows lose nothing that matters.
    """
    lengths = np.diff(starts, append=places.size)
    bags = np.arange(starts.size)
    if starts.size and int(lengths.max()) > RUN:
        pieces = -(-lengths // RUN)
        bags = np.repeat(bags, pieces)
        within = np.arange(bags.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        starts = starts[bags] + within * RUN
    if starts.size == 0:
        return table.new_zeros(0, table.size(1)), bags
    # A bag of rows is summed by one thread, in the order given.
    indices, offsets = torch.from_numpy(places), torch.from_numpy(starts)
    return torch.embedding_bag(table, indices, offsets, False, 0, False, None, False)[0], bags


def _products(table: Tensor, nodes: Ints, sums: Tensor) -> Tensor:
    """Sum of ``table[nodes[b]]`` times ``sums[b]``, float64 [K, K], ``RUN`` of them in their own precision."""
    rows = table.index_select(0, torch.from_numpy(nodes))
    whole = nodes.size // RUN * RUN
    k = table.size(1)
    parts = torch.bmm(rows[:whole].view(-1, RUN, k).transpose(1, 2), sums[:whole].view(-1, RUN, k))
    return parts.sum(dim=0, dtype=torch.float64) + (rows[whole:].T @ sums[whole:]).to(torch.float64)


def _column_sums(rows: Tensor) -> Tensor:
    """Sum of all rows, float64 [K], ``RUN`` of them in their own precision."""
    whole = rows.size(0) // RUN * RUN
    ones = rows.new_ones(1, 1, 1).expand(whole // RUN, 1, RUN)
    parts = torch.bmm(ones, rows[:whole].view(-1, RUN, rows.size(1)))
    return parts.sum(dim=(0, 1), dtype=torch.float64) + rows[whole:].sum(dim=0, dtype=torch.float64)


def _starts(keys: Ints) -> Ints:
    """Where runs of equal ``keys`` begin."""
    return np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1]) if keys.size else np.empty(0, np.int64)


def _sorted(keys: NDArray[Any], values: NDArray[Any]) -> tuple[Ints, Ints]:
    """Bring equal ``keys`` together, if they are not; ids are smaller than 2^31 here."""
    if bool((keys[1:] >= keys[:-1]).all()):
        return keys.astype(np.int64, copy=False), values.astype(np.int64, copy=False)
    both = keys.astype(np.int64) << 32
    both |= values
    both.sort()
    return both >> 32, both & 0xFFFFFFFF


def _taken(values: Ints, places: Ints) -> Ints:
    # Torch takes entries in half of numpy's time.
    return torch.from_numpy(values).index_select(0, torch.from_numpy(places)).numpy()
