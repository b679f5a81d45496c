"""The settings of posterior label smoothing and of its calibrated form, spelled and checked in one place.

The function, the transform, the engines for tables and the command all take them from here. Nothing in this
module needs torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, Self, get_args

from postel.checks import check_choice, check_count, check_number
from postel.errors import InputError

Likelihood = Literal["edge", "normalized", "local"]
Noise = Literal["uniform", "off-target"]
Isolated = Literal["prior", "one-hot"]
Centers = Literal["labelled", "train"]
Calibration = Literal["exponents", "temperature", "none"]

#: ``"source_to_target"``: an entry (i, j) makes i a neighbor of j, as torch_geometric's layers have it.
#: ``"target_to_source"``: it makes j a neighbor of i, as the paper has it.
Flow = Literal["source_to_target", "target_to_source"]

#: How a model's predictions for unlabelled nodes enter the counts of the next round.
EvidenceKind = Literal["soft", "hard", "none"]

#: The nodes that a round trains on, where a model's predictions are evidence.
Targets = Literal["all", "train"]

#: What settings of a method are chosen by, on validation nodes; more of it is better.
Metric = Literal["accuracy", "macro_f1", "balanced_accuracy", "roc_auc", "average_precision"]

#: How tables spell them.
METRIC_NAMES: dict[str, str] = {
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC-AUC",
    "average_precision": "average precision",
}

#: When a round of training is kept.
Accept = Literal["loss", "scaled", "both", "accuracy", "always"]


def check_edge_weight_name(value: object) -> None:
    """Check an option that says which edge attribute counts edges.

    Args:
        value: True for ``data.edge_weight``, False for none, or the name of another edge attribute.

    Raises:
        InputError: If it is something else.

    Example:
        >>> check_edge_weight_name("edge_attr")
    """
    if not isinstance(value, bool) and not (isinstance(value, str) and value.isidentifier()):
        raise InputError(
            "edge_weight must be True (for data.edge_weight), False or the name of an edge attribute, got "
            f"{value if isinstance(value, str | int | float) else type(value).__name__!r}"
        )


@dataclass(frozen=True)
class PosteLSettings:
    """The hyper-parameters of PosteL and the switches that lead from the paper to its published code.

    Args:
        alpha: Weight of the noisy posterior against the one-hot label, in [0, 1] (Eq. 4).
        beta: Weight of the uniform noise in the posterior, 0 or more.
        likelihood: What the conditional is estimated from. ``"edge"`` counts every edge entry between labelled
            nodes (Eq. 3); ``"normalized"`` lets every labelled node weigh the same, however many neighbors it
            has; ``"local"`` takes prior and conditional from each node's ego graph.
        hops: Radius of the ego graphs; used by the ``"local"`` likelihood only.
        noise: ``"uniform"`` adds noise to every class; ``"off-target"`` adds it to every class but the node's own
            and needs ``beta`` in [0, 1].
        isolated: What a training node without labelled neighbors has for a posterior: the ``"prior"``, or its
            ``"one-hot"`` label.
        centers: Which nodes are centers of the conditional: all ``"labelled"`` ones, or ``"train"`` nodes only.
        self_loops: Whether a self-loop makes a node its own neighbor. If it does, the node's label enters its own
            posterior.
        num_classes: Number of classes. It is needed only where the graph does not say it and the last classes
            have no training node.

    Raises:
        InputError: If a value is out of its range.

    Example:
        >>> PosteLSettings(alpha=0.8).beta
        0.4
        >>> PosteLSettings(alpha=1.5)
        Traceback (most recent call last):
            ...
        postel.errors.InputError: alpha must lie in [0, 1], got 1.5
    """

    alpha: float = 0.5
    beta: float = 0.4
    likelihood: Likelihood = field(default="edge", kw_only=True)
    hops: int = field(default=1, kw_only=True)
    noise: Noise = field(default="uniform", kw_only=True)
    isolated: Isolated = field(default="prior", kw_only=True)
    centers: Centers = field(default="labelled", kw_only=True)
    self_loops: bool = field(default=False, kw_only=True)
    num_classes: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0, 1)
        check_choice("noise", self.noise, get_args(Noise))
        check_number("beta", self.beta, 0, 1 if self.noise == "off-target" else math.inf)
        check_choice("likelihood", self.likelihood, get_args(Likelihood))
        check_choice("isolated", self.isolated, get_args(Isolated))
        check_choice("centers", self.centers, get_args(Centers))
        check_count("hops", self.hops)
        if self.num_classes is not None:
            check_count("num_classes", self.num_classes, 2)

    @classmethod
    def as_released(cls, alpha: float = 0.8, beta: float = 0.4) -> Self:
        """Return the method as the paper's published code has it.

        Its noise goes to the classes that are not the node's own; a node without labelled neighbors keeps its
        one-hot label; only training nodes are centers of the conditional; a self-loop is a neighbor.

        Args:
            alpha: Weight of the noisy posterior against the one-hot label.
            beta: Weight of the noise.

        Returns:
            Settings with the four switches set.

        Example:
            >>> PosteLSettings.as_released().noise
            'off-target'
        """
        return cls(alpha, beta, noise="off-target", isolated="one-hot", centers="train", self_loops=True)

    @classmethod
    def as_published(cls, alpha: float = 0.8, beta: float = 0.4) -> Self:
        """Return the method as the paper's text has it, to the letter: a self-loop makes a node its own neighbor.

        Args:
            alpha: Weight of the noisy posterior against the one-hot label.
            beta: Weight of the uniform noise.

        Returns:
            Settings with self-loops kept and the other switches at their defaults.

        Example:
            >>> PosteLSettings.as_published().self_loops, PosteLSettings().self_loops
            (True, False)
        """
        return cls(alpha, beta, self_loops=True)


@dataclass(frozen=True)
class CalibratedSettings:
    """The settings of :class:`~postel.CalibratedPosteL`; their defaults are meant to stay.

    Args:
        alpha: Weight of the posterior against the one-hot label; below 0.5 the own class is always on top.
        evidence: How a model's predictions for unlabelled nodes enter the counts: ``"soft"`` as probabilities,
            ``"hard"`` as its most probable classes, ``"none"`` not at all.
        calibration: ``"exponents"`` fits one each for prior, sum and mean of the neighbors' log-likelihoods,
            ``"temperature"`` one in all, ``"none"`` takes the posterior as it is.
        accept: When a round is kept: ``"both"`` if its validation loss after temperature scaling is lower than
            that of all before, and it is no less accurate on validation nodes than the one-hot model;
            ``"scaled"`` if that loss is lower; ``"accuracy"`` if it is more accurate than all before or, where
            equal, that loss lower; ``"always"`` for the first round whatever it gives; ``"loss"`` by the plain
            loss and without the one-hot model, as in the paper.
        targets: Which nodes a round trains on: ``"all"`` of which the best model so far has something to say, on
            ``alpha`` times their posterior and the rest what the model says; or ``"train"`` nodes only.
        leave_one_out: Whether a training node's own label is left out of the counts that its posterior rests on.
        centers: Which nodes are centers of counted pairs: all ``"labelled"`` ones, those with evidence included,
            or ``"train"`` nodes only.
        num_classes: Number of classes. It is needed only where the graph does not say it and the last classes
            have no training node.

    Raises:
        InputError: If a value is out of its range.

    Example:
        >>> CalibratedSettings(alpha=0.3).calibration
        'exponents'
    """

    alpha: float = 0.5
    evidence: EvidenceKind = field(default="soft", kw_only=True)
    calibration: Calibration = field(default="exponents", kw_only=True)
    accept: Accept = field(default="both", kw_only=True)
    targets: Targets = field(default="all", kw_only=True)
    leave_one_out: bool = field(default=True, kw_only=True)
    centers: Centers = field(default="labelled", kw_only=True)
    num_classes: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0, 1)
        check_choice("evidence", self.evidence, get_args(EvidenceKind))
        check_choice("calibration", self.calibration, get_args(Calibration))
        check_choice("accept", self.accept, get_args(Accept))
        check_choice("targets", self.targets, get_args(Targets))
        check_choice("centers", self.centers, get_args(Centers))
        if self.num_classes is not None:
            check_count("num_classes", self.num_classes, 2)
