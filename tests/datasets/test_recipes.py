"""Features under a recipe: sparse ones stay sparse and are torch_geometric's to the bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import csr_array, issparse
from torch_geometric.data import Data
from torch_geometric.transforms import NormalizeFeatures

from postel.datasets import CATALOG, read_graph_file, recipes
from postel.datasets.recipes import dense_features, recipe_features

values = st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.1, 2.5, 1e-30, 3e6, -1.5])


def _normalized(x: np.ndarray) -> torch.Tensor:
    return NormalizeFeatures()(Data(x=torch.from_numpy(x.copy()))).x


@given(npst.arrays(np.float32, npst.array_shapes(min_dims=2, max_dims=2, max_side=40), elements=values))
def test_scaled_rows_are_those_of_torch_geometric(x: np.ndarray) -> None:
    expected = _normalized(x)
    assert torch.equal(dense_features(csr_array(x), normalize=True), expected)
    assert torch.equal(dense_features(x, normalize=True), expected)
    assert torch.equal(dense_features(csr_array(x), normalize=False), torch.from_numpy(x))
    kept = recipe_features(csr_array(x), normalize=True)
    assert issparse(kept) == bool((x >= 0).all() and (x == 0).any())


def test_the_stored_features_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "_ROWS", 7)
    x = csr_array((np.random.default_rng(0).random((50, 9)) < 0.4).astype(np.float32) * 3)
    before = x.toarray()
    assert torch.equal(dense_features(x, normalize=True), _normalized(before))
    assert np.array_equal(x.toarray(), before)


def test_real_features_are_those_of_torch_geometric(data_root) -> None:
    names = [name for name, entry in CATALOG.items() if entry.normalize and (data_root / f"{name}.npz").exists()]
    assert len(names) >= 5
    for name in names:
        x = read_graph_file(data_root / f"{name}.npz").x
        assert torch.equal(dense_features(x, normalize=True), _normalized(x.toarray())), name
