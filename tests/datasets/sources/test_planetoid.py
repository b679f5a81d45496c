from __future__ import annotations

import os
import pickle
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp

from postel.datasets.catalog import CATALOG
from postel.datasets.sources.planetoid import read_arrays_only, read_linqs_cora, read_planetoid
from postel.datasets.storage.stored_graph import masks_fingerprint
from postel.errors import InputError


def tiny_pieces() -> dict[str, bytes]:
    """Seven nodes: two for training, four in allx, test ids 6 and 4; 5 is a gap, as CiteSeer has them."""
    allx = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], dtype=np.float32))
    tx = sp.csr_matrix(np.array([[0, 1, 1], [1, 0, 1]], dtype=np.float32))
    ally = np.array([[0, 1], [1, 0], [0, 1], [1, 0]])
    ty = np.array([[0, 1], [1, 0]])
    graph = defaultdict(list, {0: [1, 1, 6], 1: [0, 0, 1], 6: [0], 4: [2], 2: [4]})
    pieces = {"x": allx[:2], "tx": tx, "allx": allx, "y": ally[:2], "ty": ty, "ally": ally, "graph": graph}
    return {name: pickle.dumps(value, protocol=4) for name, value in pieces.items()} | {"test.index": b"6\n4\n"}


class Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def test_rows_gaps_and_edges_fall_into_place():
    graph = read_planetoid(tiny_pieces().__getitem__, "tiny")
    assert graph.x.toarray().tolist()[4:] == [[1, 0, 1], [0, 0, 0], [0, 1, 1]]
    assert graph.y.tolist() == [1, 0, 1, 0, 0, 0, 1]
    assert graph.edge_index.tolist() == [[1, 6, 0, 4, 2, 0], [0, 0, 1, 2, 4, 6]]
    train, val, test = graph.splits["public"][:, 0]
    assert np.flatnonzero(train).tolist() == [0, 1]
    assert np.flatnonzero(test).tolist() == [4, 6]
    assert not (train & val).any()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("function", [os.mkdir, eval, exec, getattr, np.load])
def test_a_malicious_pickle_runs_nothing(tmp_path, function, protocol):
    target = tmp_path / "boom"
    argument = str(target) if function in (os.mkdir, np.load) else f"__import__('os').mkdir({str(target)!r})"
    bomb = pickle.dumps([np.zeros(2), Call(function, argument)], protocol=protocol)
    with pytest.raises(InputError, match=r"ind\.x was not used: the pickle asks for .*only numpy and scipy"):
        read_arrays_only(bomb, "ind.x")
    assert not target.exists()


def test_a_bomb_that_works_would_have_been_seen(tmp_path):
    pickle.loads(pickle.dumps(Call(os.mkdir, str(tmp_path / "boom"))))
    assert (tmp_path / "boom").exists()


def test_bombs_in_each_file_are_found(tmp_path):
    for name in ("x", "tx", "allx", "y", "ty", "ally", "graph"):
        pieces = tiny_pieces() | {name: pickle.dumps(Call(os.mkdir, str(tmp_path / "boom")))}
        with pytest.raises(InputError, match=rf"ind\.tiny\.{name} was not used"):
            read_planetoid(pieces.__getitem__, "tiny")
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize("protocol", [3, 4])
def test_arrays_and_matrices_of_any_protocol_are_read(protocol):
    matrix = sp.csr_matrix(np.array([[0, 2.5], [1, 0]]))
    assert np.array_equal(read_arrays_only(pickle.dumps(matrix, protocol), "m").toarray(), matrix.toarray())
    array = np.arange(6).reshape(2, 3)
    assert np.array_equal(read_arrays_only(pickle.dumps(array, protocol), "a"), array)


def test_a_matrix_whose_indices_lie_outside_is_refused():
    matrix = sp.csr_matrix(np.array([[0, 2.5], [1, 0]]))
    matrix.indices[0] = 7
    with pytest.raises(InputError, match="cut short or altered"):
        read_arrays_only(pickle.dumps(matrix, 4), "ind.x")


@pytest.mark.parametrize("name", ["x", "allx", "ally", "graph"])
def test_cut_pickles_are_refused(name):
    pieces = tiny_pieces()
    for length in range(0, len(pieces[name]) - 1, 11):
        with pytest.raises(InputError):
            read_planetoid((pieces | {name: pieces[name][:length]}).__getitem__, "tiny")


@pytest.mark.parametrize(
    "changed",
    [
        {"test.index": b"6\n"},
        {"test.index": b"6\n3\n"},
        {"test.index": b"six\n4\n"},
        {"graph": pickle.dumps({0: [7]})},
        {"graph": pickle.dumps([1])},
        {"tx": pickle.dumps(np.zeros((2, 9)))},
    ],
)
def test_pieces_that_do_not_fit_are_refused(changed):
    with pytest.raises(InputError):
        read_planetoid((tiny_pieces() | changed).__getitem__, "tiny")


def test_cora_from_its_raw_files_is_the_catalog_s(data_root):
    raw = data_root / "raw" / "Cora" / "raw"
    graph = read_planetoid(lambda part: (raw / f"ind.cora.{part}").read_bytes(), "cora")
    assert graph.fingerprint() == CATALOG["cora"].fingerprint
    assert masks_fingerprint(graph.splits["public"]) == CATALOG["cora"].splits["public"]


def test_linqs_cora_is_read():
    content = b"p1\t1\t0\tTheory\np2\t0\t1\tRule_Learning\np3\t0\t0\tTheory\n"
    graph = read_linqs_cora(content, b"p1\tp2\np2\tp1\np3\tp3\np3\tp1\n")
    assert graph.y.tolist() == [0, 6, 0]
    assert graph.edge_index.tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]
    with pytest.raises(InputError, match="do not fit together"):
        read_linqs_cora(content, b"p1\tp9\n")
