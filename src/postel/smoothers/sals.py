"""SALS: structure-aware label smoothing, re-implemented from its description (Wang et al. 2021)."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from postel.checks import check_choice, check_number
from postel.labels import KnownLabels
from postel.settings import Flow, check_edge_weight_name
from postel.smoothers.base import Smoother
from postel.smoothers.entries import degrees, neighbor_entries
from postel.statistics import check_edge_index, class_counts, prior
from postel.weighted_statistics import check_edge_weight

Weight = Literal["mean", "sym", "inv_degree"]
Isolated = Literal["one-hot", "uniform", "prior"]

_POWER_OF_DEGREE: dict[Weight, float] = {"mean": 0.0, "sym": -0.5, "inv_degree": -1.0}


def sals_soft_labels(
    edge_index: Tensor,
    known: KnownLabels,
    smoothing: float = 0.5,
    *,
    weight: Weight = "mean",
    isolated: Isolated = "one-hot",
    self_loops: bool = False,
    pseudo_labels: bool = False,
    edge_weight: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Mix every training label with the average of its neighbors' labels; other nodes have that average alone.

    Re-implemented from its description: the formula was never published in full, so each open choice is an
    argument.

    Args:
        edge_index: The edge entries, int64 [2, E]; an entry (i, j) makes j a neighbor of i.
        known: The labels that may be used.
        smoothing: Share of the neighbors' average in a soft label, in [0, 1].
        weight: Weight of a neighbor in the average: ``"mean"`` 1, ``"sym"`` 1/sqrt(its degree), as GCN's weights
            are after scaling to 1, ``"inv_degree"`` 1/(its degree).
        isolated: What a node without labelled neighbors has for their average: its own label (``"one-hot"``; the
            prior where it has none), the ``"uniform"`` distribution or the ``"prior"``.
        self_loops: Whether a self-loop makes a node its own neighbor.
        pseudo_labels: Whether pseudo-labelled neighbors count.
        edge_weight: How often each entry counts [E], a number of at least 0; once each without it.
        dtype: Type of the result; it is computed in float64 whatever it is.

    Returns:
        One distribution per node, [N, K].

    Raises:
        InputError: If an argument is out of its range, or ``edge_index`` or ``edge_weight`` has the wrong shape,
            type or values.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
        >>> sals_soft_labels(edges, known, 0.25).tolist()
        [[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    """
    _check(smoothing, weight, isolated)
    check_edge_index(edge_index, known.num_nodes)
    if edge_weight is not None:
        check_edge_weight(edge_weight, edge_index.size(1))
    known = known.to(edge_index.device)
    train = known.train_only()
    labels = known if pseudo_labels else train
    sums = _neighbor_sums(edge_index, labels, weight, self_loops, edge_weight)
    totals = sums.sum(dim=1, keepdim=True)
    alone = totals == 0
    stand_in = torch.full_like(sums[0], 1.0 / known.num_classes)
    if isolated != "uniform":
        stand_in = prior(class_counts(labels))
    rows = torch.where(alone, stand_in, sums / totals.masked_fill(alone, 1.0))
    index, own = train.index, train.one_hot()
    averages = torch.where(alone[index], own, rows[index]) if isolated == "one-hot" else rows[index]
    rows[index] = smoothing * averages + (1 - smoothing) * own
    return rows.to(dtype)


@functional_transform("sals")
class SALS(Smoother):
    """The label mixed with the average of the neighbors' labels; other nodes have that average alone.

    :func:`~postel.functional.sals_soft_labels` is the same as a function of tensors.

    Args:
        smoothing: Share of the neighbors' average in a soft label, in [0, 1].
        weight: Weight of a neighbor in the average: ``"mean"``, ``"sym"`` or ``"inv_degree"``.
        isolated: What a node without labelled neighbors has for their average: ``"one-hot"``, ``"uniform"`` or
            ``"prior"``.
        self_loops: Whether a self-loop makes a node its own neighbor.
        pseudo_labels: Whether pseudo-labelled neighbors count.
        flow: Which end of an edge is whose neighbor on a directed graph: ``"source_to_target"``, as
            torch_geometric's layers read it, or ``"target_to_source"``, as the paper does.
        edge_weight: True to count edges by ``data.edge_weight``, or the name of another edge attribute; each edge
            counts once without it.
        num_classes: Number of classes, where ``data.num_classes`` is missing and the last classes have no
            training node.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
        >>> SALS(0.25).soft_labels(edges, known).tolist()
        [[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    """

    def __init__(
        self,
        smoothing: float = 0.5,
        *,
        weight: Weight = "mean",
        isolated: Isolated = "one-hot",
        self_loops: bool = False,
        pseudo_labels: bool = False,
        flow: Flow = "source_to_target",
        edge_weight: bool | str = False,
        num_classes: int | None = None,
    ) -> None:
        _check(smoothing, weight, isolated)
        check_choice("flow", flow, get_args(Flow))
        check_edge_weight_name(edge_weight)
        self.smoothing = smoothing
        self.weight: Weight = weight
        self.isolated: Isolated = isolated
        self.self_loops = self_loops
        self.pseudo_labels = pseudo_labels
        self.flow: Flow = flow
        self.edge_weight: bool | str = edge_weight
        self.num_classes = num_classes

    @property
    def uses_pseudo_labels(self) -> bool:
        """Whether pseudo-labelled neighbors count, as ``pseudo_labels`` says."""
        return self.pseudo_labels

    def _soft_labels(
        self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype, edge_weight: Tensor | None = None
    ) -> Tensor:
        return sals_soft_labels(
            edge_index,
            known,
            self.smoothing,
            weight=self.weight,
            isolated=self.isolated,
            self_loops=self.self_loops,
            pseudo_labels=self.pseudo_labels,
            edge_weight=edge_weight,
            dtype=dtype,
        )


def _check(smoothing: float, weight: str, isolated: str) -> None:
    check_number("smoothing", smoothing, 0, 1)
    check_choice("weight", weight, get_args(Weight))
    check_choice("isolated", isolated, get_args(Isolated))


def _neighbor_sums(
    edge_index: Tensor, labels: KnownLabels, weight: Weight, self_loops: bool, edge_weight: Tensor | None
) -> Tensor:
    """Sum the weights of each node's labelled neighbors by their class, float64 [N, K]."""
    n, k = labels.num_nodes, labels.num_classes
    centers, neighbors, often = neighbor_entries(edge_index, self_loops, edge_weight)
    weights = degrees(centers, n, often).pow(_POWER_OF_DEGREE[weight])[neighbors]
    if often is not None:
        weights = weights * often
    classes = labels.dense()[neighbors]
    keep = classes >= 0
    sums = torch.zeros(n * k, dtype=torch.float64, device=edge_index.device)
    return sums.index_add_(0, centers[keep] * k + classes[keep], weights[keep]).view(n, k)
