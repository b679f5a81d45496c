from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from postel.experiments.intervals import bootstrap_interval, paired_difference, sign_flip_p_value

values = st.lists(st.floats(-50, 50), min_size=2, max_size=9)


def test_the_bootstrap_agrees_with_scipys() -> None:
    sample = [81.2, 79.9, 80.5, 82.3, 78.8, 80.0, 81.7, 79.1, 80.9, 81.0]
    ours = bootstrap_interval(sample, resamples=100_000)
    theirs = stats.bootstrap(
        (sample,), np.mean, n_resamples=100_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert ours.mean == pytest.approx(np.mean(sample))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    assert ours.larger_side == max(ours.high - ours.mean, ours.mean - ours.low)
    assert bootstrap_interval(sample) == bootstrap_interval(sample)
    assert bootstrap_interval(sample, seed=1) != bootstrap_interval(sample)


@settings(max_examples=50)
@given(values)
def test_the_permutation_test_by_plain_loops(differences: list[float]) -> None:
    observed = abs(sum(differences))
    slack = 1e-9 * max(1, sum(map(abs, differences)))
    flips = list(itertools.product((1, -1), repeat=len(differences)))
    close = [abs(abs(sum(s * d for s, d in zip(f, differences, strict=True))) - observed) for f in flips]
    # Sums that differ only in the last bits may be counted either way.
    if any(1e-13 < gap < slack for gap in close):
        return
    hits = sum(abs(sum(s * d for s, d in zip(f, differences, strict=True))) >= observed - 1e-13 for f in flips)
    assert sign_flip_p_value(differences) == pytest.approx(hits / len(flips))


def test_many_pairs_are_resampled_close_to_exact() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(0.3, 1.0, 40).tolist()
    reference = stats.permutation_test(
        (differences, np.zeros(40)),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        n_resamples=100_000,
        rng=1,
    )
    assert sign_flip_p_value(differences) == pytest.approx(reference.pvalue, abs=0.01)


def test_a_paired_difference_is_that_of_the_pairs() -> None:
    difference = paired_difference([80.0, 82.0, 84.0], [79.0, 80.0, 81.0])
    assert difference.interval.mean == pytest.approx(2.0)
    assert difference.p_value == pytest.approx(0.25)
    none = paired_difference([80.0, 82.0], [80.0, 82.0])
    assert none.interval.mean == 0 and none.p_value == 1.0
