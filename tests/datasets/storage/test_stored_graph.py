from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from postel.datasets.storage.stored_graph import StoredGraph, masks_fingerprint
from postel.errors import InputError

X = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]])
EDGES = np.array([[0, 1, 2], [1, 0, 0]])
Y = np.array([0, 1, 0])


def test_fingerprint_ignores_how_numbers_are_stored():
    name = StoredGraph.checked(X, EDGES, Y).fingerprint()
    stored = sp.csr_array((np.array([0.0, 1.5, 2.0]), np.array([0, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 2))
    assert StoredGraph.checked(stored, EDGES.astype(np.uint16), Y.astype(np.uint8)).fingerprint() == name
    assert StoredGraph.checked(X.astype(np.float32), EDGES.tolist(), Y.tolist()).fingerprint() == name


def test_fingerprint_of_dense_rows_equals_that_of_sparse_ones(tmp_path):
    rng = np.random.default_rng(1)
    x = np.where(rng.random((9000, 3)) < 0.5, 0, rng.normal(size=(9000, 3))).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    y = np.arange(9000) % 2
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert isinstance(StoredGraph.checked(mapped, EDGES, y).x, np.memmap)
    assert StoredGraph.checked(mapped, EDGES, y).fingerprint() == StoredGraph.checked(x, EDGES, y).fingerprint()


@given(st.data())
def test_any_change_changes_the_fingerprint(data):
    name = StoredGraph.checked(X, EDGES, Y).fingerprint()
    x, edges, y = X.copy(), EDGES.copy(), Y.copy()
    array = data.draw(st.sampled_from([x, edges, y]))
    place = data.draw(st.integers(0, array.size - 1))
    array.flat[place] = data.draw(st.integers(0, 2).filter(lambda value: value != array.flat[place]))
    assert StoredGraph.checked(x, edges, y).fingerprint() != name


def test_order_of_entries_and_shape_are_part_of_the_fingerprint():
    name = StoredGraph.checked(X, EDGES, Y).fingerprint()
    assert StoredGraph.checked(X, EDGES[:, ::-1], Y).fingerprint() != name
    assert StoredGraph.checked(np.pad(X, ((0, 0), (0, 1))), EDGES, Y).fingerprint() != name
    assert StoredGraph.checked(X, EDGES[::-1], Y).fingerprint() != name


def test_all_ones_and_the_same_places_with_other_values_differ():
    ones = (X != 0).astype(float)
    assert (
        StoredGraph.checked(ones, EDGES, Y).fingerprint() != StoredGraph.checked(2 * ones, EDGES, Y).fingerprint()
    )


def test_the_row_of_a_feature_is_part_of_the_fingerprint():
    first, second = (
        StoredGraph.checked([rows[0], rows[1], [0, 0]], EDGES, Y) for rows in ([[1, 0], [0, 0]], [[0, 0], [1, 0]])
    )
    assert first.fingerprint() != second.fingerprint()


def test_a_value_in_the_first_block_of_rows_counts_though_the_last_is_all_ones(tmp_path):
    names = []
    for value in (1.0, 2.0, 3.0):
        x = np.ones((5000, 1), dtype=np.float32)
        x[0] = value
        np.save(tmp_path / "x.npy", x)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        names.append(StoredGraph.checked(mapped, EDGES, np.arange(5000) % 2).fingerprint())
    assert len(set(names)) == 3


def test_a_sparse_matrix_of_the_caller_is_left_alone():
    mine = sp.csr_array(
        (np.array([1.0, 0.0], dtype=np.float32), np.array([1, 0]), np.array([0, 2, 2, 2])), shape=(3, 2)
    )
    assert StoredGraph.checked(mine, EDGES, Y).x.nnz == 1
    assert mine.nnz == 2 and mine.indices.tolist() == [1, 0]


def test_masks_fingerprint_sees_every_bit():
    masks = np.zeros((3, 2, 9), dtype=bool)
    name = masks_fingerprint(masks)
    masks[2, 1, 8] = True
    assert masks_fingerprint(masks) != name


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": [0, 1, 0, 1]}, "one row per node"),
        ({"y": [0.5, 1.0, 0.0]}, "y must hold whole numbers"),
        ({"y": [0, -2, 1]}, "or -1 for a node without label, got -2"),
        ({"y": [-1, -1, -1]}, "no node has a label"),
        ({"y": []}, "one class per node"),
        ({"edge_index": [[0, 3], [1, 1]]}, r"nodes 0\.\.2, got 0\.\.3"),
        ({"edge_index": [[0, -1], [1, 1]]}, r"got -1\.\.1"),
        ({"edge_index": [[0, 1, 2]]}, r"shape \[2, E\], got \[1, 3\]"),
        ({"x": np.full((3, 2), np.nan)}, "finite"),
        ({"x": np.zeros((3, 0))}, "at least one feature"),
        ({"splits": {"public": np.ones((3, 1, 3), dtype=bool)}}, "in two of its parts"),
        ({"splits": {"public": np.zeros((2, 1, 3), dtype=bool)}}, "must be boolean"),
        ({"y": [0, -1, 1], "splits": {"public": np.eye(3, dtype=bool)[:, None]}}, "a node without label"),
    ],
)
def test_what_is_wrong_is_said(changed, message):
    with pytest.raises(InputError, match=message):
        StoredGraph.checked(**({"x": X, "edge_index": EDGES, "y": Y} | changed))
