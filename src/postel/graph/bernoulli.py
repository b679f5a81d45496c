"""Random zeros and ones at the price of random bits.

A float drawn for every element would cost more than the sparse network around it. Here 64 elements share each
random word: the comparison "uniform < probability" is carried out bit by bit on whole words, and takes as many
words as the probability has binary digits (one for 0.5, at most sixteen).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

_DIGITS = 16
_LOW_BITS = 0x0101010101010101


def keep_bits(count: int, keep: float, device: torch.device | str = "cpu") -> tuple[Tensor, float]:
    """``count`` independent zeros and ones as uint8, and the exact probability of a one.

    That probability is ``keep`` rounded to a multiple of 2^-16; dividing by it keeps expectations exact. The bits
    come from torch's global generator.

    >>> bits, probability = keep_bits(1000, 0.5)
    >>> bits.shape, probability, sorted(set(bits.tolist()))
    (torch.Size([1000]), 0.5, [0, 1])
    """
    numerator = min(max(round(keep * 2**_DIGITS), 1), 2**_DIGITS)
    if numerator == 2**_DIGITS:
        return torch.ones(count, dtype=torch.uint8, device=device), 1.0
    shift = (numerator & -numerator).bit_length() - 1
    digits = _DIGITS - shift
    words = torch.empty((digits, -(-count // 64)), dtype=torch.int64, device=device)
    words.random_(-(2**63), None)
    # A word's bit is "uniform < probability" for the digits seen so far, from the last digit to the first.
    hits = words[0]
    for place in range(1, digits):
        if (numerator >> shift >> place) & 1:
            hits |= words[place]
        else:
            hits &= words[place]
    bits = (hits >> _shifts(device)).bitwise_and_(_LOW_BITS).view(torch.uint8).view(-1)
    return bits[:count], numerator / 2**_DIGITS


@cache
def _shifts(device: torch.device | str) -> Tensor:
    return torch.arange(8, device=device).unsqueeze(1)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        bits, keep = keep_bits(x.numel(), 1.0 - p, x.device)
        ctx.bits, ctx.scale = bits.view(x.shape), 1.0 / keep
        return torch.mul(x, ctx.bits).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return torch.mul(grad, ctx.bits).mul_(ctx.scale), None


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """``x`` with every element zeroed with probability ``p`` and the others divided by 1 - p, in training only.

    >>> dropout(torch.ones(2), 0.5, training=False).tolist()
    [1.0, 1.0]
    >>> set(dropout(torch.ones(1000), 0.5, training=True).tolist()) == {0.0, 2.0}
    True
    """
    if not training or p == 0.0:
        return x
    return _Dropout.apply(x, p)
