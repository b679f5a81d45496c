from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postel.datasets.catalog import CATALOG
from postel.datasets.synthetic import csbm, heterophilic, homophilic, no_signal, ring
from postel.errors import InputError


def conditional(graph):
    counts = np.zeros((graph.num_classes, graph.num_classes))
    np.add.at(counts, (graph.y[graph.edge_index[0]], graph.y[graph.edge_index[1]]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def test_a_symmetric_matrix_is_what_nodes_see():
    matrix = ring(5, beside=0.4, own=0.04)
    assert np.abs(conditional(csbm(4000, matrix, mean_degree=30, seed=3)) - matrix).max() < 0.03


def test_any_matrix_is_what_directed_links_follow():
    matrix = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.9, 0.1, 0.0]])
    graph = csbm(4000, 5 * matrix, class_weights=[1, 2, 3], mean_degree=10, directed=True, seed=4)
    assert np.abs(conditional(graph) - matrix).max() < 0.03
    assert np.abs(np.bincount(graph.y) / 4000 - np.array([1, 2, 3]) / 6).max() < 0.03
    assert graph.edge_index.shape[1] / 4000 == pytest.approx(10, rel=0.05)


def test_undirected_graphs_are_symmetric_and_plain():
    graph = csbm(300, mean_degree=8, seed=5)
    source, target = graph.edge_index
    keys = source * 300 + target
    assert (source != target).all() and np.unique(keys).size == keys.size
    assert set(keys) == set(target * 300 + source)
    assert keys.size / 300 == pytest.approx(8, rel=0.1)


def test_degree_laws_differ_in_their_tails():
    degrees = {
        law: np.bincount(csbm(3000, mean_degree=8, degree_law=law, seed=6).edge_index[0], minlength=3000)
        for law in ("poisson", "power-law")
    }
    assert degrees["poisson"].var() == pytest.approx(8, rel=0.25)
    assert degrees["power-law"].max() > 4 * degrees["poisson"].max()


def test_signal_sets_the_classes_apart():
    for signal in (0.0, 3.0):
        graph = csbm(3000, num_classes=3, signal=signal, num_features=20, seed=7)
        x = graph.x.toarray()
        centres = np.stack([x[graph.y == k].mean(axis=0) for k in range(3)])
        assert np.linalg.norm(centres, axis=1) == pytest.approx(np.full(3, signal), abs=0.3)
        assert (x - centres[graph.y]).std() == pytest.approx(1, abs=0.03)


def test_label_noise_changes_labels_only():
    clean, noisy = csbm(2000, seed=8), csbm(2000, label_noise=0.3, seed=8)
    assert np.array_equal(clean.edge_index, noisy.edge_index)
    assert (clean.x != noisy.x).nnz == 0
    assert (clean.y != noisy.y).mean() == pytest.approx(0.3, abs=0.04)
    assert (csbm(500, label_noise=1.0, seed=8).y != csbm(500, seed=8).y).all()


@given(st.integers(0, 2**32 - 1))
def test_the_seed_decides_everything(seed):
    assert csbm(40, seed=seed, num_features=3).fingerprint() == csbm(40, seed=seed, num_features=3).fingerprint()
    assert (
        csbm(40, seed=seed, num_features=3).fingerprint() != csbm(40, seed=seed ^ 1, num_features=3).fingerprint()
    )


def test_catalog_graphs_are_the_fingerprinted_ones_and_what_they_claim():
    for name, make, low, high in (
        ("csbm-homophilic", homophilic, 0.6, 0.8),
        ("csbm-heterophilic", heterophilic, 0, 0.1),
        ("csbm-no-signal", no_signal, 0.15, 0.25),
    ):
        graph = make()
        assert graph.fingerprint() == CATALOG[name].fingerprint
        assert low < np.trace(conditional(graph)) / 5 < high
        assert graph.num_nodes == 1500 and graph.num_classes == 5
    rows = conditional(heterophilic())
    apart = [np.abs(rows[a] - rows[b]).sum() / 2 for a in range(5) for b in range(a)]
    assert min(apart) > 0.3
    assert np.abs(conditional(no_signal()) - 0.2).max() < 0.05


def test_no_class_is_empty():
    assert set(csbm(20, num_classes=10, class_weights=[1e-9] * 9 + [1], seed=1).y) == set(range(10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"compatibility": [[1, 0]]}, "must be square"),
        ({"compatibility": [[1, 0], [0, 0]]}, "no row of zeros"),
        ({"compatibility": [[1, -1], [0, 1]]}, "0 or more"),
        ({"compatibility": [[1, np.nan], [0, 1]]}, "0 or more"),
        ({"num_classes": 1}, "num_classes must be 2 or more, got 1"),
        ({"num_nodes": 9}, r"at least two per class \(10\), got 9"),
        ({"mean_degree": -1}, "mean_degree"),
        ({"degree_law": "normal"}, "poisson or power-law, got 'normal'"),
        ({"num_features": 0}, "num_features"),
        ({"signal": -0.1}, "signal"),
        ({"label_noise": 1.1}, r"label_noise must lie in \[0, 1\], got 1.1"),
        ({"class_weights": [1, 2]}, "5 positive numbers"),
        ({"class_weights": [1, 2, 3, 4, 0]}, "5 positive numbers"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        csbm(**arguments)
