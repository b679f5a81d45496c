"""The numpy kernel against the torch implementation, and its way to a process that has no postel."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postel.posterior import add_uniform_noise, mix, posterior
from postel.scale.kernel import Model, join_shares, normalize_rows, soft_labels, split_shares
from postel.settings import PosteLSettings
from postel.statistics import normalize_rows as torch_normalize_rows
from postel.statistics import normalized_conditional


@given(st.integers(0, 2**31), st.integers(2, 9), st.floats(0, 1), st.floats(0, 3))
def test_the_kernel_equals_the_torch_functions(seed: int, k: int, alpha: float, beta: float) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, 4, (k, k)) * rng.integers(0, 2, (k, k))  # zeros: impossible classes
    counts = rng.integers(0, 5, k)
    counts[0] += 1
    histograms = rng.integers(0, 6, (30, k)) * rng.integers(0, 2, (30, k))
    own = rng.integers(-1, k, 30)
    model = Model(normalize_rows(counts), normalize_rows(pairs), PosteLSettings(alpha, beta))
    found = soft_labels(histograms, own, model)
    prior, conditional = (
        torch_normalize_rows(torch.from_numpy(counts)),
        torch_normalize_rows(torch.from_numpy(pairs)),
    )
    np.testing.assert_array_equal(model.conditional, conditional.numpy())
    expected = add_uniform_noise(posterior(torch.from_numpy(histograms), prior, conditional), beta)
    train = torch.from_numpy(own >= 0)
    expected[train] = mix(expected[train], torch.from_numpy(own[own >= 0]), alpha)
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


@given(st.integers(0, 2**31))
def test_a_row_does_not_depend_on_the_rows_beside_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = Model(
        normalize_rows(rng.integers(1, 9, 7)), normalize_rows(rng.integers(1, 9, (7, 7))), PosteLSettings()
    )
    histograms, own = rng.integers(0, 10**5, (50, 7)), rng.integers(-1, 7, 50)
    together = soft_labels(histograms, own, model)
    cut = int(rng.integers(1, 50))
    apart = [soft_labels(histograms[part], own[part], model) for part in (slice(0, cut), slice(cut, None))]
    np.testing.assert_array_equal(together, np.concatenate(apart))


@given(st.integers(0, 2**31))
def test_sums_of_shares_are_those_of_the_normalized_conditional(seed: int) -> None:
    rng = np.random.default_rng(seed)
    histograms, classes = rng.integers(0, 7, (200, 3)), rng.integers(0, 3, 200)
    totals = np.maximum(histograms.sum(axis=1, keepdims=True), 1)
    high, low = np.zeros((2, 3, 3), dtype=np.int64)
    for part, whole in zip((high, low), split_shares(histograms, totals), strict=True):
        np.add.at(part, classes, whole)
    expected = normalized_conditional(torch.from_numpy(histograms), torch.from_numpy(classes), 3)
    np.testing.assert_allclose(normalize_rows(join_shares(high, low)), expected.numpy(), rtol=1e-13)


def test_the_kernel_runs_where_no_postel_is_installed(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    from postel.scale.spark_engine import carried_by_value, rows_function

    model = Model(np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.8, 0.2]]), PosteLSettings(1.0, 0.0))
    with carried_by_value():
        (tmp_path / "function").write_bytes(cloudpickle.dumps(rows_function(model)))
    script = f"""
import sys, pickle, pathlib
sys.modules["postel"] = None  # importing it fails from here on
import pyarrow as pa
function = pickle.loads(pathlib.Path({str(tmp_path / "function")!r}).read_bytes())
print(function(pa.array([-1]), pa.array([[{{"class": 1, "n": 1}}]])).to_pylist())
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)[0] == pytest.approx([0.8, 0.2])
