"""Holm's correction and the corrected resampled t, against written-out versions and simulated tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from postel.experiments.intervals import NOMINAL_RATIO, holm, paired_difference, resampled_t

P_VALUES = st.lists(st.floats(0, 1), max_size=12)


@given(P_VALUES)
def test_holm_agrees_with_its_definition(p_values):
    """A line is corrected to the largest, over all lines at least as sure, of its p times the lines left."""
    found = holm(p_values)
    for place, p in enumerate(p_values):
        surer = [other for other in p_values if other <= p]
        steps = [min(1.0, sum(q >= other for q in p_values) * other) for other in surer]
        assert found[place] == pytest.approx(max(steps))
        assert found[place] >= p


@given(P_VALUES)
def test_holm_keeps_the_order_and_leaves_one_line_alone(p_values):
    found = holm(p_values)
    assert sorted(range(len(found)), key=lambda k: (p_values[k], found[k])) == sorted(
        range(len(found)), key=lambda k: (found[k], p_values[k])
    )
    assert holm(p_values[:1]) == p_values[:1]


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=12).filter(lambda values: np.std(values) > 1e-3))
def test_without_overlap_it_is_the_ordinary_t_test(values):
    interval, p = resampled_t(values, ratio=0.0)
    known = stats.ttest_1samp(values, 0.0)
    ordinary = known.confidence_interval(0.95)
    assert p == pytest.approx(known.pvalue, rel=1e-6, abs=1e-12)
    assert (interval.low, interval.high) == pytest.approx((ordinary.low, ordinary.high), rel=1e-6, abs=1e-9)
    wider, less_sure = resampled_t(values, ratio=1 / 3)
    factor = math.sqrt((1 / len(values) + 1 / 3) * len(values))
    assert wider.high - wider.low == pytest.approx(factor * (interval.high - interval.low))
    assert less_sure >= p


def test_the_correction_is_for_splits_that_share_nodes():
    """Scores of overlapping halves of a pool with no difference: the plain t claims one too often."""
    rng = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(400):
        pool = rng.normal(size=60)
        values = [rng.choice(pool, 30, replace=False).mean() for _ in range(10)]
        plain += resampled_t(values, ratio=0.0)[1] < 0.05
        corrected += resampled_t(values, ratio=1.0)[1] < 0.05
    assert plain > 0.25 * 400 and corrected < 0.1 * 400


def test_a_table_of_nothing_is_rarely_clear_anywhere():
    rng = np.random.default_rng(1)
    tables = [[resampled_t(rng.normal(size=10), ratio=0.0)[1] for _ in range(20)] for _ in range(200)]
    assert sum(min(table) < 0.05 for table in tables) > 100
    assert sum(min(holm(table)) < 0.05 for table in tables) < 25


def test_paired_differences_carry_both():
    ours, theirs = [0.80, 0.82, 0.85], [0.78, 0.81, 0.80]
    found = paired_difference(ours, theirs)
    assert (found.resampled, found.resampled_p) == resampled_t(
        [a - b for a, b in zip(ours, theirs, strict=True)], ratio=NOMINAL_RATIO
    )
    assert paired_difference([0.8], [0.7]).resampled is None
    same = paired_difference([0.5, 0.5], [0.5, 0.5])
    assert same.resampled_p == 1.0 and same.resampled.low == same.resampled.high == 0.0
    with pytest.raises(ValueError, match="at least two"):
        resampled_t([1.0])
