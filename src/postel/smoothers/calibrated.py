"""CalibratedPosteL: a posterior that knows how much it knows. Ours, not the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform

from postel.calibration import calibrated_posterior, fit_exponents
from postel.checks import check_choice
from postel.expected_statistics import LogEvidence, expected_counts, log_evidence
from postel.labels import UNKNOWN, KnownLabels
from postel.settings import CalibratedSettings, Flow, check_edge_weight_name
from postel.smoothers.base import Smoother, TrainTargets
from postel.statistics import check_edge_index, normalize_rows
from postel.weighted_statistics import check_edge_weight


def calibrated_soft_labels(
    edge_index: Tensor,
    known: KnownLabels,
    settings: CalibratedSettings | None = None,
    *,
    edge_weight: Tensor | None = None,
    rows: Tensor | None = None,
    dtype: torch.dtype = torch.float64,
    **changes: Any,
) -> Tensor:
    """Compute the calibrated posterior of every node, mixed with the one-hot label at training nodes.

    A training node's row is ``alpha * q + (1 - alpha) * one_hot``, where its own label has no part in ``q``: it is
    left out of all counts. Other rows hold the posterior of the full counts. Add-one smoothing, spread over the
    classes, keeps every probability above 0.

    Args:
        edge_index: The edge entries, int64 [2, E]; an entry (i, j) makes j a neighbor of i, a self-loop nothing.
        known: Training labels, with pseudo-labels or a model's probabilities if there are any.
        settings: The settings of the method; the defaults of :class:`~postel.settings.CalibratedSettings` without
            it. ``evidence``, ``accept`` and ``targets`` are for rounds of training and have no effect here.
        edge_weight: How often each entry counts [E], a number of at least 0; once each without it.
        rows: The nodes whose rows are wanted, [R]; all N without it.
        dtype: Type of the result; it is computed in float64 whatever it is.
        **changes: Single settings by name, as ``alpha=0.3``; they override those of ``settings``.

    Returns:
        One distribution per wanted node, [R, K].

    Raises:
        InputError: If a setting is out of its range, or ``edge_index`` or ``edge_weight`` has the wrong shape,
            type or values.

    Example:
        >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
        >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=4)
        >>> calibrated_soft_labels(edges, known, calibration="none")
        tensor([[0.6250, 0.3750],
                [0.3750, 0.6250],
                [0.2500, 0.7500],
                [0.5000, 0.5000]], dtype=torch.float64)
    """
    settings = replace(settings or CalibratedSettings(), **changes)
    check_edge_index(edge_index, known.num_nodes)
    if edge_weight is not None:
        check_edge_weight(edge_weight, edge_index.size(1))
    return _soft_labels_and_statistics(edge_index, known, settings, rows, dtype, edge_weight).rows


@functional_transform("calibrated_postel")
@dataclass(frozen=True, repr=False)
class CalibratedPosteL(Smoother, CalibratedSettings):
    """Soft labels from a posterior whose confidence is fitted to the graph: no ``alpha`` and ``beta`` to search.

    The posterior of a training node leaves its own label out of all counts, and gets exponents that are fitted by
    maximum likelihood on the training labels, so that it is as sure as it is right
    (:func:`~postel.calibration.fit_exponents`). The soft label is half of it and half the one-hot label.

    With ``NodeClassifier(..., pseudo_labels=True)`` rounds start from the model trained on one-hot labels. Its
    probabilities, scaled by a temperature that is fitted on validation nodes, are the evidence about all other
    nodes, and a round trains on these nodes too: half on their posterior, half on these probabilities. A round is
    kept only if on validation nodes it has a lower loss than the best model so far, the one-hot model included,
    and is no less accurate than the one-hot model. As a transform it uses the training labels alone.

    It is its own :class:`~postel.settings.CalibratedSettings`, which explains each argument at length.
    :func:`~postel.functional.calibrated_soft_labels` is the same as a function of tensors.

    Args:
        alpha: Weight of the posterior against the one-hot label.
        evidence: How a model's predictions for unlabelled nodes enter: ``"soft"``, ``"hard"`` or ``"none"``.
        calibration: ``"exponents"`` (three), ``"temperature"`` (one) or ``"none"``.
        accept: When a round is kept: ``"both"``, ``"scaled"``, ``"accuracy"``, ``"always"`` or ``"loss"``.
        targets: Nodes that a round trains on: ``"all"`` with evidence, or ``"train"`` nodes only.
        leave_one_out: Whether a training node's own label is left out of its posterior's counts.
        centers: Centers of counted pairs: all ``"labelled"`` nodes, or ``"train"`` nodes only.
        flow: Which end of an edge is whose neighbor on a directed graph: ``"source_to_target"``, as
            torch_geometric's layers read it, or ``"target_to_source"``, as the paper does.
        edge_weight: True to count edges by ``data.edge_weight``, or the name of another edge attribute; each edge
            counts once without it.
        num_classes: Number of classes, where ``data.num_classes`` is missing and the last classes have no
            training node.

    Example:
        >>> from torch_geometric.data import Data
        >>> data = Data(
        ...     edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]),
        ...     y=torch.tensor([0, 1, 1, 0]),
        ...     train_mask=torch.tensor([True, True, False, False]),
        ... )
        >>> CalibratedPosteL(calibration="none")(data).soft_y
        tensor([[0.6250, 0.3750],
                [0.3750, 0.6250],
                [0.2500, 0.7500],
                [0.5000, 0.5000]])
    """

    flow: Flow = field(default="source_to_target", kw_only=True)
    edge_weight: bool | str = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("flow", self.flow, get_args(Flow))
        check_edge_weight_name(self.edge_weight)

    @property
    def uses_pseudo_labels(self) -> bool:
        """Unless ``evidence`` is ``"none"``."""
        return self.evidence != "none"

    def statistics(
        self, edge_index: Tensor, known: KnownLabels, edge_weight: Tensor | None = None
    ) -> Mapping[str, Any]:
        """Return what the soft labels rest on.

        Args:
            edge_index: The edge entries, int64 [2, E].
            known: The labels that may be used.
            edge_weight: How often each entry counts [E]; once each without it.

        Returns:
            ``prior`` [K], ``conditional`` [K, K] and the fitted ``exponents``, which say in one line how much the
            neighbors tell on this graph.

        Example:
            >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
            >>> known = KnownLabels.from_index(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]), num_nodes=3)
            >>> found = CalibratedPosteL(calibration="none").statistics(edges, known)
            >>> found["conditional"].tolist(), str(found["exponents"])
            ([[0.0, 1.0], [1.0, 0.0]], 'prior^1 sum^1 mean^0')
        """
        return self.train_targets(edge_index, known, edge_weight=edge_weight).statistics

    def _soft_labels(
        self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype, edge_weight: Tensor | None = None
    ) -> Tensor:
        return _soft_labels_and_statistics(edge_index, known, self, None, dtype, edge_weight).rows

    def _train_targets(
        self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype, *edge_weight: Tensor
    ) -> TrainTargets:
        train = known.train_only().index
        if self.targets == "train" or (known.evidence is None and known.index.numel() == train.numel()):
            return _soft_labels_and_statistics(edge_index, known, self, train, dtype, *edge_weight)
        made = _soft_labels_and_statistics(edge_index, known, self, None, torch.float64, *edge_weight)
        nodes, said = _said_of_others(known.to(edge_index.device))
        rows = _agree(made.rows[nodes], said, self.alpha)
        train = train.to(nodes.device)
        return TrainTargets(made.rows[train].to(dtype), made.statistics, nodes, rows.to(dtype))


def _said_of_others(known: KnownLabels) -> tuple[Tensor, Tensor]:
    """The nodes outside training of which a model said something [O], and what, as (parts of) distributions."""
    if known.evidence is None:
        others = known.is_train.logical_not().nonzero().view(-1)
        return known.index[others], known.one_hot()[others]
    said = known.evidence.sum(dim=1) > 0
    said[known.index] = False
    nodes = said.nonzero().view(-1)
    return nodes, known.evidence[nodes].to(torch.float64)


def _agree(posterior: Tensor, said: Tensor, alpha: float) -> Tensor:
    """Mix what neighbors and what a model say of nodes; where the model says only a part, neighbors fill it up."""
    missing = (1 - said.sum(dim=1, keepdim=True)).clamp_(min=0)
    mixed = alpha * posterior + (1 - alpha) * (said + missing * posterior)
    return mixed / mixed.sum(dim=1, keepdim=True)


def _soft_labels_and_statistics(
    edge_index: Tensor,
    known: KnownLabels,
    settings: CalibratedSettings,
    rows: Tensor | None,
    dtype: torch.dtype,
    edge_weight: Tensor | None = None,
) -> TrainTargets:
    """Rows of the wanted nodes, and the statistics; ``edge_index`` is checked."""
    device = edge_index.device
    known = known.to(device)
    train = known.train_only()
    # The exponents need the training nodes. Other wanted rows come on top of theirs and are picked at the end.
    only_train = rows is not None and torch.equal(rows.to(device), train.index)
    counts = expected_counts(
        edge_index,
        known,
        edge_weight=edge_weight,
        rows=train.index if only_train else None,
        centers=settings.centers,
    )
    own = train.classes if only_train else train.dense()
    left_out = own if settings.leave_one_out else torch.full_like(own, UNKNOWN)
    evidence = log_evidence(counts, left_out)
    of_train = evidence if only_train else _part(evidence, train.index)
    exponents = fit_exponents(of_train, train.classes, settings.calibration)
    out = calibrated_posterior(evidence, exponents, own=own, alpha=settings.alpha, dtype=dtype)
    if not only_train and rows is not None:
        out = out[rows.to(device)]
    statistics = {
        "prior": normalize_rows(counts.classes),
        "conditional": normalize_rows(counts.pairs),
        "exponents": exponents,
    }
    return TrainTargets(out, statistics)


def _part(evidence: LogEvidence, places: Tensor) -> LogEvidence:
    return LogEvidence(
        evidence.sums[places], evidence.neighbors[places], evidence.prior_logs, evidence.prior_rows[places]
    )
