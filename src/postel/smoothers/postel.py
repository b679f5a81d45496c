"""PosteL: posterior label smoothing, as a function of edges and known labels and as a transform."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from postel.ego_statistics import count_ego_graphs
from postel.labels import UNKNOWN, KnownLabels
from postel.posterior import add_off_target_noise, add_uniform_noise, mix, posterior, without_evidence
from postel.smoothers.base import Smoother, TrainTargets, check_choice, check_count, check_number
from postel.statistics import (
    check_edge_index,
    class_counts,
    conditional,
    count_edges,
    for_each_block,
    normalize_rows,
    normalized_conditional,
    prior,
)

Likelihood = Literal["edge", "normalized", "local"]
Noise = Literal["uniform", "off-target"]
Isolated = Literal["prior", "one-hot"]
Centers = Literal["labelled", "train"]

# Rows of soft labels made at a time: their temporaries stay in cache.
_ROWS = 1 << 12


def posterior_soft_labels(
    edge_index: Tensor,
    known: KnownLabels,
    *,
    alpha: float = 0.8,
    beta: float = 0.4,
    likelihood: Likelihood = "edge",
    hops: int = 1,
    noise: Noise = "uniform",
    isolated: Isolated = "prior",
    centers: Centers = "labelled",
    self_loops: bool = False,
    rows: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """A distribution for each of the nodes ``rows`` (all N without it), [R, K] (Algorithm 1).

    Rows of training nodes are soft labels (Eq. 4). Other rows, pseudo-labelled ones included, hold the noisy
    posterior, which uses no label of their own. Pseudo-labels enter through ``known``.

    >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
    >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=4)
    >>> posterior_soft_labels(edges, known, alpha=0.5, beta=0.5)
    tensor([[0.9167, 0.0833],
            [0.0833, 0.9167],
            [0.1667, 0.8333],
            [0.5000, 0.5000]], dtype=torch.float64)
    >>> posterior_soft_labels(edges, known.with_pseudo(torch.tensor([2]), torch.tensor([1])), alpha=1, beta=0)[3]
    tensor([0.3333, 0.6667], dtype=torch.float64)
    """
    _check_settings(alpha, beta, likelihood, hops, noise, isolated, centers)
    check_edge_index(edge_index, known.num_nodes)
    counting = _Counting(likelihood, hops, centers, self_loops)
    own = known.train_only().dense().to(edge_index.device)
    if rows is not None:
        rows = rows.to(edge_index.device)
        own = own.index_select(0, rows)
    mixing = _Mixing(alpha, beta, noise, isolated)
    return _soft_labels_and_statistics(edge_index, known, rows, own, counting, mixing, dtype)[0]


class PosteL(Smoother):
    """Posterior label smoothing: adds ``soft_y`` [N, K] to a ``Data`` (Eq. 1 to 4).

    ``alpha`` weighs the posterior against the one-hot label, ``beta`` the uniform noise in it. ``likelihood`` is
    ``"edge"`` (Eq. 3), ``"normalized"`` (every labelled node weighs the same) or ``"local"`` (prior and
    conditional from each node's ``hops``-hop ego graph). ``num_classes`` is needed only where ``data.num_classes``
    is missing and the last classes have no training node.

    The other switches lead from the paper to its published code: see :meth:`as_released`.

    >>> from torch_geometric.data import Data
    >>> data = Data(
    ...     edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]),
    ...     y=torch.tensor([0, 1, 1, 0]),
    ...     train_mask=torch.tensor([True, True, False, False]),
    ... )
    >>> PosteL(alpha=0.5, beta=0.5)(data).soft_y
    tensor([[0.9167, 0.0833],
            [0.0833, 0.9167],
            [0.1667, 0.8333],
            [0.5000, 0.5000]])
    """

    def __init__(
        self,
        alpha: float = 0.8,
        beta: float = 0.4,
        *,
        likelihood: Likelihood = "edge",
        hops: int = 1,
        noise: Noise = "uniform",
        isolated: Isolated = "prior",
        centers: Centers = "labelled",
        self_loops: bool = False,
        num_classes: int | None = None,
    ) -> None:
        _check_settings(alpha, beta, likelihood, hops, noise, isolated, centers)
        self.alpha = alpha
        self.beta = beta
        self.likelihood: Likelihood = likelihood
        self.hops = hops
        self.noise: Noise = noise
        self.isolated: Isolated = isolated
        self.centers: Centers = centers
        self.self_loops = self_loops
        self.num_classes = num_classes

    @classmethod
    def as_released(cls, alpha: float = 0.8, beta: float = 0.4) -> PosteL:
        """The method as the paper's published code has it.

        Its noise goes to the classes that are not the node's own; a node without labelled neighbors keeps its
        one-hot label; only training nodes are centres of the conditional; a self-loop is a neighbor.

        >>> PosteL.as_released(0.8, 0.4)
        PosteL(noise='off-target', isolated='one-hot', centers='train', self_loops=True)
        """
        return cls(alpha, beta, noise="off-target", isolated="one-hot", centers="train", self_loops=True)

    @property
    def uses_pseudo_labels(self) -> bool:
        """Always."""
        return True

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        settings = self.params()
        del settings["num_classes"]
        return posterior_soft_labels(edge_index, known, **settings, dtype=dtype)

    def _train_targets(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> TrainTargets:
        train = known.train_only()
        rows, shares, chances = _soft_labels_and_statistics(
            edge_index,
            known,
            train.index.to(edge_index.device),
            train.classes.to(edge_index.device),
            _Counting(self.likelihood, self.hops, self.centers, self.self_loops),
            _Mixing(self.alpha, self.beta, self.noise, self.isolated),
            dtype,
        )
        return TrainTargets(rows, {"prior": shares, "conditional": chances})

    def statistics(self, edge_index: Tensor, known: KnownLabels) -> tuple[Tensor, Tensor]:
        """Prior [K] and conditional [K, K] of the whole graph (the ``local`` likelihood has one of each a node).

        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
        >>> PosteL().statistics(edges, known)[1].tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        check_edge_index(edge_index, known.num_nodes)
        nobody = torch.empty(0, dtype=torch.int64, device=edge_index.device)
        counting = _Counting(self.likelihood, self.hops, self.centers, self.self_loops)
        return _global_statistics(edge_index, known, nobody, counting)[:2]


def _check_settings(
    alpha: float, beta: float, likelihood: str, hops: int, noise: str, isolated: str, centers: str
) -> None:
    check_number("alpha", alpha, 0, 1)
    check_choice("noise", noise, ("uniform", "off-target"))
    check_number("beta", beta, 0, 1 if noise == "off-target" else math.inf)
    check_choice("likelihood", likelihood, ("edge", "normalized", "local"))
    check_choice("isolated", isolated, ("prior", "one-hot"))
    check_choice("centers", centers, ("labelled", "train"))
    check_count("hops", hops, 1)


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What the posterior of a block of nodes rests on, and the place of the block in the result."""

    place: slice
    histograms: Tensor
    prior: Tensor
    conditional: Tensor


@dataclass(frozen=True)
class _Mixing:
    """How a posterior becomes a soft label."""

    alpha: float
    beta: float
    noise: Noise
    isolated: Isolated


@dataclass(frozen=True)
class _Counting:
    """What is counted: the settings that decide about prior, conditional and histograms."""

    likelihood: Likelihood
    hops: int
    centers: Centers
    self_loops: bool


def _soft_rows(evidence: _Evidence, own: Tensor, mixing: _Mixing) -> Tensor:
    """Soft labels of a block; ``own`` [R] holds the training class of its nodes, -1 elsewhere."""
    beta = mixing.beta
    rows = posterior(evidence.histograms, evidence.prior, evidence.conditional)
    train = (own != UNKNOWN).nonzero().view(-1)
    classes = own[train]
    if mixing.isolated == "one-hot":
        alone = without_evidence(evidence.histograms, evidence.prior, evidence.conditional)[train]
        rows[train[alone]] = torch.nn.functional.one_hot(classes[alone], rows.size(1)).to(rows.dtype)
    if mixing.noise == "uniform":
        noisy = add_uniform_noise(rows, beta)
    else:
        # A node that is not in training has no own class to spare: its noise is spread over all.
        noisy = (1 - beta) * rows + beta / rows.size(1)
        noisy[train] = add_off_target_noise(rows[train], beta, classes)
    noisy[train] = mix(noisy[train], classes, mixing.alpha)
    return noisy


def _soft_labels_and_statistics(
    edge_index: Tensor,
    known: KnownLabels,
    rows: Tensor | None,
    own: Tensor,
    counting: _Counting,
    mixing: _Mixing,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    """Soft labels [R, K] of ``rows``, and the whole graph's prior and conditional, from one count of the edges.

    ``own`` [R] holds the training class of each of those nodes, -1 elsewhere.
    """
    shares, chances, histograms = _global_statistics(edge_index, known, rows, counting)
    device = edge_index.device
    out = torch.empty(own.numel(), known.num_classes, dtype=dtype, device=device)

    def finish(evidence: _Evidence) -> None:
        out[evidence.place] = _soft_rows(evidence, own[evidence.place], mixing)

    if counting.likelihood == "local":
        for evidence in _local_evidence(edge_index, known, rows, counting, histograms, shares):
            finish(evidence)
    else:
        blocks = _blocks(histograms, shares, chances)
        for_each_block(finish, blocks, torch.get_num_threads() if device.type == "cpu" else 1)
    return out, shares, chances


def _global_statistics(
    edge_index: Tensor, known: KnownLabels, rows: Tensor | None, counting: _Counting
) -> tuple[Tensor, Tensor, Tensor]:
    """Prior and conditional of the whole graph and the histograms of ``rows``, from one pass over the edges."""
    device = edge_index.device
    shares = prior(class_counts(known)).to(device)
    if counting.likelihood != "normalized":
        counts = count_edges(
            edge_index, known, rows=rows, self_loops=counting.self_loops, centers=counting.centers
        )
        return shares, conditional(counts.pairs), counts.histograms
    labelled = known.train_only() if counting.centers == "train" else known
    centers = labelled.index.to(device)
    needed = None if rows is None else torch.cat([centers, rows]).unique()
    histograms = count_edges(edge_index, known, rows=needed, self_loops=counting.self_loops).histograms
    chances = normalized_conditional(
        histograms[_places(centers, needed)], labelled.classes.to(device), known.num_classes
    )
    return shares, chances, histograms if rows is None else histograms[_places(rows, needed)]


def _places(nodes: Tensor, among: Tensor | None) -> Tensor:
    """Where ``nodes`` stand in ``among``, which is sorted; the nodes themselves without it."""
    return nodes if among is None else torch.searchsorted(among, nodes)


def _blocks(histograms: Tensor, shares: Tensor, chances: Tensor) -> list[_Evidence]:
    firsts = range(0, histograms.size(0), _ROWS)
    places = [slice(first, min(first + _ROWS, histograms.size(0))) for first in firsts]
    return [_Evidence(place, histograms[place], shares, chances) for place in places]


def _local_evidence(
    edge_index: Tensor,
    known: KnownLabels,
    rows: Tensor | None,
    counting: _Counting,
    histograms: Tensor,
    everywhere: Tensor,
) -> Iterator[_Evidence]:
    done = 0
    for egos in count_ego_graphs(
        edge_index, known, counting.hops, rows=rows, self_loops=counting.self_loops, centers=counting.centers
    ):
        place = slice(done, done + egos.classes.size(0))
        done = place.stop
        empty = egos.classes.sum(dim=1, keepdim=True) == 0
        # An ego graph without labelled nodes says nothing of its own: the whole graph's prior stands in.
        shares = torch.where(empty, everywhere, normalize_rows(egos.classes))
        yield _Evidence(place, histograms[place], shares, normalize_rows(egos.pairs))
