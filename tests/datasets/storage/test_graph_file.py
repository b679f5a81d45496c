from __future__ import annotations

import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from postel.datasets.storage.graph_file import read_graph_file, write_graph_file
from postel.errors import InputError


class Bomb:
    """Unpickling it makes a file, which a test can look for."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture
def path(tmp_path, tiny):
    write_graph_file(tmp_path / "tiny.npz", tiny)
    return tmp_path / "tiny.npz"


def rewritten(path, **changes):
    """The file's arrays written anew, some replaced; None drops one."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files} | changes
    np.savez_compressed(path, **{name: value for name, value in arrays.items() if value is not None})


def test_what_was_written_is_read(path, tiny):
    back = read_graph_file(path)
    assert back.fingerprint() == tiny.fingerprint()
    assert (back.x != tiny.x).nnz == 0 and back.x.dtype == np.float32
    assert np.array_equal(back.edge_index, tiny.edge_index) and back.edge_index.dtype == np.int64
    assert np.array_equal(back.y, tiny.y) and back.y.dtype == np.int64
    assert back.class_names == tiny.class_names
    assert back.splits.keys() == tiny.splits.keys()
    assert all(np.array_equal(back.splits[name], tiny.splits[name]) for name in tiny.splits)


def test_unlabelled_nodes_and_binary_features_survive(tmp_path, tiny):
    from postel.datasets.storage.stored_graph import StoredGraph

    y = tiny.y.copy()
    y[0] = -1
    graph = StoredGraph.checked((tiny.x != 0).astype(np.float32), tiny.edge_index, y)
    write_graph_file(tmp_path / "g.npz", graph)
    with np.load(tmp_path / "g.npz") as archive:
        assert "x_data" not in archive.files
    assert read_graph_file(tmp_path / "g.npz").fingerprint() == graph.fingerprint()
    assert read_graph_file(tmp_path / "g.npz").y[0] == -1


def test_the_same_graph_makes_the_same_bytes(path, tiny):
    again = path.with_name("again.npz")
    write_graph_file(again, tiny)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_refused(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(InputError, match="cut short"):
        read_graph_file(path)


def test_a_flipped_byte_is_refused_or_harmless(path, tiny):
    content = path.read_bytes()
    refused = 0
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :])
        try:
            back = read_graph_file(path)
        except InputError:
            refused += 1
        else:
            # Zip archives hold bytes without meaning (times, versions): the graph must then be the right one.
            assert back.fingerprint() == tiny.fingerprint()
    assert refused > 0.6 * len(range(0, len(content), 7))


def test_altered_numbers_are_refused_though_the_archive_is_whole(path, tiny):
    edges = tiny.edge_index.copy()
    edges[0, 0] = (edges[0, 0] + 1) % 12
    rewritten(path, edge_index=edges)
    with pytest.raises(InputError, match=r"was altered or is another graph.*expected " + tiny.fingerprint()):
        read_graph_file(path)


def test_the_expected_fingerprint_overrules_the_one_inside(path, tiny):
    assert read_graph_file(path, expected=tiny.fingerprint()).num_nodes == 12
    with pytest.raises(InputError, match="expected 0123"):
        read_graph_file(path, expected="0123")


def test_a_pickle_inside_is_not_loaded(path, tmp_path):
    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb(tmp_path / "boom")
    rewritten(path, y=bomb)
    with pytest.raises(InputError, match="holds a pickle"):
        read_graph_file(path)
    assert not (tmp_path / "boom").exists()


def test_a_pickle_under_the_name_of_a_graph_file_is_not_loaded(tmp_path):
    path = tmp_path / "evil.npz"
    path.write_bytes(pickle.dumps(Bomb(tmp_path / "boom")))
    with pytest.raises(InputError, match=r"evil\.npz is cut short or no graph file"):
        read_graph_file(path)
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "lacks y"),
        ({"x_indptr": None, "x_shape": None}, "lacks x_indptr, x_shape"),
        ({"labels": np.zeros(3)}, "has labels, which the format does not know"),
        ({"public_val_idx": None}, "needs all or none of public_train_idx"),
        ({"x_shape": np.array([12, 5, 1])}, "x_shape must hold two numbers"),
        ({"x_shape": np.array([12, 3])}, "no CSR matrix"),
        ({"x_indices": np.zeros(3)}, "x_indices must be a vector of whole numbers"),
        ({"x_data": np.zeros(3)}, "x_data must hold a number for each"),
        ({"x_indptr": np.zeros(13, dtype=int)[::-1] + 5}, "no CSR matrix"),
        ({"geomgcn_val_mask": np.zeros((4, 1), dtype=np.uint8)}, "must hold 2 packed bytes per split"),
        ({"public_test_idx": np.array([12])}, r"public_test_idx must name nodes 0\.\.11"),
        ({"public_test_idx": np.array([0.5])}, "vector of node ids"),
        ({"edge_index": np.array([[0, 12], [1, 1]])}, r"nodes 0\.\.11"),
    ],
)
def test_wrong_arrays_are_named(path, changes, message):
    rewritten(path, **changes)
    with pytest.raises(InputError, match=message) as caught:
        read_graph_file(path)
    assert str(path) in str(caught.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_graph_file(tmp_path / "none.npz")
    with pytest.raises(InputError, match="is a folder"):
        read_graph_file(tmp_path)
    np.save(tmp_path / "plain.npy", np.arange(3))
    with pytest.raises(InputError, match="no graph file"):
        read_graph_file(tmp_path / "plain.npy")
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match="lacks x_indptr"):
        read_graph_file(tmp_path / "text.npz")


def test_a_failed_writing_leaves_the_old_file_and_nothing_else(path, tiny, monkeypatch):
    before = path.read_bytes()

    def broken(stream: io.BufferedWriter, **_arrays: object) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", broken)
    with pytest.raises(KeyboardInterrupt):
        write_graph_file(path, tiny)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_place_that_cannot_be_written_is_named(tmp_path, tiny):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_graph_file(tmp_path / "file" / "g.npz", tiny)


def with_header(path, name, shape, dtype="<i8", **others):
    """The file with one array whose header asks for more than there is."""
    rewritten(path, **others)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    members[f"{name}.npy"] = stream.getvalue() + b"\0" * 64
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)


@pytest.fixture
def little_memory():
    """No room for what these files ask for: whoever allocates before looking gets a MemoryError."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()  # noqa: PTH123, SIM115
    resource.setrlimit(resource.RLIMIT_AS, (taken + (300 << 20), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x_shape": np.array([12, 2**31 - 1])}, "columns for .* numbers"),
        ({"x_shape": np.array([2**31 - 1, 5])}, "does not fit 13 entries of x_indptr"),
        ({"x_shape": np.array([12, 2**62])}, "does not fit"),
        ({"x_shape": np.array([-1, 5])}, "does not fit"),
        ({"y": np.array([0] * 11 + [2**31 - 2])}, "the label 2147483646 has no name"),
        ({"y": np.array([0] * 11 + [2**31 - 2]), "class_names": None}, "has 1000 at most, got the label 21474836"),
        ({"class_names": np.array(["a", "b", "a"])}, "the same name twice"),
        ({"edge_index": np.zeros((2, 12_000_000), dtype=np.uint8)}, "more than 200 times the memory"),
        ({"class_names": np.zeros(1, dtype="<U5000000")}, "more than 200 times the memory"),
    ],
)
def test_no_file_takes_more_memory_than_it_can_stand_for(path, changes, message):
    rewritten(path, **changes)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match=message):
        read_graph_file(path)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("shape", "dtype"), [((4_000_000_000,), "<i8"), ((2**62, 2**62), "<f8"), ((1,), "<U99999999")]
)
def test_a_header_that_asks_for_more_than_there_is_gets_nothing(path, shape, dtype):
    with_header(path, "y", shape, dtype)
    with pytest.raises(InputError, match=r"y says it has .* entries, but there are 64 bytes"):
        read_graph_file(path)


@pytest.mark.usefixtures("little_memory")
def test_features_that_are_sparse_stay_so_where_dense_ones_would_fill_the_memory(tmp_path):
    from postel.datasets import load_dataset
    from postel.datasets.load import read_dataset
    from postel.datasets.storage.stored_graph import StoredGraph

    nodes = 60_000
    x = sp.csr_array((np.ones(2, np.float32), ([0, 1], [0, 1])), shape=(nodes, 60_000))
    write_graph_file(tmp_path / "g.npz", StoredGraph.checked(x, [[0], [1]], np.arange(nodes) % 2))
    assert read_dataset(tmp_path / "g.npz").x.shape == (nodes, 60_000)
    with pytest.raises(InputError, match="would take 13 GB as a dense tensor"):
        load_dataset(tmp_path / "g.npz", None)
