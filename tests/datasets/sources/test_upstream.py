from __future__ import annotations

import os
import pickle
import shutil

import numpy as np
import pytest
import torch
from tests.datasets.sources.test_planetoid import Call
from torch_geometric.datasets import Actor, Planetoid, WebKB

from postel.datasets.catalog import CATALOG
from postel.datasets.sources import upstream
from postel.datasets.storage.graph_file import read_graph_file
from postel.datasets.storage.stored_graph import masks_fingerprint
from postel.errors import InputError


@pytest.fixture
def raw(tmp_path, data_root):
    """A copy of the raw trees that may be written to."""
    for name in ("Cora", "Actor", "texas", "cornell"):
        shutil.copytree(data_root / "raw" / name, tmp_path / name, copy_function=shutil.copyfile)
    for folder in tmp_path.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o755)  # the shared folders may be read-only
    return tmp_path


@pytest.mark.parametrize("name", ["cora", "actor", "texas", "cornell"])
def test_torch_geometric_and_the_graph_file_give_equal_graphs(name, raw, data_root):
    theirs = {
        "cora": lambda: Planetoid(str(raw), "Cora"),
        "actor": lambda: Actor(str(raw / "Actor")),
        "texas": lambda: WebKB(str(raw), "texas"),
        "cornell": lambda: WebKB(str(raw), "cornell"),
    }[name]()[0]
    ours = read_graph_file(data_root / f"{name}.npz", CATALOG[name].fingerprint)
    assert np.array_equal(theirs.x.numpy(), ours.x.toarray())
    assert np.array_equal(theirs.edge_index.numpy(), ours.edge_index)
    assert np.array_equal(theirs.y.numpy(), ours.y)
    masks = np.stack([theirs[f"{part}_mask"].numpy().T for part in ("train", "val", "test")])
    stored = ours.splits["public"][:, 0] if name == "cora" else ours.splits["geom-gcn"]
    assert np.array_equal(masks, stored)
    assert upstream.from_data(theirs).fingerprint() == ours.fingerprint()


@pytest.mark.parametrize("name", ["actor", "texas", "cornell"])
def test_read_tree_gives_the_catalog_s_graph(name, raw):
    graph = upstream.read_tree(name, raw)
    assert graph.fingerprint() == CATALOG[name].fingerprint
    assert masks_fingerprint(graph.splits["geom-gcn"]) == CATALOG[name].splits["geom-gcn"]


def planetoid_tree(raw, data_root):
    """Cora's raw files where the class with geom-gcn splits looks for them, and those splits."""
    folder = raw / "Cora" / "geom-gcn" / "raw"
    shutil.copytree(raw / "Cora" / "raw", folder)
    masks = read_graph_file(data_root / "cora.npz").splits["geom-gcn"]
    for number in range(10):
        parts = {f"{part}_mask": masks[k, number] for k, part in enumerate(("train", "val", "test"))}
        np.savez(folder / f"cora_split_0.6_0.2_{number}.npz", **parts)
    return folder


def test_planetoid_goes_through_our_unpickler(raw, data_root):
    folder = planetoid_tree(raw, data_root)
    graph = upstream.read_tree("cora", raw)
    assert graph.fingerprint() == CATALOG["cora"].fingerprint
    assert {name: masks_fingerprint(masks) for name, masks in graph.splits.items()} == CATALOG["cora"].splits
    shutil.rmtree(folder.parent / "processed")
    (folder / "ind.cora.allx").write_bytes(pickle.dumps(Call(os.mkdir, str(raw / "boom"))))
    with pytest.raises(InputError, match=r"ind\.cora\.allx was not used"):
        upstream.read_tree("cora", raw)
    assert not (raw / "boom").exists()


def heterophilous_tree(root, graph, name):
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    source, target = graph.edge_index
    train, val, test = graph.splits["geom-gcn"]
    np.savez(
        folder / f"{name}.npz",
        node_features=graph.x.toarray(),
        node_labels=graph.y,
        edges=graph.edge_index.T[source < target],
        train_masks=train,
        val_masks=val,
        test_masks=test,
    )


@pytest.mark.parametrize(
    ("name", "published"), [("cornell-corrected", "cornell"), ("squirrel-filtered", "squirrel_filtered")]
)
def test_corrected_and_filtered_graphs_are_read_from_their_published_form(name, published, tmp_path, data_root):
    heterophilous_tree(tmp_path, read_graph_file(data_root / f"{name}.npz"), published)
    graph = upstream.read_tree(name, tmp_path)
    assert graph.fingerprint() == CATALOG[name].fingerprint
    assert masks_fingerprint(graph.splits["geom-gcn"]) == CATALOG[name].splits["geom-gcn"]


@pytest.mark.usefixtures("dead_network")
@pytest.mark.parametrize("name", ["texas", "computers", "squirrel-filtered", "cora"])
def test_a_dead_network_is_one_sentence(name):
    with pytest.raises(InputError, match=f"publisher's server did not give {name} \\(.+\\)"):
        upstream.from_upstream(name)


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(InputError, match="karate has no publisher"):
        upstream.read_tree("karate", tmp_path)


def test_karate_is_zachary_s():
    graph = upstream.karate()
    assert graph.fingerprint() == CATALOG["karate"].fingerprint
    assert torch.from_numpy(graph.y).bincount().tolist() == [13, 12, 4, 5]
