"""PosteL: posterior label smoothing, as a function of edges and known labels and as a transform."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, get_args

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from postel.checks import check_choice
from postel.labels import UNKNOWN, KnownLabels
from postel.posterior import add_off_target_noise, add_uniform_noise, mix, posterior, without_evidence
from postel.settings import Accept, Flow, PosteLSettings, check_edge_weight_name
from postel.smoothers.base import Smoother, TrainTargets
from postel.smoothers.evidence import Evidence, GraphStatistics, graph_statistics, local_evidence
from postel.statistics import check_edge_index, for_each_block
from postel.weighted_statistics import check_edge_weight


def posterior_soft_labels(
    edge_index: Tensor,
    known: KnownLabels,
    settings: PosteLSettings | None = None,
    *,
    edge_weight: Tensor | None = None,
    rows: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
    **changes: Any,
) -> Tensor:
    """Compute the soft labels of PosteL, one distribution per node (Algorithm 1).

    Rows of training nodes are soft labels (Eq. 4). Other rows, those of pseudo-labelled nodes included, hold the
    noisy posterior, which uses no label of their own.

    Args:
        edge_index: The edge entries, int64 [2, E]; an entry (i, j) makes j a neighbor of i.
        known: The labels that may be used: training labels, and pseudo-labels if there are any.
        settings: The settings of the method; the defaults of :class:`~postel.PosteLSettings` without it.
        edge_weight: How often each entry counts [E], a number of at least 0; once each without it.
        rows: The nodes whose rows are wanted, [R]; all N without it.
        dtype: Type of the result; it is computed in float64 whatever it is.
        **changes: Single settings by name, as ``alpha=0.5``; they override those of ``settings``.

    Returns:
        One distribution per wanted node, [R, K].

    Raises:
        InputError: If a setting is out of its range, or ``edge_index`` or ``edge_weight`` has the wrong shape,
            type or values.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=4)
        >>> posterior_soft_labels(edges, known, alpha=0.5, beta=0.5)
        tensor([[0.9167, 0.0833],
                [0.0833, 0.9167],
                [0.1667, 0.8333],
                [0.5000, 0.5000]], dtype=torch.float64)
        >>> more = known.with_pseudo(torch.tensor([2]), torch.tensor([1]))
        >>> posterior_soft_labels(edges, more, alpha=1, beta=0)[3]
        tensor([0.3333, 0.6667], dtype=torch.float64)
    """
    settings = replace(settings or PosteLSettings(), **changes)
    check_edge_index(edge_index, known.num_nodes)
    if edge_weight is not None:
        check_edge_weight(edge_weight, edge_index.size(1))
    own = known.train_only().dense().to(edge_index.device)
    if rows is not None:
        rows = rows.to(edge_index.device)
        own = own.index_select(0, rows)
    return _soft_labels_and_statistics(edge_index, known, settings, rows, own, dtype, edge_weight)[0]


@functional_transform("postel")
@dataclass(frozen=True, repr=False)
class PosteL(Smoother, PosteLSettings):
    """Posterior label smoothing as a transform: adds ``soft_y`` [N, K] to a ``Data`` (Eq. 1 to 4).

    It is its own :class:`~postel.PosteLSettings`, which explains each argument at length.
    :func:`~postel.functional.posterior_soft_labels` is the same as a function of tensors.

    Args:
        alpha: Weight of the noisy posterior against the one-hot label, in [0, 1].
        beta: Weight of the uniform noise in the posterior, 0 or more.
        likelihood: ``"edge"`` (Eq. 3), ``"normalized"`` (every labelled node weighs the same) or ``"local"``
            (prior and conditional from each node's ego graph).
        hops: Radius of the ego graphs.
        noise: ``"uniform"``, or ``"off-target"`` for every class but the node's own.
        isolated: What stands in for the posterior of a training node without labelled neighbors: the ``"prior"``,
            or its ``"one-hot"`` label.
        centers: Centers of the conditional: all ``"labelled"`` nodes, or ``"train"`` nodes only.
        self_loops: Whether a self-loop makes a node its own neighbor.
        flow: Which end of an edge is whose neighbor on a directed graph: ``"source_to_target"``, as
            torch_geometric's layers read it, or ``"target_to_source"``, as the paper does.
        edge_weight: True to count edges by ``data.edge_weight``, or the name of another edge attribute; each edge
            counts once without it.
        num_classes: Number of classes, where ``data.num_classes`` is missing and the last classes have no
            training node.
        accept: When :class:`~postel.NodeClassifier` keeps a round of training with pseudo-labels. ``"loss"``, the
            paper's rule, asks for a lower validation loss than all rounds before; ``"scaled"`` starts from the
            model trained on one-hot labels and asks for a lower loss after temperature scaling, ``"both"`` also
            for an accuracy no lower than that model's, as :class:`~postel.CalibratedPosteL` does.

    Example:
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
        >>> PosteL()
        PosteL(alpha=0.5, beta=0.4, likelihood='edge', hops=1, noise='uniform', ...)
    """

    accept: Accept = field(default="loss", kw_only=True)
    flow: Flow = field(default="source_to_target", kw_only=True)
    edge_weight: bool | str = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("flow", self.flow, get_args(Flow))
        check_choice("accept", self.accept, get_args(Accept))
        check_edge_weight_name(self.edge_weight)

    @classmethod
    def as_released(cls, alpha: float = 0.8, beta: float = 0.4) -> Self:
        """Return :meth:`PosteLSettings.as_released <postel.PosteLSettings.as_released>` as a transform.

        Args:
            alpha: Weight of the noisy posterior against the one-hot label.
            beta: Weight of the noise.

        Returns:
            The method, which reads directed edges as the published code does.
        """
        return replace(super().as_released(alpha, beta), flow="target_to_source")

    @classmethod
    def as_published(cls, alpha: float = 0.8, beta: float = 0.4) -> Self:
        """Return :meth:`PosteLSettings.as_published <postel.PosteLSettings.as_published>` as a transform.

        Args:
            alpha: Weight of the noisy posterior against the one-hot label.
            beta: Weight of the uniform noise.

        Returns:
            The method, which reads directed edges as the paper's text does.
        """
        return replace(super().as_published(alpha, beta), flow="target_to_source")

    @property
    def uses_pseudo_labels(self) -> bool:
        """True: pseudo-labelled neighbors count like labelled ones."""
        return True

    def _soft_labels(
        self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype, edge_weight: Tensor | None = None
    ) -> Tensor:
        own = known.train_only().dense().to(edge_index.device)
        return _soft_labels_and_statistics(edge_index, known, self, None, own, dtype, edge_weight)[0]

    def _train_targets(
        self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype, *edge_weight: Tensor
    ) -> TrainTargets:
        train = known.train_only().to(edge_index.device)
        rows, whole = _soft_labels_and_statistics(
            edge_index, known, self, train.index, train.classes, dtype, *edge_weight
        )
        return TrainTargets(rows, {"prior": whole.prior, "conditional": whole.conditional})

    def statistics(
        self, edge_index: Tensor, known: KnownLabels, edge_weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Estimate the prior and the conditional of the whole graph.

        With the ``"local"`` likelihood every node has a prior and a conditional of its own; these are then the
        ones of ``"edge"``.

        Args:
            edge_index: The edge entries, int64 [2, E].
            known: The labels that may be used.
            edge_weight: How often each entry counts [E]; once each without it.

        Returns:
            The prior [K] and the conditional [K, K], float64.

        Example:
            >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
            >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
            >>> PosteL().statistics(edges, known)[1].tolist()
            [[0.0, 1.0], [1.0, 0.0]]
        """
        check_edge_index(edge_index, known.num_nodes)
        nobody = torch.empty(0, dtype=torch.int64, device=edge_index.device)
        whole = graph_statistics(edge_index, known, self, nobody, *self._checked_weights(edge_index, edge_weight))
        return whole.prior, whole.conditional


def _soft_labels_and_statistics(
    edge_index: Tensor,
    known: KnownLabels,
    settings: PosteLSettings,
    rows: Tensor | None,
    own: Tensor,
    dtype: torch.dtype,
    edge_weight: Tensor | None = None,
) -> tuple[Tensor, GraphStatistics]:
    """Return soft labels [R, K] of ``rows`` and the graph's statistics, from one pass over the edges.

    ``own`` [R] holds the training class of each of those nodes, -1 elsewhere.
    """
    whole = graph_statistics(edge_index, known, settings, rows, edge_weight)
    device = edge_index.device
    out = torch.empty(own.numel(), known.num_classes, dtype=dtype, device=device)

    def finish(evidence: Evidence) -> None:
        out[evidence.place] = _soft_rows(evidence, own[evidence.place], settings)

    if settings.likelihood == "local":
        for evidence in local_evidence(edge_index, known, settings, rows, whole, edge_weight):
            finish(evidence)
    else:
        for_each_block(finish, whole.blocks(), torch.get_num_threads() if device.type == "cpu" else 1)
    return out, whole


def _soft_rows(evidence: Evidence, own: Tensor, settings: PosteLSettings) -> Tensor:
    """Return the soft labels of a block; ``own`` [R] holds the training class of its nodes, -1 elsewhere."""
    beta = settings.beta
    rows = posterior(evidence.histograms, evidence.prior, evidence.conditional)
    train = (own != UNKNOWN).nonzero().view(-1)
    classes = own[train]
    if settings.isolated == "one-hot":
        alone = without_evidence(evidence.histograms, evidence.prior, evidence.conditional)[train]
        rows[train[alone]] = torch.nn.functional.one_hot(classes[alone], rows.size(1)).to(rows.dtype)
    if settings.noise == "uniform":
        noisy = add_uniform_noise(rows, beta)
    else:
        # A node that is not in training has no own class to spare: its noise is spread over all.
        noisy = (1 - beta) * rows + beta / rows.size(1)
        noisy[train] = add_off_target_noise(rows[train], beta, classes)
    noisy[train] = mix(noisy[train], classes, settings.alpha)
    return noisy
