"""Holm's correction and the corrected resampled t, against written-out versions and simulated tables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from postel.datasets.splits import make_split
from postel.datasets.storage.stored_graph import StoredGraph
from postel.experiments.intervals import NOMINAL_RATIO, holm, overlap_ratio, paired_difference, resampled_t
from postel.experiments.scores import Score, corrected_gains

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


def test_values_computed_by_hand():
    """With two degrees of freedom the t distribution has a formula: two-sided p is 1 - t / sqrt(2 + t^2)."""
    interval, p = resampled_t([1.0, 2.0, 3.0], ratio=1 / 3)
    assert p == pytest.approx(1 - math.sqrt(6 / 8))  # t^2 = 4 / (2 / 3) = 6
    # 95 % of it lie within t with t^2 = 2 * 0.95^2 / (1 - 0.95^2).
    half = math.sqrt(2 * 0.95**2 / (1 - 0.95**2)) * math.sqrt(2 / 3)
    assert (interval.low, interval.high) == pytest.approx((2 - half, 2 + half))
    assert holm([0.04, 0.001, 0.02, 0.5]) == pytest.approx([0.08, 0.004, 0.06, 0.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_asks_less_than_scipys_false_discovery_control(p_values):
    """Benjamini and Hochberg's correction, which scipy has, controls less and corrects less."""
    kinder = stats.false_discovery_control(p_values)
    bonferroni = [min(1.0, len(p_values) * p) for p in p_values]
    for ours, below, above in zip(holm(p_values), kinder, bonferroni, strict=True):
        assert below - 1e-12 <= ours <= above + 1e-12


@pytest.mark.parametrize("protocol", ["paper", "stratified", "limited"])
@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2], [0.55, 0.1, 0.18, 0.16, 0.01]])
def test_the_overlap_is_that_of_the_splits(protocol, shares):
    y = np.random.default_rng(0).choice(len(shares), 2000, p=shares)
    graph = StoredGraph.checked(np.eye(2000, 3), [[0], [1]], y.tolist())
    _, val, test = make_split(graph, 0, protocol).sum(axis=1).tolist()
    train = make_split(graph, 0, "paper" if protocol == "limited" else protocol)[0].sum()
    assert overlap_ratio(protocol, val, test) == pytest.approx(test / train, rel=0.01)


def test_the_overlap_is_nominal_where_nothing_is_known():
    assert overlap_ratio("geom-gcn", 320, 200) == pytest.approx(200 / 480)
    for protocol, val, test in (("masks", 40, 60), ("paper", 0, 0), ("paper", 10, 100), ("paper", 10, 0)):
        assert overlap_ratio(protocol, val, test) == NOMINAL_RATIO


def test_a_line_that_is_clear_alone_is_open_among_many():
    """The same gain: its p-value is multiplied by the number of lines, and that alone decides."""
    rng = np.random.default_rng(3)
    ours = Score(dict(enumerate([80.3, 80.5, 80.9, 81.2, 81.4, 81.6, 81.8, 82.0, 82.4, 82.6])), ratio=1 / 3)
    gain = ours.gain_over(Score(dict.fromkeys(range(10), 80.0)))
    nothing = Score(dict(enumerate(rng.normal(0, 1, 10)))).gain_over(Score(dict.fromkeys(range(10), 0.0)))
    assert gain.is_clear and gain.corrected == gain.difference.resampled_p
    among = corrected_gains([gain, None, *[nothing] * 19])
    assert among[1] is None and among[0].corrected == pytest.approx(20 * gain.corrected)
    assert among[0].reads == "open" and among[0].interval == gain.interval


def test_more_overlap_makes_a_gain_less_sure():
    by_split = {split: 80 + 0.1 * split for split in range(10)}
    base = Score(dict.fromkeys(range(10), 80.0))
    some, more = (Score(by_split, ratio).gain_over(base) for ratio in (0.4, 0.8))
    assert some.interval == more.interval and some.p_value == more.p_value
    assert some.corrected < more.corrected and some.resampled.low > more.resampled.low
    assert more.difference == Score(by_split).gain_over(replace(base, ratio=0.8)).difference
