"""Hand-written gradients: how a kernel and the way back through it are written, and how autograd calls them.

A traced kernel returns its output and a function ``back``. ``back`` takes the gradient of the output and returns
the gradients of the kernel's inputs. A training step that only calls such functions needs no autograd graph, whose
bookkeeping takes longer than the arithmetic of a small network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

# From the gradient of an output to those of the inputs, in their order; None for an input that is left out.
Back = Callable[[Tensor], Sequence[Any]]


class _Traced(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: Callable[..., tuple[Tensor, Back]], *inputs: Tensor | None) -> Tensor:
        out, ctx.back = kernel(*inputs)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *ctx.back(grad.contiguous()))


def differentiable(kernel: Callable[..., tuple[Tensor, Back]], *inputs: Tensor | None) -> Tensor:
    """Call a traced kernel so that autograd uses its hand-written gradient.

    Args:
        kernel: A function of ``inputs`` that returns its output and the way back.
        *inputs: The tensors to differentiate by; None stands for one that is left out.

    Returns:
        The kernel's output, with a gradient wherever autograd records.

    Example:
        >>> def square(x):
        ...     return x * x, lambda grad: [2 * x * grad]
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> differentiable(square, x).backward()
        >>> x.grad.item()
        6.0
    """
    if torch.is_grad_enabled():
        out: Tensor = _Traced.apply(kernel, *inputs)
        return out
    return kernel(*inputs)[0]


def needs_way_back(training: bool) -> bool:
    """Say whether the way back through a network may be asked for.

    A network that keeps nothing for it reuses warm memory from layer to layer.

    Args:
        training: Whether the network is in training mode.

    Returns:
        False only in evaluation within ``torch.inference_mode``, where nothing has a gradient.

    Example:
        >>> needs_way_back(False)
        True
        >>> with torch.inference_mode():
        ...     needs_way_back(False), needs_way_back(True)
        (False, True)
    """
    return training or not torch.is_inference_mode_enabled()
