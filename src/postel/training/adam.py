"""Adam without the bookkeeping of an optimiser class, which costs more than the update on small networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """torch's fused Adam over groups ``{"params", "lr", "weight_decay"}``, with its usual betas and epsilon.

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
        for group in self._groups:
            group.step()


class _Group:
    def __init__(self, params: Sequence[Tensor], lr: float, weight_decay: float) -> None:
        self.params = [param for param in params if param.requires_grad]
        self.lr = lr
        self.weight_decay = weight_decay
        self.means = [torch.zeros_like(param) for param in self.params]
        self.squares = [torch.zeros_like(param) for param in self.params]
        self.steps = [torch.zeros((), dtype=torch.float32, device=param.device) for param in self.params]

    @torch.no_grad()
    def step(self) -> None:
        state = (self.params, self.means, self.squares, self.steps)
        grads = [param.grad for param in self.params]
        if any(grad is None for grad in grads):
            chosen = [place for place, grad in enumerate(grads) if grad is not None]
            state = tuple([part[place] for place in chosen] for part in state)  # type: ignore[assignment]
            grads = [grads[place] for place in chosen]
        params, means, squares, steps = state
        if params:
            adam(
                params,
                [grad.contiguous() for grad in grads if grad is not None],
                means,
                squares,
                [],
                steps,
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self.lr,
                weight_decay=self.weight_decay,
                eps=1e-8,
                maximize=False,
            )
        for param in params:
            param.grad = None
