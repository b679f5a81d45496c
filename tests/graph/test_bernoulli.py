"""Random bits: the rate, the independence and the scale of dropout."""

from __future__ import annotations

import math

import pytest
import torch

from postel.graph import bernoulli
from postel.graph.bernoulli import drawn_ahead, dropout, keep_bits, keep_mask
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


@pytest.mark.parametrize("keep", [0.5, 0.3, 1.0])
@pytest.mark.parametrize("shape", [(8, 8), (7, 11)])
def test_masks_drawn_ahead_are_those_of_single_draws(keep, shape, monkeypatch):
    monkeypatch.setattr(bernoulli, "AHEAD", 4 * math.prod(shape))
    with seeded(0):
        single = [keep_mask(shape, keep) for _ in range(10)]
    with seeded(0), drawn_ahead():
        ahead = [keep_mask(shape, keep) for _ in range(10)]
    for (mask, probability), (own, own_probability) in zip(single, ahead, strict=True):
        assert mask.shape == own.shape and torch.equal(mask, own) and probability == own_probability
    assert keep == 1.0 or not torch.equal(ahead[0][0], ahead[1][0])


def test_another_shape_or_rate_gets_masks_of_its_own():
    with seeded(0), drawn_ahead():
        keep_mask((2, 3), 0.5)
        assert keep_mask((3, 2), 0.5)[0].shape == (3, 2)
        mask, probability = keep_mask((300, 20), 0.25)
    assert probability == 0.25 and 0.2 < mask.mean().item() < 0.3


def test_a_block_within_another_can_draw_one_by_one():
    with seeded(0):
        expected = [keep_mask((4, 4), 0.5)[0] for _ in range(2)]
    with seeded(0), drawn_ahead(), drawn_ahead(False):
        keep_mask((4, 4), 0.5)
        assert torch.equal(keep_mask((4, 4), 0.5)[0], expected[1])
        after = torch.rand(3)
    with seeded(0):
        keep_mask((4, 4), 0.5), keep_mask((4, 4), 0.5)
        assert torch.equal(torch.rand(3), after)
