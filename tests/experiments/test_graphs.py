"""A study reads, checks and prepares a graph once; what comes out is what fresh readings give, to the bit."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from postel.datasets import CATALOG, StoredGraph, load_dataset, write_graph_file
from postel.datasets.load import local_file
from postel.datasets.storage import graph_file
from postel.experiments import graphs
from postel.experiments.graphs import graph_of, study_graph
from postel.experiments.running.execute import classifier_of, execute
from postel.experiments.spec import MethodSpec, RunSpec


@pytest.fixture(autouse=True)
def forget():
    for cache in (graphs._stored, graphs._study_graph):
        cache.cache_clear()


@pytest.fixture
def reads(monkeypatch):
    """The paths that were opened, one entry a reading."""
    opened = []
    read = graph_file.read_npz

    def reading(path, check_names):
        opened.append(path)
        return read(path, check_names)

    monkeypatch.setattr(graph_file, "read_npz", reading)
    return opened


def _own_graph(seed: int = 0) -> StoredGraph:
    random = np.random.default_rng(seed)
    y = np.arange(60) % 3
    x = (random.random((60, 12)) < 0.3) * random.random((60, 12))
    pairs = random.integers(0, 60, (2, 200))
    return StoredGraph.checked(x, np.concatenate([pairs, pairs[::-1]], axis=1), y)


def _spec(dataset: str, fingerprint: str, **changes) -> RunSpec:
    settings = {"max_epochs": 15, "method": MethodSpec(name="postel"), "pseudo_labels": 1, **changes}
    return RunSpec(dataset=dataset, fingerprint=fingerprint, **settings)


def test_many_splits_and_methods_read_the_file_once(tmp_path, reads, monkeypatch):
    path = tmp_path / "own.npz"
    write_graph_file(path, _own_graph())
    hashed = []
    digest = StoredGraph._fingerprint.func
    monkeypatch.setattr(StoredGraph._fingerprint, "func", lambda graph: hashed.append(1) or digest(graph))
    fingerprint = graph_of(str(path)).fingerprint()
    for split in (0, 1):
        for method in ("one_hot", "postel"):
            execute(_spec(str(path), fingerprint, split=split, method=MethodSpec(name=method)))
    assert len(reads) == 1 and len(hashed) == 1
    execute(_spec(str(path), fingerprint, recipe="sound"))
    assert len(reads) == 1


def test_a_file_that_changed_is_read_again(tmp_path, reads):
    path = tmp_path / "own.npz"
    write_graph_file(path, _own_graph())
    first = study_graph(str(path))
    assert study_graph(str(path)) is first
    write_graph_file(path, _own_graph(seed=1))
    os.utime(path, ns=(1, 1))  # a clock too coarse to tell the two apart must not matter
    assert study_graph(str(path)).read.fingerprint == _own_graph(seed=1).fingerprint() != first.read.fingerprint
    assert len(reads) == 2


def test_few_graphs_are_kept(tmp_path):
    for seed in range(5):
        path = tmp_path / f"{seed}.npz"
        write_graph_file(path, _own_graph(seed))
        study_graph(str(path))
    assert graphs._study_graph.cache_info().currsize == graphs._stored.cache_info().currsize == 2


def test_a_name_means_the_file_that_is_found(data_root, tmp_path, monkeypatch, reads):
    assert local_file("texas", data_root=data_root) == data_root / "texas.npz"
    assert local_file("karate", data_root=data_root) is None
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path))
    (tmp_path / "empty").mkdir()
    (tmp_path / "texas.npz").write_bytes((data_root / "texas.npz").read_bytes())
    assert local_file("texas", data_root=tmp_path / "empty") == tmp_path / "texas.npz"
    for _ in range(2):
        study_graph("texas", str(data_root))
    assert reads == [data_root / "texas.npz"]


@pytest.mark.parametrize("dataset", ["karate", "csbm-heterophilic", "own"])
@pytest.mark.parametrize("recipe", ["paper", "sound"])
def test_shared_graphs_change_no_bit_of_a_row(dataset, recipe, tmp_path):
    if dataset == "own":
        dataset = str(tmp_path / "own.npz")
        write_graph_file(dataset, _own_graph())
    for split in (0, 3):
        data = load_dataset(dataset, split, recipe=recipe)
        for backbone, method in (("gcn", "postel"), ("chebnet", "sals"), ("gcn", "distillation")):
            spec = _spec(
                dataset, data.fingerprint, split=split, recipe=recipe, backbone=backbone, method={"name": method}
            )
            fresh = classifier_of(spec).fit(data)
            row = execute(spec)
            assert replace(row.result, seconds=0) == replace(fresh.result_, seconds=0)
            assert [entry.curves for entry in row.rounds] == [entry.curves.as_dict() for entry in fresh.history_]


def test_features_and_edges_are_those_of_load_dataset_to_the_bit(data_root):
    names = [name for name in CATALOG if (data_root / f"{name}.npz").exists()]
    assert len(names) >= 5
    for name in names:
        data, kept = load_dataset(name, 0, data_root=data_root), study_graph(name, str(data_root)).split(0)
        assert torch.equal(kept.x, data.x) and torch.equal(kept.edge_index, data.edge_index)
        assert torch.equal(kept.train_mask, data.train_mask) and torch.equal(kept.y, data.y)
