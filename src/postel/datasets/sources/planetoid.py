"""Planetoid's ``ind.*`` files and LINQS Cora, read without letting a pickle run anything.

Planetoid publishes pickles. They are read by an unpickler that knows arrays, sparse matrices and plain containers
and refuses every other name before it is looked up.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from postel.datasets.storage.stored_graph import Bools, StoredGraph
from postel.errors import InputError

PIECES = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")

# In the order of Planetoid's class numbers, so that both copies of Cora number their classes alike.
_LINQS_CLASSES = (
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
)
_NUM_VALIDATION = 500


class _Matrix:
    """What a pickled csr_matrix is read into: its fields and no method."""

    data: Any
    indices: Any
    indptr: Any
    _shape: Any


def _plain_dict(_factory: object = None) -> dict[Any, Any]:
    return {}


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("scipy.sparse._csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): _plain_dict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
} | {
    # numpy's own rebuilding function, under the names it has had.
    (f"numpy.{package}.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0]
    for package in ("core", "_core")
}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise InputError(f"the pickle asks for {module}.{name}; only numpy and scipy arrays are read")
        return _ALLOWED[module, name]


def read_arrays_only(content: bytes, what: str) -> Any:
    """Read a pickle that holds arrays, sparse matrices and plain containers, and nothing else.

    Args:
        content: The pickle.
        what: What it is called, for errors.

    Returns:
        The array, sparse matrix (as ``csr_array``) or dictionary.

    Raises:
        InputError: If it is damaged or asks for anything else.

    Example:
        >>> read_arrays_only(pickle.dumps({0: [1, 2]}), "ind.tiny.graph")
        {0: [1, 2]}
        >>> read_arrays_only(pickle.dumps(print), "ind.tiny.graph")
        Traceback (most recent call last):
            ...
        postel.errors.InputError: ind.tiny.graph was not used: the pickle asks for builtins.print; only numpy ...
    """
    try:
        value = _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
        if isinstance(value, _Matrix):
            matrix = sp.csr_array((value.data, value.indices, value.indptr), shape=tuple(value._shape))
            matrix.check_format(full_check=True)
            return matrix
    except InputError as error:
        raise InputError(f"{what} was not used: {error}") from error
    except Exception as error:
        # A damaged pickle can fail in as many ways as there are opcodes.
        raise InputError(f"{what} is cut short or altered, and was not used ({error})") from error
    return value


def read_planetoid(piece: Callable[[str], bytes], name: str) -> StoredGraph:
    """Read a graph of Planetoid, with its public split.

    Entries come in the order of torch_geometric's loader: by target, then by source, without self-loops and
    repetitions. Nodes that lie in a gap of the test ids (CiteSeer has 15) get no feature and class 0, as there.

    Args:
        piece: A function from the name of a file's last part, as ``"allx"``, to its bytes.
        name: What Planetoid calls the graph.

    Returns:
        The graph.

    Raises:
        InputError: If a file is damaged, or the files do not fit together.
    """
    raw = {part: piece(part) for part in PIECES}
    try:
        test = np.array(raw.pop("test.index").split(), dtype=np.int64)
    except ValueError as error:
        raise InputError(f"ind.{name}.test.index is altered, and was not used ({error})") from error
    parts = {part: read_arrays_only(content, f"ind.{name}.{part}") for part, content in raw.items()}
    try:
        num_nodes = int(test.max()) + 1
        x, y = _join(parts["allx"], parts["tx"], test), _join(parts["ally"], parts["ty"], test)
        labels = y.toarray().argmax(axis=1).astype(np.int64)
        edges = _edges(parts["graph"], num_nodes)
        split = _public_split(int(parts["y"].shape[0]), test, num_nodes)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"the ind.{name} files do not fit together, and were not used ({error!r})") from error
    return StoredGraph.checked(x, edges, labels, {"public": split})


def read_linqs_cora(content: bytes, cites: bytes) -> StoredGraph:
    """Read Cora from its LINQS files: the graph of Planetoid's files in another node order.

    Args:
        content: The file ``cora.content``.
        cites: The file ``cora.cites``.

    Returns:
        The graph.

    Raises:
        InputError: If the files do not fit together.
    """
    rows = [line.split("\t") for line in content.decode().splitlines()]
    try:
        number = {row[0]: position for position, row in enumerate(rows)}
        x = np.array([row[1:-1] for row in rows], dtype=np.float32)
        y = np.array([_LINQS_CLASSES.index(row[-1]) for row in rows], dtype=np.int64)
        pairs = np.array([[number[end] for end in line.split()] for line in cites.decode().splitlines()]).T
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(f"the LINQS files of Cora do not fit together, and were not used ({error!r})") from error
    return StoredGraph.checked(x, _tidy(np.concatenate([pairs, pairs[::-1]], axis=1), len(rows)), y)


def _join(first: Any, test_rows: Any, test: NDArray[np.int64]) -> Any:
    # Row i of the test files belongs to the i-th test id of the (shuffled) list; ids in between stay empty.
    low = first.shape[0]
    if int(test.min()) != low or test.size != test_rows.shape[0]:
        raise ValueError(f"{test.size} test ids from {int(test.min())} for {test_rows.shape[0]} rows after {low}")
    place = sp.csr_array(
        (np.ones(test.size), (test - low, np.arange(test.size))), shape=(int(test.max()) + 1 - low, test.size)
    )
    return sp.csr_array(sp.vstack([sp.csr_array(first), place @ sp.csr_array(test_rows)]))


def _edges(graph: dict[int, list[int]], num_nodes: int) -> NDArray[np.int64]:
    sources = np.repeat(np.fromiter(graph, np.int64, len(graph)), [len(ends) for ends in graph.values()])
    targets = np.array([end for ends in graph.values() for end in ends], dtype=np.int64)
    return _tidy(np.stack([sources, targets]), num_nodes)


def _tidy(edges: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    edges = edges[:, edges[0] != edges[1]]
    if edges.size and (edges.min() < 0 or edges.max() >= num_nodes):
        raise ValueError("an edge names a node that is not there")
    target, source = np.divmod(np.unique(edges[1] * num_nodes + edges[0]), num_nodes)
    return np.stack([source, target])


def _public_split(num_train: int, test: NDArray[np.int64], num_nodes: int) -> Bools:
    masks = np.zeros((3, 1, num_nodes), dtype=np.bool_)
    masks[0, 0, :num_train] = True
    masks[1, 0, num_train : min(num_train + _NUM_VALIDATION, int(test.min()))] = True
    masks[2, 0, test] = True
    return masks
