"""Random zeros and ones at the price of random bits.

A float drawn for every element would cost more than the sparse network around it. Here 64 elements share each
random word: the comparison "uniform < probability" is carried out bit by bit on whole words, and takes as many
words as the probability has binary digits (one for 0.5, at most sixteen).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import torch
from torch import Tensor

from postel.graph.tracing import Back, differentiable

_DIGITS = 16
_LOW_BITS = 0x0101010101010101
# As many numbers of masks are drawn at once within drawn_ahead: more would push the network out of the cache.
AHEAD = 1 << 17


def keep_bits(count: int, keep: float, device: torch.device | str = "cpu") -> tuple[Tensor, float]:
    """Draw independent zeros and ones from torch's global generator.

    Args:
        count: How many to draw.
        keep: The probability of a one. It is rounded to a multiple of 2^-16.
        device: Where to draw.

    Returns:
        The bits as uint8 [count], and the exact probability of a one; dividing by it keeps expectations exact.

    Example:
        >>> bits, probability = keep_bits(1000, 0.5)
        >>> bits.shape, probability, sorted(set(bits.tolist()))
        (torch.Size([1000]), 0.5, [0, 1])
    """
    bits, probability = _draw(1, count, keep, device)
    return bits.view(-1), probability


def _draw(times: int, count: int, keep: float, device: torch.device | str) -> tuple[Tensor, float]:
    """The bits [times, count] that ``times`` draws of ``count`` would give, and the probability of a one.

    On a CPU words are drawn one after another, so that a block of them holds the same as single draws do.
    """
    numerator = min(max(round(keep * 2**_DIGITS), 1), 2**_DIGITS)
    if numerator == 2**_DIGITS:
        return torch.ones((times, count), dtype=torch.uint8, device=device), 1.0
    shift = (numerator & -numerator).bit_length() - 1
    digits = _DIGITS - shift
    words = torch.empty((times, digits, -(-count // 64)), dtype=torch.int64, device=device)
    words.random_(-(2**63), None)
    # A word's bit is "uniform < probability" for the digits seen so far, from the last digit to the first.
    hits = words[:, :1]
    for place in range(1, digits):
        if (numerator >> shift >> place) & 1:
            hits |= words[:, place : place + 1]
        else:
            hits &= words[:, place : place + 1]
    bits = (hits >> _shifts(device)).bitwise_and_(_LOW_BITS).view(torch.uint8).view(times, -1)
    return bits[:, :count], numerator / 2**_DIGITS


@cache
def _shifts(device: torch.device | str) -> Tensor:
    with torch.inference_mode(False):
        return torch.arange(8, device=device).unsqueeze(1)


def keep_mask(shape: Sequence[int], keep: float, device: torch.device | str = "cpu") -> tuple[Tensor, float]:
    """Draw independent zeros and ones as floats, which multiply faster than bytes do.

    Args:
        shape: The shape of the mask.
        keep: The probability of a one.
        device: Where to draw.

    Returns:
        The mask in float32, and the exact probability of a one, as in :func:`keep_bits`.

    Example:
        >>> mask, probability = keep_mask((2, 3), 0.5)
        >>> mask.shape, mask.dtype, probability
        (torch.Size([2, 3]), torch.float32, 0.5)
    """
    ahead = _ahead.get()
    if ahead is not None:
        return ahead.take(tuple(shape), keep, device)
    bits, probability = keep_bits(math.prod(shape), keep, device)
    return bits.view(shape).to(torch.float32), probability


class _Ahead:
    """Masks of one shape and one probability that are drawn but not taken yet."""

    def __init__(self) -> None:
        self._kind: object = None
        self._masks: list[Tensor] = []
        self._probability = 1.0

    def take(self, shape: tuple[int, ...], keep: float, device: torch.device | str) -> tuple[Tensor, float]:
        kind = (shape, keep, device)
        if not self._masks or kind != self._kind:
            count = math.prod(shape)
            bits, self._probability = _draw(max(1, AHEAD // max(count, 1)), count, keep, device)
            # Last mask first, as they are taken from the end.
            self._masks = [mask.view(shape) for mask in bits.to(torch.float32).unbind()][::-1]
            self._kind = kind
        return self._masks.pop(), self._probability


_ahead: ContextVar[_Ahead | None] = ContextVar("ahead", default=None)


@contextmanager
def drawn_ahead(on: bool = True) -> Iterator[None]:
    """Have :func:`keep_mask` draw small masks for several calls at once within a ``with`` block.

    On a tiny graph the ten calls behind a mask take longer than their arithmetic. The masks are those of single
    draws as long as all draws in the block are masks of one shape and one probability, on a CPU; afterwards the
    generator is further on than single draws would have left it.

    Args:
        on: False to draw one by one, whatever a block around this one says.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> single = [keep_mask((2, 3), 0.5)[0] for _ in range(3)]
        >>> _ = torch.manual_seed(0)
        >>> with drawn_ahead():
        ...     all(torch.equal(keep_mask((2, 3), 0.5)[0], mask) for mask in single)
        True
    """
    token = _ahead.set(_Ahead() if on else None)
    try:
        yield
    finally:
        _ahead.reset(token)


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Zero every element with probability ``p`` and divide the others by 1 - p, in training only.

    Args:
        x: Any tensor.
        p: The dropout rate.
        training: Whether to draw; otherwise ``x`` is returned as it is.

    Returns:
        A tensor of the same shape, differentiable by ``x``.

    Example:
        >>> dropout(torch.ones(2), 0.5, training=False).tolist()
        [1.0, 1.0]
        >>> set(dropout(torch.ones(1000), 0.5, training=True).tolist()) == {0.0, 2.0}
        True
    """
    if not training or p == 0.0:
        return x

    def kernel(x: Tensor) -> tuple[Tensor, Back]:
        out, back = traced_dropout(x, p)
        return out, lambda grad: [back(grad)]

    return differentiable(kernel, x)


def traced_dropout(x: Tensor, p: float) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return ``x`` with every element zeroed with probability ``p`` and the others divided by 1 - p.

    Args:
        x: Any tensor.
        p: The dropout rate, 0 in evaluation.

    Returns:
        A tensor of the same shape, ``x`` itself if ``p`` is 0, and a function from its gradient to that of ``x``.

    Example:
        >>> out, back = traced_dropout(torch.ones(1000), 0.5)
        >>> sorted(set(out.tolist())), bool((back(torch.ones(1000)) == out).all())
        ([0.0, 2.0], True)
    """
    if p == 0.0:
        return x, lambda grad: grad
    mask, keep = keep_mask(x.shape, 1.0 - p, x.device)
    mask.mul_(1.0 / keep)
    return x * mask, lambda grad: grad * mask
