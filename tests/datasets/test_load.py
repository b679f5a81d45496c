from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import torch
from torch_geometric.utils import contains_self_loops, is_undirected

from postel.datasets import DatasetWarning, load, load_dataset
from postel.datasets.catalog import CATALOG, PAPER_DATASETS
from postel.datasets.storage.graph_file import write_graph_file
from postel.datasets.storage.stored_graph import StoredGraph
from postel.errors import InputError

ENTRIES = {"chameleon": 62792, "squirrel": 396846, "actor": 30019, "texas": 574, "cornell": 557, "cora": 10556}
SOUND = {
    "chameleon": 2 * 31371,
    "squirrel": 2 * 198353,
    "actor": 2 * 26659,
    "texas": 558,
    "cornell": 554,
    "cora": 10556,
}


@pytest.fixture
def fresh_warnings(monkeypatch):
    monkeypatch.setattr(load, "_warned", set())


def test_the_promised_fields_are_there(data_root):
    data = load_dataset("cora", 3, "stratified", data_root=data_root)
    assert data.x.dtype == torch.float32 and data.x.shape == (2708, 1433) and data.x.layout == torch.strided
    assert data.edge_index.dtype == torch.int64 and data.y.dtype == torch.int64
    for part in ("train", "val", "test"):
        assert data[f"{part}_mask"].dtype == torch.bool and data[f"{part}_mask"].shape == (2708,)
    assert (data.name, data.protocol, data.split, data.recipe) == ("cora", "stratified", 3, "paper")
    assert (data.fingerprint, data.num_classes) == (CATALOG["cora"].fingerprint, 7)
    data.validate()


@pytest.mark.filterwarnings("ignore::postel.datasets.DatasetWarning")
@pytest.mark.parametrize("name", ENTRIES)
def test_recipes_give_the_known_entries(name, data_root):
    paper = load_dataset(name, None, data_root=data_root)
    sound = load_dataset(name, None, data_root=data_root, recipe="sound")
    assert paper.edge_index.size(1) == ENTRIES[name] and sound.edge_index.size(1) == SOUND[name]
    assert is_undirected(paper.edge_index) == (name != "actor") and is_undirected(sound.edge_index)
    assert not contains_self_loops(sound.edge_index) and contains_self_loops(paper.edge_index) == (name != "cora")
    assert "train_mask" not in paper
    assert paper.fingerprint == sound.fingerprint


def test_a_sound_graph_is_taken_as_it_is(data_root):
    paper, sound = (load_dataset("cora", data_root=data_root, recipe=recipe) for recipe in ("paper", "sound"))
    assert torch.equal(paper.edge_index, sound.edge_index)


def test_rows_are_normalized_unless_asked_otherwise(data_root):
    data, plain = (load_dataset("texas", data_root=data_root, normalize=value) for value in (None, False))
    assert data.x.sum(dim=1).sub(1).abs().max() < 1e-5
    assert set(plain.x.unique().tolist()) == {0.0, 1.0}
    assert torch.allclose(data.x, plain.x / plain.x.sum(dim=1, keepdim=True))
    karate, scaled = load_dataset("karate"), load_dataset("csbm-homophilic", normalize=True)
    assert torch.equal(karate.x, torch.eye(34))
    assert scaled.x.min() >= 0


def test_computers_loads_within_a_second(data_root):
    seconds = []
    for _ in range(3):  # the best of three: other work on the machine is no fault of ours
        start = time.perf_counter()
        data = load_dataset("computers", data_root=data_root)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1
    assert data.num_nodes == 13752


@pytest.mark.usefixtures("fresh_warnings")
def test_each_warning_comes_once(data_root):
    for name in PAPER_DATASETS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load_dataset(name, data_root=data_root)
            load_dataset(name, 1, data_root=data_root)
        said = [str(item.message) for item in caught if item.category is DatasetWarning]
        assert said == ([CATALOG[name].warning] if name in ("chameleon", "squirrel", "cornell") else [])
        assert all(item.filename == __file__ for item in caught if item.category is DatasetWarning)


@pytest.mark.filterwarnings("ignore::postel.datasets.DatasetWarning")
def test_published_splits_are_the_files_own(data_root):
    texas = load_dataset("texas", 2, "geom-gcn", data_root=data_root)
    with np.load(data_root / "raw" / "texas" / "raw" / "texas_split_0.6_0.2_2.npz") as published:
        for part in ("train", "val", "test"):
            assert np.array_equal(texas[f"{part}_mask"].numpy(), published[f"{part}_mask"].astype(bool))
    cora = load_dataset("cora", 0, "public", data_root=data_root)
    assert [int(cora[f"{part}_mask"].sum()) for part in ("train", "val", "test")] == [140, 500, 1000]
    assert cora.y[cora.train_mask].bincount().tolist() == [20] * 7
    with pytest.raises(InputError, match="carries no geom-gcn split"):
        load_dataset("photo", protocol="geom-gcn", data_root=data_root)
    with pytest.raises(InputError, match="carries no public split"):
        load_dataset("texas", protocol="public", data_root=data_root)


def test_a_path_goes_where_a_name_goes(tmp_path, tiny):
    path = tmp_path / "mine.npz"
    write_graph_file(path, tiny)
    for given in (path, str(path)):
        data = load_dataset(given, 0, "public")
        assert data.name == "mine" and data.fingerprint == tiny.fingerprint()
        assert torch.equal(data.edge_index, torch.from_numpy(tiny.edge_index))
        assert torch.equal(data.x, torch.from_numpy(tiny.x.toarray()))
        assert data.class_names == ["cats", "dogs"]
    assert torch.equal(load_dataset(tiny, 0, "public").val_mask, data.val_mask)


def test_two_loads_share_nothing(tiny):
    first = load_dataset("karate")
    first.y.zero_()
    first.edge_index.zero_()
    assert load_dataset("karate").y.max() == 3
    assert load_dataset("karate").edge_index.max() == 33


def test_the_same_request_gives_the_same_bytes(data_root):
    for name in ("csbm-heterophilic", "texas"):
        first, second = (load_dataset(name, 5, data_root=data_root) for _ in range(2))
        for key in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
            assert torch.equal(first[key], second[key])


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name_or_path": "coar"}, "there is no dataset 'coar'; did you mean cora"),
        ({"name_or_path": "zzz"}, "there are cora, citeseer"),
        (
            {"name_or_path": "nowhere/graph.npz"},
            "does not exist; give the path of a graph file or a dataset's name",
        ),
        ({"name_or_path": "karate", "protocol": "random"}, "protocol must be one of"),
        ({"name_or_path": "karate", "recipe": "best"}, "recipe must be paper or sound, got 'best'"),
        ({"name_or_path": "karate", "split": 10}, r"splits 0\.\.9, got 10"),
        ({"name_or_path": "texas", "network": False}, "texas could not be had"),
    ],
)
def test_bad_requests_are_answered(arguments, message):
    with pytest.raises(InputError, match=message):
        load_dataset(**arguments)


def test_a_graph_of_the_user_s_may_have_unlabelled_nodes(tiny):
    y = tiny.y.copy()
    y[:2] = -1
    data = load_dataset(StoredGraph.checked(tiny.x, tiny.edge_index, y))
    assert not data.train_mask[:2].any() and not data.test_mask[:2].any()
    assert data.num_classes == 2
