"""Label statistics in expectation: a node's label may be a distribution over the classes.

A training node has a one-hot row, another node what a model says of it, or nothing. Counts become expected counts;
where every row is one-hot they are the integer counts, exactly. Float sums are taken in one fixed order, whatever
the number of threads, so the same input gives the same bytes.

A self-loop is no neighbor here, ever: it would hand a node its own label.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from postel.direction import known_undirected
from postel.labels import KnownLabels
from postel.soft_counts import LARGE, RUN, count_large
from postel.statistics import class_counts, count_edges, for_each_block
from postel.weighted_statistics import weighted_counts

# Entries handled at a time.
_ENTRIES = 1 << 20

# Nodes whose logarithms are taken at a time.
_ROWS = 1 << 12


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """What labels and edges say in expectation, all float64.

    Attributes:
        classes: Labelled nodes of each class [K].
        pairs: ``pairs[n, m]`` counts entries (u, v) with center u of class n and neighbor v of class m [K, K].
        histograms: Labelled neighbors of each wanted node by class [R, K].
        reverse: Centers that have the wanted node as their neighbor, by class [R, K].
    """

    classes: Tensor
    pairs: Tensor
    histograms: Tensor
    reverse: Tensor


def expected_counts(
    edge_index: Tensor,
    known: KnownLabels,
    *,
    edge_weight: Tensor | None = None,
    rows: Tensor | None = None,
    centers: str = "labelled",
) -> ExpectedCounts:
    """Count classes, pairs and neighbors in expectation, in one pass over the edges.

    Args:
        edge_index: Entries (i, j) that make j a neighbor of i [2, E]; ``check_edge_index`` has to have passed it.
        known: Training labels, with pseudo-labels or with a model's probabilities as ``evidence``.
        edge_weight: How often each entry counts [E], checked; once each without it.
        rows: Nodes whose histograms are wanted [R]; all nodes by default.
        centers: ``"labelled"`` lets every node with a label or evidence be the center of a pair, ``"train"``
            training nodes only. Neighbors are all of them always.

    Returns:
        The expected counts.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=3)
        >>> soft = known.with_evidence(torch.tensor([[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]]))
        >>> counts = expected_counts(edges, soft)
        >>> counts.classes.tolist(), counts.histograms.tolist()
        ([1.25, 1.75], [[0.25, 1.75], [1.0, 0.0], [1.0, 0.0]])
        >>> counts.pairs.tolist()
        [[0.5, 1.75], [1.75, 0.0]]
    """
    if edge_weight is not None:
        counts, reverse = weighted_counts(edge_index, edge_weight, known, rows=rows, centers=centers)
        classes = class_counts(known) if known.evidence is None else known.evidence.sum(dim=0, dtype=torch.float64)
        return ExpectedCounts(
            classes.to(edge_index.device, torch.float64), counts.pairs, counts.histograms, reverse
        )
    if known.evidence is None:
        return _hard_counts(edge_index, known, rows, centers)
    return _soft_counts(edge_index, known, known.evidence.to(edge_index.device), rows, centers)


def _hard_counts(edge_index: Tensor, known: KnownLabels, rows: Tensor | None, centers: str) -> ExpectedCounts:
    device, k = edge_index.device, known.num_classes
    counts = count_edges(edge_index, known, rows=rows, centers=centers)
    labels = known.train_only() if centers == "train" else known
    classes = class_counts(known).to(device, torch.float64)
    if labels.index.numel() == known.index.numel() and known_undirected(edge_index):
        # Whoever has a node as neighbor is a neighbor of it.
        histograms = counts.histograms.to(torch.float64)
        return ExpectedCounts(classes, counts.pairs.to(torch.float64), histograms, histograms)
    center_class = torch.full((known.num_nodes,), k, dtype=torch.int64, device=device)
    center_class[labels.index.to(device)] = labels.classes.to(device)
    rank = _ranks(known.num_nodes, rows, device)
    blocks = edge_index.split(_ENTRIES, dim=1) if edge_index.numel() else ()
    # A thread of its own counts into a table of its own: whole numbers add up to the same in any order.
    workers = max(1, min(torch.get_num_threads(), len(blocks))) if device.type == "cpu" else 1
    tables = counts.histograms.new_zeros(workers, counts.histograms.numel())
    one = torch.ones((), dtype=tables.dtype, device=device)
    wanted = rank >= 0

    def count_share(worker: int) -> None:
        for entries in blocks[worker::workers]:
            sources, targets = _chosen(wanted.index_select(0, entries[1]), *entries)
            found = center_class.index_select(0, sources)
            found, sources, targets = _chosen((found < k) & (sources != targets), found, sources, targets)
            places = rank.index_select(0, targets).mul_(k).add_(found)
            tables[worker].index_add_(0, places, one.expand(places.numel()))

    for_each_block(count_share, range(workers), workers)
    reverse = tables.sum(dim=0, dtype=tables.dtype)
    return ExpectedCounts(
        classes,
        counts.pairs.to(torch.float64),
        counts.histograms.to(torch.float64),
        reverse.view_as(counts.histograms).to(torch.float64),
    )


def _soft_counts(
    edge_index: Tensor, known: KnownLabels, table: Tensor, rows: Tensor | None, centers: str
) -> ExpectedCounts:
    device, n, k = edge_index.device, known.num_nodes, known.num_classes
    rank = _ranks(n, rows, device)
    is_center = torch.ones(n, dtype=torch.bool, device=device)
    if centers == "train":
        is_center = torch.zeros_like(is_center)
        is_center[known.train_only().index.to(device)] = True
    size = n if rows is None else rows.numel()
    if device.type == "cpu" and edge_index.size(1) * k >= LARGE and n < 1 << 31:
        undirected = known_undirected(edge_index)
        counts = count_large(edge_index, table, rank, size, is_center, undirected=undirected)
        return ExpectedCounts(counts.classes, counts.pairs, counts.histograms, counts.reverse)
    wanted = rank >= 0
    needed = is_center | wanted
    pairs = torch.zeros(k, k, dtype=torch.float64, device=device)
    histograms = torch.zeros(size, k, dtype=torch.float64, device=device)
    reverse = torch.zeros_like(histograms)
    train = known.train_only()
    train_class = torch.full((n,), k, dtype=torch.int64, device=device)
    train_class[train.index.to(device)] = train.classes.to(device)
    for sources, targets in edge_index.split(_ENTRIES, dim=1) if edge_index.numel() else ():
        # A table of truth values fits in a cache: what is not needed goes before anything else is looked up.
        middles, neighbors = _chosen(needed.index_select(0, sources), sources, targets)
        middles, neighbors = _chosen(middles != neighbors, middles, neighbors)
        nodes, sums = _sums_by(middles, neighbors, table)
        of_center = is_center[nodes].nonzero().view(-1)
        pairs += table[nodes[of_center]].to(torch.float64).T @ sums[of_center]
        _add_rows(histograms, rank[nodes], sums)
        middles, neighbors = _chosen(wanted.index_select(0, targets), sources, targets)
        keep = is_center.index_select(0, middles) & (middles != neighbors)
        middles, neighbors = _chosen(keep, middles, neighbors)
        if centers == "train":
            # The rows of training nodes are one-hot: to count is exact, and needs no sorting by neighbor.
            places = rank.index_select(0, neighbors).mul_(k).add_(train_class.index_select(0, middles))
            one = torch.ones((), dtype=torch.float64, device=device)
            reverse.view(-1).index_add_(0, places, one.expand(places.numel()))
            continue
        nodes, sums = _sums_by(neighbors, middles, table)
        _add_rows(reverse, rank[nodes], sums)
    classes = torch.zeros(k, dtype=torch.float64, device=device)
    for part in table.split(_ENTRIES // 8):
        classes += part.sum(dim=0, dtype=torch.float64)
    return ExpectedCounts(classes, pairs, histograms, reverse)


def _chosen(keep: Tensor, *parts: Tensor) -> list[Tensor]:
    if bool(keep.all()):
        return list(parts)
    places = keep.nonzero().view(-1)
    return [part.index_select(0, places) for part in parts]


def _ranks(num_nodes: int, rows: Tensor | None, device: torch.device) -> Tensor:
    everyone = torch.arange(num_nodes, device=device)
    if rows is None:
        return everyone
    ranks = torch.full_like(everyone, -1)
    ranks[rows.to(device)] = everyone[: rows.numel()]
    return ranks


def _sums_by(keys: Tensor, places: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    """Rows ``table[places]`` added up over runs of equal ``keys``: the runs' keys [U] and float64 sums [U, K].

    A key may have several runs: none is longer than ``RUN``, so that float32 rows lose nothing that matters.
    """
    if keys.numel() == 0:
        return keys, torch.zeros(0, table.size(1), dtype=torch.float64, device=table.device)
    if not bool((keys[1:] >= keys[:-1]).all()):
        keys, order = keys.sort(stable=True)
        places = places[order]
    begins = torch.ones_like(keys, dtype=torch.bool)
    torch.ne(keys[1:], keys[:-1], out=begins[1:])
    begins[::RUN] = True
    starts = begins.nonzero().view(-1)
    # A bag of rows is summed by one thread, in the order given.
    sums = torch.embedding_bag(table, places.to(torch.int64), starts, False, 0, False, None, False)[0]
    return keys[starts], sums.to(torch.float64)


def _add_rows(out: Tensor, places: Tensor, sums: Tensor) -> None:
    wanted = (places >= 0).nonzero().view(-1)
    out.index_add_(0, places[wanted], sums[wanted])


@dataclass(frozen=True, eq=False)
class LogEvidence:
    """Logarithms of prior and likelihood for every class of every wanted node, float64.

    Attributes:
        sums: Log-likelihood of the neighbors, summed over them [R, K].
        neighbors: Expected number of labelled neighbors [R].
        prior_logs: The different rows of log priors [K + 1, K].
        prior_rows: Which of them each node has [R].
    """

    sums: Tensor
    neighbors: Tensor
    prior_logs: Tensor
    prior_rows: Tensor

    def log_prior(self, place: slice | Tensor) -> Tensor:
        """Return the log priors of some of the nodes.

        Args:
            place: Which of the R nodes.

        Returns:
            One row per chosen node over the classes.
        """
        return self.prior_logs[self.prior_rows[place]]

    def means(self, place: slice | Tensor) -> Tensor:
        """Return the log-likelihood of some of the nodes as a mean over their neighbors.

        Args:
            place: Which of the R nodes.

        Returns:
            One row per chosen node over the classes; zeros where a node has no labelled neighbor.
        """
        number = self.neighbors[place].unsqueeze(1)
        return torch.where(number > 0, self.sums[place] / number.masked_fill(number == 0, 1.0), 0.0)


def log_evidence(counts: ExpectedCounts, own: Tensor) -> LogEvidence:
    """Take logarithms of prior and likelihood with each training node's own label left out of all counts.

    A label that is left out lowers the prior's count of its class by one, its row of ``pairs`` by the node's own
    histogram, and its column by the node's reverse histogram. So a node's log-likelihoods differ from those of the
    full counts in one row, one column and the row totals, and take O(K) more logarithms, not a matrix per node.
    One count, spread evenly over the classes, is added to the prior and to each row of ``pairs``: no logarithm is
    infinite.

    Args:
        counts: Expected counts, with histograms of the R wanted nodes.
        own: Training class of each of these nodes, -1 where nothing is to be left out [R].

    Returns:
        The logarithms.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
        >>> evidence = log_evidence(expected_counts(edges, known), known.dense())
        >>> evidence.log_prior(slice(0, 1)).exp()  # without node 0: two of class 1, and half a count each
        tensor([[0.1667, 0.8333]], dtype=torch.float64)
        >>> evidence.sums[0].exp()  # without node 0 no pair is left: uniform, for two neighbors
        tensor([0.2500, 0.2500], dtype=torch.float64)
    """
    size, k = counts.histograms.shape
    device, share = counts.pairs.device, 1.0 / k
    totals = counts.pairs.sum(dim=1)
    logs = (counts.pairs + share).log_()
    log_totals = (totals + 1).log_()
    sums = torch.empty(size, k, dtype=torch.float64, device=device)
    neighbors = counts.histograms.sum(dim=1)

    def take_logs(place: slice) -> None:
        histograms, number = counts.histograms[place], neighbors[place].unsqueeze(1)
        out = histograms @ logs.T
        left = (own[place] >= 0).nonzero().view(-1)
        classes = own[place][left]
        of_left, reverse, number_left = histograms[left], counts.reverse[place][left], number[left]
        rows = torch.arange(left.numel(), device=device)
        denominators = log_totals.expand(out.size(0), k).clone()
        denominators[left] = (totals - reverse).clamp_(min=0).add_(1).log_()
        column = (counts.pairs.T[classes] - reverse).clamp_(min=0).add_(share).log_() - logs.T[classes]
        rest = out[left] + of_left[rows, classes].unsqueeze(1) * column
        row = counts.pairs[classes] - of_left
        row[rows, classes] -= reverse[rows, classes]
        rest[rows, classes] = (row.clamp_(min=0).add_(share).log_() * of_left).sum(dim=1)
        own_total = totals[classes] - number_left.view(-1) - reverse[rows, classes]
        denominators[left, classes] = own_total.clamp_(min=0).add_(1).log_()
        out[left] = rest
        sums[place] = out - number * denominators

    places = [slice(first, min(first + _ROWS, size)) for first in range(0, size, _ROWS)]
    for_each_block(take_logs, places, torch.get_num_threads() if device.type == "cpu" else 1)
    return LogEvidence(sums, neighbors, _prior_logs(counts.classes), torch.where(own >= 0, own, k))


def _prior_logs(classes: Tensor) -> Tensor:
    """Log priors without one label of class 0, 1, ..., K - 1, and of all labels, [K + 1, K]."""
    k = classes.numel()
    left_out = torch.cat([torch.eye(k, dtype=torch.float64), torch.zeros(1, k, dtype=torch.float64)])
    rows = (classes - left_out.to(classes.device)).clamp_(min=0).add_(1.0 / k)
    return rows.log() - rows.sum(dim=1, keepdim=True).log()
