"""KD: knowledge distillation from the same backbone, re-implemented from its description (Hinton et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, softmax
from torch_geometric.data import Data
from torch_geometric.data.datapipes import functional_transform

from postel.checks import check_choice, check_number, check_positive
from postel.errors import InputError
from postel.labels import KnownLabels
from postel.smoothers.base import Smoother
from postel.smoothers.graph_labels import known_labels

Nodes = Literal["train", "all"]


def distillation_soft_labels(
    known: KnownLabels,
    teacher_logits: Tensor,
    weight: float = 1.0,
    *,
    temperature: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Turn a teacher's logits into soft labels, mixed with the hard label at training nodes.

    Args:
        known: The labels; pseudo-labels are left out.
        teacher_logits: The teacher's logits of all nodes, [N, K].
        weight: Share of the teacher in the soft label of a training node, in [0, 1].
        temperature: What the logits are divided by; above 0.
        dtype: Type of the result; it is computed in float64 whatever it is.

    Returns:
        One distribution per node, [N, K].

    Raises:
        InputError: If an argument is out of its range or ``teacher_logits`` has the wrong shape.

    Example:
        >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([0]), num_nodes=2, num_classes=2)
        >>> distillation_soft_labels(known, torch.zeros(2, 2), 0.5).tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """
    _check(weight, temperature)
    expected = (known.num_nodes, known.num_classes)
    if tuple(teacher_logits.shape) != expected:
        raise InputError(f"teacher_logits must have shape {list(expected)}, got {list(teacher_logits.shape)}")
    rows = softmax(teacher_logits.detach().to(torch.float64) / temperature, dim=1)
    train = known.train_only().to(rows.device)
    rows[train.index] = weight * rows[train.index] + (1 - weight) * train.one_hot()
    return rows.to(dtype)


@functional_transform("distillation")
class Distillation(Smoother):
    """A teacher's probabilities as soft labels; the teacher is the same backbone trained on hard labels.

    Re-implemented from its description: the paper tells neither temperature nor mixing, so they are arguments. The
    loss is ``weight * T**2 * KL(teacher_T || student_T)`` over the ``nodes``, plus ``(1 - weight)`` times the
    cross-entropy with hard labels on training nodes. The defaults are the paper's literal sentence: the teacher's
    output alone, at temperature 1, on training nodes.

    As a transform it needs a ``teacher``, or a teacher's logits in ``data.teacher_logits`` [N, K]:
    :func:`~postel.functional.distillation_soft_labels`.

    Args:
        weight: Share of the teacher, in [0, 1].
        temperature: What teacher's and student's logits are divided by; above 0.
        nodes: Where the student follows the teacher: on ``"train"`` nodes or on ``"all"``.
        hard_mix: Whether the teacher's output and the hard label are mixed into one target, instead of adding two
            losses.
        teacher: A fitted model, as :class:`~postel.NodeClassifier` with its ``decision_function(data)``, or class
            probabilities of all nodes, [N, K]. Without it ``NodeClassifier`` trains a teacher first.
        num_classes: Number of classes, where ``data.num_classes`` is missing and the last classes have no
            training node.

    Example:
        >>> data = Data(
        ...     edge_index=torch.tensor([[0, 1], [1, 0]]),
        ...     y=torch.tensor([0, 1]),
        ...     train_mask=torch.tensor([True, False]),
        ...     num_classes=2,
        ...     teacher_logits=torch.tensor([[0.0, 0.0], [0.0, 0.0]]),
        ... )
        >>> Distillation(weight=0.5)(data).soft_y.tolist()
        [[0.75, 0.25], [0.5, 0.5]]
        >>> Distillation(weight=0.5, teacher=torch.tensor([[0.5, 0.5], [0.25, 0.75]]))(data).soft_y.tolist()
        [[0.75, 0.25], [0.25, 0.75]]
    """

    def __init__(
        self,
        weight: float = 1.0,
        *,
        temperature: float = 1.0,
        nodes: Nodes = "train",
        hard_mix: bool = False,
        teacher: Any = None,
        num_classes: int | None = None,
    ) -> None:
        _check(weight, temperature)
        check_choice("nodes", nodes, get_args(Nodes))
        self.weight = weight
        self.temperature = temperature
        self.nodes: Nodes = nodes
        self.hard_mix = hard_mix
        self.teacher = teacher
        self.num_classes = num_classes

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        logits = self._logits_of_teacher(known)
        if logits is None:
            raise InputError(
                "Distillation learns from a teacher: give it one, as in Distillation(teacher=model), set "
                "data.teacher_logits [N, K], or train it with NodeClassifier, which trains a teacher first"
            )
        return distillation_soft_labels(known, logits, self.weight, temperature=self.temperature, dtype=dtype)

    def _logits_of_teacher(self, known: KnownLabels) -> Tensor | None:
        """Return the logits of a teacher that was given, [N, K], for the graph that it was fitted on."""
        if self.teacher is None:
            return None
        if isinstance(self.teacher, Tensor):
            return _log_probabilities(self.teacher, known)
        logits = getattr(self.teacher, "logits_", None)
        if not isinstance(logits, Tensor):
            raise InputError(
                "teacher must be a fitted model with logits_ or class probabilities [N, K], "
                f"got {type(self.teacher).__name__}"
            )
        return logits

    def forward(self, data: Data) -> Data:
        """Add ``soft_y`` to a graph, made of a teacher's logits and the hard labels.

        Args:
            data: A graph with ``edge_index``, ``y`` and ``train_mask``; with ``teacher_logits`` [N, K] where the
                method has no ``teacher``.

        Returns:
            ``data`` with ``soft_y``, float32 [N, K].

        Raises:
            InputError: If something is missing or has the wrong shape or type.
        """
        known = known_labels(data, self.num_classes)
        asked = getattr(self.teacher, "decision_function", None)
        if callable(asked):
            logits = asked(data)
        elif self.teacher is None and "teacher_logits" in data:
            logits = data.teacher_logits
        else:
            return super().forward(data)
        data.soft_y = distillation_soft_labels(
            known, logits, self.weight, temperature=self.temperature, dtype=torch.float32
        )
        return data

    def objective(
        self, edge_index: Tensor, known: KnownLabels, teacher_logits: Callable[[], Tensor]
    ) -> DistillationLoss:
        """Train the teacher and make the loss of one run.

        Args:
            edge_index: The edge entries, int64 [2, E].
            known: The labels; pseudo-labels are left out.
            teacher_logits: A function that trains the teacher once and returns its logits [N, K]; not called if
                the method has a teacher.

        Returns:
            The loss; the teacher's output in it is fixed.
        """
        given = self._logits_of_teacher(known)
        logits = teacher_logits() if given is None else given.to(edge_index.device)
        return DistillationLoss(self, known.train_only(), logits)


class DistillationLoss:
    """The loss of one run with :class:`Distillation`: the teacher's output is computed once, before it.

    Args:
        method: The method, for its settings.
        known: The training labels.
        teacher: The teacher's logits, [N, K].
    """

    lr: float | None = None
    weight_decay: float = 0.0

    def __init__(self, method: Distillation, known: KnownLabels, teacher: Tensor) -> None:
        self.method = method
        self.index = known.index.to(teacher.device)
        self.classes = known.classes.to(teacher.device)
        everyone = torch.arange(known.num_nodes, device=teacher.device)
        self.taught = self.index if method.nodes == "train" else everyone
        if method.hard_mix:
            targets = distillation_soft_labels(
                known, teacher, method.weight, temperature=method.temperature, dtype=torch.float32
            )
        else:
            targets = softmax(teacher.detach() / method.temperature, dim=1)
        self.targets = targets[self.taught]

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """Compute both terms, or the cross-entropy with the mixed target.

        Args:
            logits: The student's logits of all nodes, [N, K].
            epoch: Number of the epoch; the loss is the same in all of them.

        Returns:
            The loss, a scalar.
        """
        if self.method.hard_mix:
            return -(self.targets * log_softmax(logits[self.taught], dim=1)).sum(dim=1).mean()
        t, weight = self.method.temperature, self.method.weight
        log_s = log_softmax(logits[self.taught] / t, dim=1)
        divergence = (torch.special.xlogy(self.targets, self.targets) - self.targets * log_s).sum(dim=1).mean()
        hard = -log_softmax(logits[self.index], dim=1).gather(1, self.classes[:, None]).mean()
        return weight * t**2 * divergence + (1 - weight) * hard

    def parameters(self) -> Sequence[nn.Parameter]:
        """Return nothing: the teacher is fixed."""
        return []


def _log_probabilities(probabilities: Tensor, known: KnownLabels) -> Tensor:
    """Return class probabilities [N, K] as logits; their softmax is the probabilities again."""
    expected = (known.num_nodes, known.num_classes)
    if tuple(probabilities.shape) != expected:
        raise InputError(f"teacher must have shape {list(expected)}, got {list(probabilities.shape)}")
    rows = probabilities.detach().to(torch.float64)
    if not (float(rows.min()) >= 0 and float((rows.sum(dim=1) - 1).abs().max()) < 1e-3):
        raise InputError("teacher must hold class probabilities, rows that sum to 1; for logits use softmax first")
    return rows.clamp(min=torch.finfo(torch.float64).tiny).log().to(torch.float32)


def _check(weight: float, temperature: float) -> None:
    check_number("weight", weight, 0, 1)
    check_positive("temperature", temperature)
