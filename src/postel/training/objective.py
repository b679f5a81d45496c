"""What a training run minimizes: soft-target cross-entropy on training nodes, or anything with its interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard, runtime_checkable

import torch
from torch import Tensor, nn

from postel.errors import InputError
from postel.graph.tracing import Back, differentiable


@runtime_checkable
class Objective(Protocol):
    """A loss over the logits of all nodes, perhaps with parameters of its own that are learned along.

    Its parameters form an Adam group of their own with ``lr`` (the run's if None) and ``weight_decay``. Any class
    with these names will do; none has to inherit from this one.
    """

    lr: float | None
    weight_decay: float

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """Return the value to minimize.

        Args:
            logits: Training-mode logits [N, K] of all nodes.
            epoch: The number of the epoch, from 1.

        Returns:
            A scalar, differentiable by the logits and the objective's own parameters.
        """
        ...

    def parameters(self) -> Sequence[nn.Parameter]:
        """Return the parameters to learn beside the backbone's."""
        ...


class SoftTargets:
    """Mean cross-entropy between soft targets and the softmax at the training nodes.

    Args:
        index: The training nodes [M].
        targets: Their soft labels [M, K].

    Raises:
        InputError: If there is no node, a target is not finite, or the shapes do not fit together.

    Example:
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
        self._shares = self.classes_first / index.numel()
        self._mass = self._shares.sum(0)
        # Where the logits of the training nodes lie, classes first: one gather takes them out and turns them.
        classes = targets.shape[1]
        each = torch.arange(classes, device=index.device).unsqueeze(1)
        self._places = (index * classes + each).view(-1)

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """Return the cross-entropy, the same in every epoch.

        Args:
            logits: Training-mode logits [N, K].
            epoch: The number of the epoch, which makes no difference.

        Returns:
            The loss, differentiable by the logits.
        """

        def kernel(logits: Tensor) -> tuple[Tensor, Back]:
            value, slope = self.loss_and_gradient(logits)
            return value, lambda grad: [slope * grad]

        return differentiable(kernel, logits)

    def loss_and_gradient(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cross-entropy and its gradient, without autograd.

        Args:
            logits: Training-mode logits [N, K].

        Returns:
            The loss, a scalar, and its gradient [N, K].
        """
        classes = self.classes_first.shape[0]
        if logits.shape[1] != classes:
            raise InputError(f"the targets have {classes} classes, but logits have {logits.shape[1]} columns")
        # Classes first, [K, M]: a softmax over few columns is an order of magnitude slower than over few rows.
        chosen = logits.reshape(-1).index_select(0, self._places).view(classes, -1)
        log_p = torch.log_softmax(chosen, 0)
        value = torch.dot(log_p.view(-1), self._shares.view(-1)).neg_()
        rows = log_p.exp_().mul_(self._mass).sub_(self._shares)
        slope = torch.zeros(logits.shape, dtype=logits.dtype, device=logits.device)
        slope.view(-1).scatter_(0, self._places, rows.view(-1))
        return value, slope

    def parameters(self) -> Sequence[nn.Parameter]:
        """Return none: the targets are fixed."""
        return []


def has_own_gradient(objective: Objective) -> TypeGuard[SoftTargets]:
    """Say whether an objective's gradient is written by hand, so that autograd is not needed.

    Args:
        objective: Any objective.

    Returns:
        True for soft targets, unless a subclass has a loss of its own.

    Example:
        >>> has_own_gradient(SoftTargets(torch.tensor([1]), torch.tensor([[0.5, 0.5]])))
        True
    """
    return isinstance(objective, SoftTargets) and type(objective).loss is SoftTargets.loss


def loss_and_gradient(objective: Objective, logits: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
    """Return an objective's loss and its gradient by the logits; its own parameters get their ``grad``.

    Args:
        objective: Any objective. Soft targets have a gradient written by hand, for others autograd finds it.
        logits: Training-mode logits [N, K].
        epoch: The number of the epoch, from 1.

    Returns:
        The loss, a scalar, and its gradient [N, K].

    Example:
        >>> objective = SoftTargets(torch.tensor([1]), torch.tensor([[0.5, 0.5]]))
        >>> loss, gradient = loss_and_gradient(objective, torch.tensor([[0.0, 0.0], [9.0, 9.0]]), epoch=1)
        >>> round(loss.item(), 4), gradient.tolist()
        (0.6931, [[0.0, 0.0], [0.0, 0.0]])
    """
    if has_own_gradient(objective):
        return objective.loss_and_gradient(logits)
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        loss = objective.loss(leaf, epoch)
        loss.backward()
    slope = torch.zeros_like(logits) if leaf.grad is None else leaf.grad.contiguous()
    return loss.detach(), slope
