"""KD: knowledge distillation from the same backbone, re-implemented from its description (Hinton et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, softmax
from torch_geometric.data import Data

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.smoothers.base import Smoother, check_choice, check_number, known_labels


class Distillation(Smoother):
    """A teacher's probabilities as soft labels; the teacher is the same backbone trained on hard labels.

    Re-implemented from its description: the paper tells neither temperature nor mixing, so they are arguments.
    Loss: ``weight * T**2 * KL(teacher_T || student_T)`` over the ``nodes`` ("train" or "all"), plus
    ``(1 - weight)`` times the cross-entropy with hard labels on training nodes. The defaults are the paper's
    literal sentence: the teacher's output alone, at temperature 1, on training nodes. ``hard_mix=True`` mixes the
    teacher's output and the hard label into one target instead of adding two losses.

    As a transform it needs a teacher's logits in ``data.teacher_logits`` [N, K].

    >>> data = Data(
    ...     edge_index=torch.tensor([[0, 1], [1, 0]]),
    ...     y=torch.tensor([0, 1]),
    ...     train_mask=torch.tensor([True, False]),
    ...     num_classes=2,
    ...     teacher_logits=torch.tensor([[0.0, 0.0], [0.0, 0.0]]),
    ... )
    >>> Distillation(weight=0.5)(data).soft_y.tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """

    def __init__(
        self,
        weight: float = 1.0,
        *,
        temperature: float = 1.0,
        nodes: Literal["train", "all"] = "train",
        hard_mix: bool = False,
        num_classes: int | None = None,
    ) -> None:
        check_number("weight", weight, 0, 1)
        check_number("temperature", temperature, 0, torch.inf)
        if temperature == 0:
            raise InputError("temperature must be above 0, got 0")
        check_choice("nodes", nodes, ("train", "all"))
        self.weight = weight
        self.temperature = temperature
        self.nodes: Literal["train", "all"] = nodes
        self.hard_mix = hard_mix
        self.num_classes = num_classes

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        raise InputError(
            "Distillation learns from a teacher: train it with NodeClassifier, or set data.teacher_logits [N, K]"
        )

    def forward(self, data: Data) -> Data:
        """``data`` with the mix of ``data.teacher_logits``'s softmax and the hard labels as ``soft_y``."""
        known = known_labels(data, self.num_classes)
        if "teacher_logits" not in data:
            return super().forward(data)
        rows = self._targets(known, data.teacher_logits)
        data.soft_y = rows.to(torch.float32)
        return data

    def _targets(self, known: KnownLabels, teacher: Tensor) -> Tensor:
        """Teacher's probabilities, mixed with the hard label at training nodes, [N, K]."""
        expected = (known.num_nodes, known.num_classes)
        if tuple(teacher.shape) != expected:
            raise InputError(f"teacher_logits must have shape {list(expected)}, got {list(teacher.shape)}")
        rows = softmax(teacher.detach().to(torch.float64) / self.temperature, dim=1)
        train = known.train_only()
        index, own = train.index.to(rows.device), train.one_hot().to(rows.device)
        rows[index] = self.weight * rows[index] + (1 - self.weight) * own
        return rows

    def objective(
        self, edge_index: Tensor, known: KnownLabels, teacher_logits: Callable[[], Tensor]
    ) -> DistillationLoss:
        """What a run minimises; ``teacher_logits()`` trains the teacher once and gives its logits [N, K]."""
        return DistillationLoss(self, known.train_only(), teacher_logits())


class DistillationLoss:
    """The loss of one run with :class:`Distillation`: the teacher's output is computed once, before it."""

    lr: float | None = None
    weight_decay: float = 0.0

    def __init__(self, method: Distillation, known: KnownLabels, teacher: Tensor) -> None:
        self.method = method
        self.index = known.index.to(teacher.device)
        self.classes = known.classes.to(teacher.device)
        everyone = torch.arange(known.num_nodes, device=teacher.device)
        self.taught = self.index if method.nodes == "train" else everyone
        if method.hard_mix:
            self.targets = method._targets(known, teacher).to(torch.float32)[self.taught]
        else:
            self.targets = softmax(teacher.detach() / method.temperature, dim=1)[self.taught]

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """Both terms, or the cross-entropy with the mixed target."""
        if self.method.hard_mix:
            return -(self.targets * log_softmax(logits[self.taught], dim=1)).sum(dim=1).mean()
        t, weight = self.method.temperature, self.method.weight
        log_s = log_softmax(logits[self.taught] / t, dim=1)
        divergence = (torch.special.xlogy(self.targets, self.targets) - self.targets * log_s).sum(dim=1).mean()
        hard = -log_softmax(logits[self.index], dim=1).gather(1, self.classes[:, None]).mean()
        return weight * t**2 * divergence + (1 - weight) * hard

    def parameters(self) -> Sequence[nn.Parameter]:
        """None: the teacher is fixed."""
        return []
