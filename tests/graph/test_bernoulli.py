"""Random bits: the rate, the independence and the scale of dropout."""

from __future__ import annotations

import math

import pytest
import torch

from postel.graph.bernoulli import dropout, keep_bits
from postel.training import seeded

RATES = [0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 0.999]


@pytest.mark.parametrize("keep", RATES)
def test_rate_is_right_within_five_standard_errors(keep):
    count = 400_000
    with seeded(1):
        bits, probability = keep_bits(count, keep)
    assert abs(probability - keep) <= 2**-17
    assert abs(bits.double().mean().item() - keep) < 5 * math.sqrt(keep * (1 - keep) / count)


@pytest.mark.parametrize("keep", [0.3, 0.5])
@pytest.mark.parametrize("lag", [1, 8, 64, 625, 5000])
def test_bits_are_uncorrelated_at_the_distances_where_words_are_shared(keep, lag):
    count = 320_000
    with seeded(2):
        bits = keep_bits(count, keep)[0].double() - keep
    correlation = (bits[:-lag] * bits[lag:]).mean().item() / (keep * (1 - keep))
    assert abs(correlation) < 5 / math.sqrt(count - lag)


@pytest.mark.parametrize("count", [1, 7, 63, 64, 65, 1000])
def test_any_count(count):
    bits, _ = keep_bits(count, 0.5)
    assert bits.shape == (count,) and int(bits.max()) <= 1


def test_extremes():
    assert keep_bits(100, 1.0)[0].all()
    bits, probability = keep_bits(100, 1e-9)
    assert probability == 2**-16 and bits.sum() <= 2


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_scales_what_it_keeps_and_passes_the_same_gradient(p):
    x = torch.full((500, 400), 3.0, requires_grad=True)
    with seeded(3):
        out = dropout(x, p, training=True)
    out.sum().backward()
    assert torch.allclose(out, 3.0 * x.grad)
    kept = out.detach()[out.detach() > 0]
    assert torch.allclose(kept, torch.tensor(3.0 / (1 - p)), rtol=1e-4)
    assert abs(out.mean().item() - 3.0) < 5 * 3.0 * math.sqrt(p / (1 - p) / x.numel())


def test_dropout_is_the_identity_in_evaluation_and_at_zero():
    x = torch.randn(5)
    assert dropout(x, 0.5, training=False) is x and dropout(x, 0.0, training=True) is x


def test_bits_come_from_the_seed():
    draws = []
    for seed in (0, 0, 1):
        with seeded(seed):
            draws.append(keep_bits(1000, 0.3)[0])
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
