"""Adam without the bookkeeping of an optimizer class, which costs more than the update on small networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Adam:
    """torch's fused Adam, with its usual betas and epsilon.

    Args:
        groups: One dictionary per group with its ``params``, ``lr`` and ``weight_decay``.

    Example:
        >>> weight = torch.nn.Parameter(torch.ones(1))
        >>> optimizer = Adam([{"params": [weight], "lr": 0.5, "weight_decay": 0.0}])
        >>> weight.sum().backward()
        >>> optimizer.step()
        >>> round(weight.item(), 4), weight.grad is None
        (0.5, True)
    """

    def __init__(self, groups: Sequence[dict[str, Any]]) -> None:
        self._groups = [_Group(**group) for group in groups]

    def step(self) -> None:
        """Update every parameter that has a gradient, then forget the gradients."""
        if torch.is_grad_enabled():  # a training loop has switched it off for all steps; doing so costs time
            with torch.no_grad():
                self.step()
            return
        for group in self._groups:
            group.step()


class _Group:
    def __init__(self, params: Sequence[Tensor], lr: float, weight_decay: float) -> None:
        self.params = [param for param in params if param.requires_grad]
        self.lr = lr
        self.weight_decay = weight_decay
        self.means = [torch.zeros_like(param) for param in self.params]
        self.squares = [torch.zeros_like(param) for param in self.params]
        # torch's own function sorts the parameters by device and type in every step; mostly there is one of each.
        self.alike = len({(param.device, param.dtype) for param in self.params}) == 1
        # Steps are counted once for all parameters until one of them is without a gradient.
        self.count = torch.zeros((), device=self.params[0].device) if self.alike else None
        self.steps = [self._own_count(param) for param in self.params]

    def _own_count(self, param: Tensor) -> Tensor:
        return torch.zeros((), device=param.device) if self.count is None else self.count

    def step(self) -> None:
        grads: list[Any] = [param.grad for param in self.params]
        # `None in grads` would compare None with whole tensors, which takes longer than the update.
        missing = any(grad is None for grad in grads)
        if self.count is not None and not missing:
            self.count.add_(1.0)
            torch._fused_adam_(
                self.params,
                grads,
                self.means,
                self.squares,
                [],
                self.steps,
                lr=self.lr,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=self.weight_decay,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )
        elif any(grad is not None for grad in grads):
            self._step_some(grads)
        for param in self.params:
            param.grad = None

    def _step_some(self, grads: Sequence[Tensor | None]) -> None:
        """The same step for parameters of several kinds, or where some have no gradient."""
        if self.count is not None:
            self.steps = [step.clone() for step in self.steps]
            self.count = None
        chosen = [place for place, grad in enumerate(grads) if grad is not None]
        adam(
            [self.params[place] for place in chosen],
            [grad for grad in grads if grad is not None],
            [self.means[place] for place in chosen],
            [self.squares[place] for place in chosen],
            [],
            [self.steps[place] for place in chosen],
            fused=True,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=self.lr,
            weight_decay=self.weight_decay,
            eps=EPSILON,
            maximize=False,
        )
