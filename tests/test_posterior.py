"""The kernel alone: exactness at the edges of floating point, and the paper's lemmas as properties."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from postel.posterior import add_off_target_noise, add_uniform_noise, mix, posterior, without_evidence

HALF = torch.tensor([0.5, 0.5], dtype=torch.float64)


def binary(c0: float, c1: float) -> torch.Tensor:
    """The conditional of two classes with class homophilies c0 and c1."""
    return torch.tensor([[c0, 1 - c0], [1 - c1, c1]], dtype=torch.float64)


homophily = st.floats(0.02, 0.98)
count = st.integers(0, 40)


def threshold(c0: float, c1: float) -> float:
    return (math.log(c1) - math.log(1 - c0)) / (math.log(c0) - math.log(1 - c1))


@given(homophily, homophily, count, count)
def test_lemma_1_homophilic(c0: float, c1: float, n0: int, n1: int) -> None:
    assume(c0 > 1 - c1 + 1e-6)
    margin = n0 - n1 * threshold(c0, c1)
    assume(abs(margin) > 1e-6)
    p = posterior(torch.tensor([[n0, n1]]), HALF, binary(c0, c1))[0, 0]
    assert (p > 0.5) == (margin > 0)


@given(homophily, homophily, count, count)
def test_lemma_2_heterophilic(c0: float, c1: float, n0: int, n1: int) -> None:
    assume(c0 < 1 - c1 - 1e-6)
    margin = n0 - n1 * threshold(c0, c1)
    assume(abs(margin) > 1e-6)
    p = posterior(torch.tensor([[n0, n1]]), HALF, binary(c0, c1))[0, 0]
    assert (p > 0.5) == (margin < 0)


heterophily = st.floats(0.1, 0.49)


@given(heterophily, heterophily, st.integers(1, 7), st.data())
def test_lemma_3_same_degree(c0: float, c1: float, degree: int, data: st.DataObject) -> None:
    more = data.draw(st.integers(1, degree))
    fewer = data.draw(st.integers(0, more - 1))
    rows = torch.tensor([[more, degree - more], [fewer, degree - fewer]])
    p = posterior(rows, HALF, binary(c0, c1))[:, 0]
    assert p[0] < p[1]


@given(heterophily, heterophily, st.integers(0, 4), st.integers(0, 3), st.integers(1, 4))
def test_lemma_4_different_degree(c0: float, c1: float, n0: int, n1: int, extra: int) -> None:
    rows = torch.tensor([[n0, n1 + extra], [n0, n1]])
    p = posterior(rows, HALF, binary(c0, c1))[:, 0]
    assert p[0] > p[1]


def test_a_hub_with_200000_neighbors_is_exact() -> None:
    conditional = torch.tensor([[0.5001, 0.4999], [0.4999, 0.5001]], dtype=torch.float64)
    prior = torch.tensor([0.3, 0.7], dtype=torch.float64)
    histogram = torch.tensor([[100_200, 99_800]])
    with mpmath.workdps(60):
        weights = [
            mpmath.mpf(prior[k].item())
            * mpmath.mpf(conditional[k, 0].item()) ** 100_200
            * mpmath.mpf(conditional[k, 1].item()) ** 99_800
            for k in range(2)
        ]
        exact = float(weights[0] / sum(weights))
    assert 0.3 < exact < 0.5  # far from 0 and 1, where any kernel would look right
    assert abs(posterior(histogram, prior, conditional)[0, 0].item() - exact) < 1e-9


def test_zero_conditionals_put_a_class_out_and_never_make_nan() -> None:
    conditional = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    prior = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    histograms = torch.tensor([[200_000, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 200_000]])
    rows = posterior(histograms, prior, conditional)
    expected = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]]
    assert torch.allclose(rows, torch.tensor(expected, dtype=torch.float64), atol=1e-15)
    assert without_evidence(histograms, prior, conditional).tolist() == [False, False, True, True, False]


def test_a_class_that_never_occurs_has_no_probability() -> None:
    prior = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)
    conditional = torch.tensor([[0.5, 0.5, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], dtype=torch.float64)
    rows = posterior(torch.tensor([[2, 1, 0], [0, 0, 0]]), prior, conditional)
    assert torch.allclose(rows, prior.expand(2, 3))


@given(st.lists(st.integers(0, 20), min_size=2, max_size=6), st.fractions(0, 1), st.fractions(0, 1))
def test_noise_and_mixing_by_their_formulas(counts: list[int], alpha: Fraction, beta: Fraction) -> None:
    assume(sum(counts) > 0)
    k = len(counts)
    exact = [Fraction(c, sum(counts)) for c in counts]
    p = torch.tensor([[float(value) for value in exact]], dtype=torch.float64)
    own = torch.tensor([k - 1])
    uniform = [(value + beta / k) / (1 + beta) for value in exact]
    off = [(1 - beta) * value + (beta / (k - 1) if m < k - 1 else 0) for m, value in enumerate(exact)]
    mixed = [alpha * value + (1 - alpha) * (m == k - 1) for m, value in enumerate(uniform)]
    for ours, theirs in (
        (add_uniform_noise(p, float(beta)), uniform),
        (add_off_target_noise(p, float(beta), own), off),
        (mix(add_uniform_noise(p, float(beta)), own, float(alpha)), mixed),
    ):
        assert torch.allclose(ours, torch.tensor([[float(v) for v in theirs]], dtype=torch.float64), atol=1e-12)
        assert abs(ours.sum().item() - 1) < 1e-12
