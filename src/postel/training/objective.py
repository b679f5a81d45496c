"""What a training run minimises: soft-target cross-entropy on training nodes, or anything with its face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from postel.errors import InputError


@runtime_checkable
class Objective(Protocol):
    """A loss over the logits of all nodes, perhaps with parameters of its own that are learned along.

    Its parameters form an Adam group of their own with ``lr`` (the run's if None) and ``weight_decay``. Any class
    with these names will do; none has to inherit from this one.
    """

    lr: float | None
    weight_decay: float

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """The value to minimise, a scalar, for training-mode logits [N, K] in epoch 1, 2, ..."""
        ...

    def parameters(self) -> Sequence[nn.Parameter]:
        """Parameters to learn beside the backbone's."""
        ...


class SoftTargets:
    """Mean cross-entropy between ``targets`` [M, K] and the softmax at the nodes ``index`` [M].

    >>> objective = SoftTargets(torch.tensor([1]), torch.tensor([[0.5, 0.5]]))
    >>> round(objective.loss(torch.zeros(2, 2), epoch=1).item(), 4)
    0.6931
    """

    lr: float | None = None
    weight_decay: float = 0.0

    def __init__(self, index: Tensor, targets: Tensor) -> None:
        if index.dim() != 1 or targets.dim() != 2 or index.shape[0] != targets.shape[0]:
            raise InputError(
                f"targets must have one row for each of the {list(index.shape)} nodes, got {list(targets.shape)}"
            )
        if index.numel() == 0:
            raise InputError("there is no training node to fit: targets are empty")
        if not bool(torch.isfinite(targets).all()):
            raise InputError("targets must be finite, got NaN or infinite soft labels")
        self.index = index
        self.classes_first = targets.to(torch.float32).t().contiguous()
        self._mass = self.classes_first.sum(0)

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """The cross-entropy, the same in every epoch."""
        return _SoftCrossEntropy.apply(logits, self.index, self.classes_first, self._mass)

    def parameters(self) -> Sequence[nn.Parameter]:
        """None: the targets are fixed."""
        return []


class _SoftCrossEntropy(torch.autograd.Function):
    """Classes first, [K, M]: a softmax over few columns is an order of magnitude slower than over few rows."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, index: Tensor, targets: Tensor, mass: Tensor) -> Tensor:
        log_p = torch.log_softmax(logits.index_select(0, index).t().contiguous(), 0)
        ctx.save_for_backward(log_p, index, targets, mass)
        ctx.shape = logits.shape
        return torch.dot(log_p.view(-1), targets.view(-1)).div_(-index.numel())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        log_p, index, targets, mass = ctx.saved_tensors
        rows = log_p.exp().mul_(mass).sub_(targets).mul_(grad / index.numel())
        out = torch.zeros(ctx.shape, device=grad.device)
        return out.index_copy_(0, index, rows.t()), None, None, None
