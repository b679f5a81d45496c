"""The files of the heterophilous-graphs collection, against torch_geometric's own reading of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_geometric.datasets import HeterophilousGraphDataset

from postel.datasets import convert_collection, load_dataset
from postel.errors import InputError

NODES = 40


@pytest.fixture
def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    parts = np.stack([rng.permutation(np.arange(NODES) % 3) for _ in range(10)])
    return {
        "node_features": rng.standard_normal((NODES, 5)).astype(np.float32),
        "node_labels": np.arange(NODES) % 4,
        "edges": rng.integers(NODES, size=(70, 2)),
        **{f"{part}_masks": parts == k for k, part in enumerate(("train", "val", "test"))},
    }


def test_all_is_as_torch_geometric_reads_it(tmp_path: Path, arrays: dict[str, Any]) -> None:
    raw = tmp_path / "pyg" / "minesweeper" / "raw" / "minesweeper.npz"
    raw.parent.mkdir(parents=True)
    np.savez_compressed(raw, **arrays)
    expected = HeterophilousGraphDataset(str(tmp_path / "pyg"), "minesweeper")[0]
    graph = convert_collection(raw, tmp_path / "g.npz")
    assert graph.edge_index.tolist() == expected.edge_index.tolist()
    for number in range(10):
        data = load_dataset(tmp_path / "g.npz", number, "public")
        assert data.y.equal(expected.y) and data.x.equal(expected.x)
        for part in ("train_mask", "val_mask", "test_mask"):
            assert data[part].equal(expected[part][:, number])


def test_links_may_stay_one_way(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "c.npz", **arrays)
    graph = convert_collection(tmp_path / "c.npz", tmp_path / "g.npz", directed=True)
    assert graph.edge_index.tolist() == arrays["edges"].T.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": None}, "is no file of the heterophilous-graphs collection"),
        ({"val_masks": None}, "all or none of train_masks"),
        ({"edges": np.array([[0, NODES]])}, r"must name nodes 0\.\.39"),
        ({"edges": np.zeros((2, 70), dtype=int)}, r"edges must hold node ids \[E, 2\]"),
        ({"edges": np.zeros((70, 2))}, r"edges must hold node ids"),
        ({"node_features": np.full((NODES, 2), np.nan)}, "finite"),
        ({"node_features": np.zeros(NODES)}, "node_features must hold numbers"),
        ({"node_labels": np.full(NODES, 0.5)}, "y must hold whole numbers"),
        ({"node_labels": np.arange(NODES) + 2**31}, "classes are numbered from 0"),
        ({"test_masks": np.ones((10, NODES), dtype=bool)}, "a node is in two of its parts"),
        ({"test_masks": np.zeros((9, NODES), dtype=bool)}, "as many splits each"),
        ({"test_masks": np.full((10, NODES), 2)}, "must hold true or false"),
        ({"test_masks": np.zeros((10, NODES + 1), dtype=bool)}, "must hold true or false"),
    ],
)
def test_what_does_not_fit_is_told(
    tmp_path: Path, arrays: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    made = {name: value for name, value in (arrays | changes).items() if value is not None}
    np.savez_compressed(tmp_path / "c.npz", **made)
    with pytest.raises(InputError, match=message):
        convert_collection(tmp_path / "c.npz", tmp_path / "g.npz")
    assert not (tmp_path / "g.npz").exists()
