"""Fixtures of the dataset tests: a tiny graph, and a machine with an empty cache and no data root."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from postel.datasets.storage.stored_graph import StoredGraph


@pytest.fixture
def tiny() -> StoredGraph:
    """Twelve nodes in two classes with real-valued features, both kinds of published split and class names."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((12, 5)) < 0.5, 0.0, rng.normal(size=(12, 5))).astype(np.float32)
    edges = rng.integers(0, 12, size=(2, 30))
    part = rng.integers(0, 3, size=(4, 12))
    geom = np.stack([part == k for k in range(3)])
    public = np.stack([np.arange(12) % 4 == k for k in range(3)])[:, None]
    return StoredGraph.checked(x, edges, np.arange(12) % 2, {"geom-gcn": geom, "public": public}, ("cats", "dogs"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data root."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("POSTEL_CACHE", str(folder))
    monkeypatch.delenv("POSTEL_DATA", raising=False)
    return folder


@pytest.fixture
def dead_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Package index and publishers behind a closed port."""
    closed = "http://127.0.0.1:9"
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, closed)
    for name, value in {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": f"{closed}/simple",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
        "PIP_TIMEOUT": "2",
    }.items():
        monkeypatch.setenv(name, value)
