"""ALS: adaptive label smoothing, re-implemented from its description (Zhou et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax
from torch_geometric.data.datapipes import functional_transform

from postel.checks import check_choice, check_count, check_number, check_positive
from postel.errors import InputError
from postel.labels import KnownLabels
from postel.settings import Flow, check_edge_weight_name
from postel.smoothers.base import Smoother
from postel.smoothers.entries import degrees, neighbor_entries
from postel.statistics import check_edge_index, class_counts, prior
from postel.weighted_statistics import check_edge_weight

Normalization = Literal["row", "sym"]


def propagated_labels(
    edge_index: Tensor,
    known: KnownLabels,
    *,
    steps: int = 5,
    restart: float = 0.5,
    normalization: Normalization = "row",
    self_loops: bool = False,
    edge_weight: Tensor | None = None,
) -> Tensor:
    """Propagate training labels over the graph: ``Y <- (1 - restart) P Y + restart Y0``.

    Args:
        edge_index: The edge entries, int64 [2, E]; an entry (i, j) makes j a neighbor of i.
        known: The labels; pseudo-labels are left out.
        steps: Number of steps.
        restart: Weight of the training labels Y0 in every step, in [0, 1].
        normalization: How the adjacency P is scaled: by rows (``"row"``) or symmetrically (``"sym"``).
        self_loops: Whether a self-loop makes a node its own neighbor.
        edge_weight: How often each entry counts [E], a number of at least 0; once each without it.

    Returns:
        One distribution per node, float64 [N, K]. A training node that nothing reaches keeps its label; another
        node takes the prior.

    Raises:
        InputError: If an argument is out of its range, or ``edge_index`` or ``edge_weight`` has the wrong shape,
            type or values.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=3)
        >>> propagated_labels(edges, known, steps=1).tolist()
        [[0.6666666666666666, 0.3333333333333333], [0.5, 0.5], [1.0, 0.0]]
    """
    _check(0.0, steps, restart, normalization)
    check_edge_index(edge_index, known.num_nodes)
    if edge_weight is not None:
        check_edge_weight(edge_weight, edge_index.size(1))
    train = known.train_only().to(edge_index.device)
    index, own = train.index, train.one_hot()
    start = torch.zeros(known.num_nodes, known.num_classes, dtype=torch.float64, device=edge_index.device)
    start[index] = own
    centers, neighbors, often = neighbor_entries(edge_index, self_loops, edge_weight)
    degree = degrees(centers, known.num_nodes, often)
    weights = 1 / degree[centers] if normalization == "row" else (degree[centers] * degree[neighbors]).rsqrt()
    if often is not None:
        weights = weights * often
    rows = start
    for _ in range(steps):
        gathered = torch.zeros_like(rows).index_add_(0, centers, rows[neighbors] * weights[:, None])
        rows = (1 - restart) * gathered + restart * start
    totals = rows.sum(dim=1, keepdim=True)
    unreached = totals == 0
    rows = torch.where(unreached, prior(class_counts(train)), rows / totals.masked_fill(unreached, 1.0))
    rows[index] = torch.where(unreached[index], own, rows[index])
    return rows


def als_soft_labels(
    edge_index: Tensor,
    known: KnownLabels,
    smoothing: float = 0.5,
    *,
    steps: int = 5,
    restart: float = 0.5,
    normalization: Normalization = "row",
    self_loops: bool = False,
    edge_weight: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Mix every training label with its propagated label: the targets of ALS before any refinement.

    The refinement itself is learned together with the network, so it is no function of edges and labels: train
    with :class:`~postel.ALS`.

    Args:
        edge_index: The edge entries, int64 [2, E]; an entry (i, j) makes j a neighbor of i.
        known: The labels; pseudo-labels are left out.
        smoothing: Share of the propagated label in a soft label, in [0, 1].
        steps: Number of propagation steps.
        restart: Weight of the training labels in every step, in [0, 1].
        normalization: How the adjacency is scaled: by rows (``"row"``) or symmetrically (``"sym"``).
        self_loops: Whether a self-loop makes a node its own neighbor.
        edge_weight: How often each entry counts [E], a number of at least 0; once each without it.
        dtype: Type of the result; it is computed in float64 whatever it is.

    Returns:
        One distribution per node, [N, K].

    Raises:
        InputError: If an argument is out of its range, or ``edge_index`` or ``edge_weight`` has the wrong shape,
            type or values.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=3)
        >>> als_soft_labels(edges, known, 0.5, steps=1)
        tensor([[0.8333, 0.1667],
                [0.2500, 0.7500],
                [1.0000, 0.0000]], dtype=torch.float64)
    """
    _check(smoothing, steps, restart, normalization)
    rows = propagated_labels(
        edge_index,
        known,
        steps=steps,
        restart=restart,
        normalization=normalization,
        self_loops=self_loops,
        edge_weight=edge_weight,
    )
    train = known.train_only().to(edge_index.device)
    rows[train.index] = smoothing * rows[train.index] + (1 - smoothing) * train.one_hot()
    return rows.to(dtype)


@functional_transform("als")
class ALS(Smoother):
    """Labels propagated over the graph once, then refined by a K x K matrix that is learned with the network.

    Re-implemented from its description: neither formulas nor code were published, so each open choice is an
    argument. A propagated row p is refined to ``r = softmax(p W)``; W is ``scale`` times the identity at first.
    The target in epoch t is the one-hot label mixed with r, whose share grows to ``smoothing`` over ``warmup``
    epochs. The loss is the cross-entropy with the target plus ``anchor`` times KL(one-hot || r), without which r
    would follow the network wherever it goes.

    As a transform it gives the labels before any refinement: :func:`~postel.functional.als_soft_labels`.

    Args:
        smoothing: Share of the refined label in the target, in [0, 1].
        steps: Number of propagation steps.
        restart: Weight of the training labels in every step, in [0, 1].
        normalization: How the adjacency is scaled: by rows (``"row"``) or symmetrically (``"sym"``).
        self_loops: Whether a self-loop makes a node its own neighbor.
        scale: Diagonal of W at first.
        warmup: Epochs until the share of the refined label has grown to ``smoothing``.
        anchor: Weight of the term that keeps refined labels at the hard ones; above 0.
        refine_lr: Learning rate of W in its own Adam group; the run's without it.
        flow: Which end of an edge is whose neighbor on a directed graph: ``"source_to_target"``, as
            torch_geometric's layers read it, or ``"target_to_source"``, as the paper does.
        edge_weight: True to count edges by ``data.edge_weight``, or the name of another edge attribute; each edge
            counts once without it.
        num_classes: Number of classes, where ``data.num_classes`` is missing and the last classes have no
            training node.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=3)
        >>> ALS(smoothing=0.5, steps=1, restart=0.5).soft_labels(edges, known)
        tensor([[0.8333, 0.1667],
                [0.2500, 0.7500],
                [1.0000, 0.0000]], dtype=torch.float64)
    """

    def __init__(
        self,
        smoothing: float = 0.5,
        *,
        steps: int = 5,
        restart: float = 0.5,
        normalization: Normalization = "row",
        self_loops: bool = False,
        scale: float = 5.0,
        warmup: int = 100,
        anchor: float = 1.0,
        refine_lr: float | None = None,
        flow: Flow = "source_to_target",
        edge_weight: bool | str = False,
        num_classes: int | None = None,
    ) -> None:
        _check(smoothing, steps, restart, normalization)
        check_number("scale", scale)
        check_count("warmup", warmup, 0)
        if check_number("anchor", anchor) == 0:
            raise InputError("anchor must be above 0: without it the refined labels collapse onto the network's")
        if refine_lr is not None:
            check_positive("refine_lr", refine_lr)
        check_choice("flow", flow, get_args(Flow))
        check_edge_weight_name(edge_weight)
        self.smoothing = smoothing
        self.steps = steps
        self.restart = restart
        self.normalization: Normalization = normalization
        self.self_loops = self_loops
        self.scale = scale
        self.warmup = warmup
        self.anchor = anchor
        self.refine_lr = refine_lr
        self.flow: Flow = flow
        self.edge_weight: bool | str = edge_weight
        self.num_classes = num_classes

    def _soft_labels(
        self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype, edge_weight: Tensor | None = None
    ) -> Tensor:
        return als_soft_labels(
            edge_index,
            known,
            self.smoothing,
            steps=self.steps,
            restart=self.restart,
            normalization=self.normalization,
            self_loops=self.self_loops,
            edge_weight=edge_weight,
            dtype=dtype,
        )

    def propagated(self, edge_index: Tensor, known: KnownLabels, edge_weight: Tensor | None = None) -> Tensor:
        """Propagate training labels with the settings of this object: see :func:`propagated_labels`.

        Args:
            edge_index: The edge entries, int64 [2, E].
            known: The labels; pseudo-labels are left out.
            edge_weight: How often each entry counts [E]; once each without it.

        Returns:
            One distribution per node, float64 [N, K].
        """
        return propagated_labels(
            edge_index,
            known,
            steps=self.steps,
            restart=self.restart,
            normalization=self.normalization,
            self_loops=self.self_loops,
            edge_weight=edge_weight,
        )

    def objective(
        self,
        edge_index: Tensor,
        known: KnownLabels,
        teacher_logits: Callable[[], Tensor],
        edge_weight: Tensor | None = None,
    ) -> RefinedTargets:
        """Make the loss of one run, with a fresh W.

        Args:
            edge_index: The edge entries, int64 [2, E].
            known: The labels; pseudo-labels are left out.
            teacher_logits: Not called: ALS has no teacher.
            edge_weight: How often each entry counts [E]; once each without it.

        Returns:
            The loss, and W as its parameter.
        """
        train = known.train_only().to(edge_index.device)
        return RefinedTargets(self, train, self.propagated(edge_index, known, edge_weight)[train.index])


class RefinedTargets:
    """The loss of one run with :class:`ALS`, and its learned matrix ``refinement`` [K, K].

    Args:
        method: The method, for its settings.
        train: The training labels.
        propagated: The propagated labels of the training nodes, [M, K].
    """

    weight_decay: float = 0.0

    def __init__(self, method: ALS, train: KnownLabels, propagated: Tensor) -> None:
        self.method = method
        self.index = train.index
        self.classes = train.classes
        self.propagated = propagated.to(torch.float32)
        self.lr = method.refine_lr
        self.refinement = nn.Parameter(method.scale * torch.eye(propagated.size(1), device=train.index.device))

    def share(self, epoch: int) -> float:
        """Return the share of the refined label in the target.

        Args:
            epoch: Number of the epoch, from 1.

        Returns:
            The share, which grows to the method's ``smoothing``.
        """
        pace = 1.0 if self.method.warmup == 0 else min(1.0, epoch / self.method.warmup)
        return self.method.smoothing * pace

    def log_refined(self) -> Tensor:
        """Return the logarithm of the refined labels of the training nodes, [M, K]."""
        return log_softmax(self.propagated @ self.refinement, dim=1)

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """Compute the cross-entropy with the mixed target, plus the anchor.

        Args:
            logits: The network's logits of all nodes, [N, K].
            epoch: Number of the epoch, from 1.

        Returns:
            The loss, a scalar.
        """
        log_p = log_softmax(logits[self.index], dim=1)
        log_r = self.log_refined()
        own = self.classes[:, None]
        share = self.share(epoch)
        hard = -log_p.gather(1, own).mean()
        soft = -(log_r.exp() * log_p).sum(dim=1).mean()
        anchor = -log_r.gather(1, own).mean()
        return (1 - share) * hard + share * soft + self.method.anchor * anchor

    def parameters(self) -> Sequence[nn.Parameter]:
        """Return the refinement matrix, the one parameter that is learned besides the network's."""
        return [self.refinement]


def _check(smoothing: float, steps: int, restart: float, normalization: str) -> None:
    check_number("smoothing", smoothing, 0, 1)
    check_count("steps", steps)
    check_number("restart", restart, 0, 1)
    check_choice("normalization", normalization, get_args(Normalization))
