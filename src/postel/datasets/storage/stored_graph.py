"""A graph as it is kept on disk, before any recipe or split, and the fingerprint that names its content."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from postel.checks import MAX_CLASSES
from postel.errors import InputError

PARTS = ("train", "val", "test")
UNLABELLED = -1

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Dense features are hashed this many rows at a time, so that a memory-mapped graph is never read whole.
_ROWS_AT_A_TIME = 4096
_ENTRIES_AT_A_TIME = 1 << 16

# A small graph may be a part of one with more classes than it has nodes itself; beyond so many it is a slip.
_CLASSES_OF_ANY_GRAPH = 1000
# Features that no node has are sane up to so many, and so many for each one that a node has.
_UNUSED_FEATURES = 100_000
_UNUSED_FEATURES_EACH = 100
_LONGEST_NAME = 1000


@dataclass(frozen=True, eq=False)
class StoredGraph:
    """A graph as it is kept on disk, with the splits that came with it; :meth:`checked` builds a valid one.

    Args:
        x: Features, float32 [N, F]: a ``csr_array`` or a (memory-mapped) dense array.
        edge_index: The edge entries, int64 [2, E].
        y: The class of each node, int64 [N]; -1 for a node without label.
        splits: ``"geom-gcn"`` or ``"public"`` to booleans [3, S, N]: training, validation and test nodes of S
            splits.
        class_names: Names of the classes, or nothing.
        feature_names: Names of the features, or nothing.
        edge_weight: The weight of each edge entry, float32 [E], or None.

    Example:
        >>> graph = StoredGraph.checked(np.eye(4), [[0, 1], [1, 0]], [0, 1, 1, 0])
        >>> graph.num_nodes, graph.num_features, graph.num_classes, graph.fingerprint()[:8]
        (4, 4, 2, '3240e422')
    """

    x: Any
    edge_index: Ints
    y: Ints
    splits: Mapping[str, Bools] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    edge_weight: NDArray[np.float32] | None = None

    @classmethod
    def checked(
        cls,
        x: Any,
        edge_index: Any,
        y: Any,
        splits: Mapping[str, Bools] | None = None,
        class_names: tuple[str, ...] = (),
        feature_names: tuple[str, ...] = (),
        edge_weight: Any = None,
    ) -> StoredGraph:
        """Bring a graph into canonical form (sorted sparse features without explicit zeros).

        Args:
            x: Features [N, F].
            edge_index: The edge entries [2, E].
            y: The class of each node [N]; -1 for a node without label.
            splits: Booleans [3, S, N] by name.
            class_names: Names of the classes.
            feature_names: Names of the features.
            edge_weight: The weight of each edge entry [E], or None.

        Returns:
            The graph.

        Raises:
            InputError: If a shape, type or value is wrong.
        """
        y = _whole_numbers(y, "y")
        if y.ndim != 1 or y.size == 0:
            raise InputError(f"y must hold one class per node, got an array of shape {list(y.shape)}")
        if int(y.min()) < UNLABELLED:
            raise InputError(f"labels must be 0 or more, or -1 for a node without label, got {int(y.min())}")
        if int(y.max()) < 0:
            raise InputError("no node has a label: every entry of y is -1")
        _check_classes(int(y.max()) + 1, y.size, class_names)
        edges = _whole_numbers(edge_index, "edge_index")
        if edges.ndim != 2 or edges.shape[0] != 2:
            raise InputError(f"edge_index must have shape [2, E], got {list(edges.shape)}")
        if edges.size and (int(edges.min()) < 0 or int(edges.max()) >= y.size):
            raise InputError(
                f"edge_index must name nodes 0..{y.size - 1}, got {int(edges.min())}..{int(edges.max())}"
            )
        features = _canonical(x)
        if features.shape[0] != y.size:
            raise InputError(f"x must have one row per node ({y.size}), got {features.shape[0]} rows")
        if feature_names and len(feature_names) != features.shape[1]:
            raise InputError(
                f"feature_names must have one for each of {features.shape[1]}, got {len(feature_names)}"
            )
        for name in (*class_names, *feature_names):
            if len(name) > _LONGEST_NAME:
                raise InputError(f"a name has {_LONGEST_NAME} characters at most, got {len(name)}: {name[:40]!r}…")
        weights = None if edge_weight is None else _checked_weights(edge_weight, edges.shape[1])
        return cls(features, edges, y, _checked_splits(splits or {}, y), class_names, feature_names, weights)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return int(self.y.size)

    @property
    def num_features(self) -> int:
        """Number of features per node."""
        return int(self.x.shape[1])

    @property
    def num_classes(self) -> int:
        """Number of classes: named ones, or the largest label plus one."""
        return max(len(self.class_names), int(self.y.max()) + 1)

    def fingerprint(self) -> str:
        """Return 32 hexadecimal digits that name features, edge entries (in order), weights if any, and labels.

        Splits take no part: the same graph fetched without its published splits keeps its name.
        """
        return self._fingerprint

    @functools.cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256(b"postel graph 1")
        for part in (_features_digest(self.x), _ints_digest(self.edge_index), _ints_digest(self.y)):
            digest.update(part)
        if self.edge_weight is not None:
            digest.update(self.edge_weight.astype("<f4").tobytes())
        return digest.hexdigest()[:32]


def _check_classes(used: int, num_nodes: int, class_names: tuple[str, ...]) -> None:
    """Refuse labels that are no numbers of classes: whatever is made of a graph has a row for each class."""
    most = min(max(num_nodes, _CLASSES_OF_ANY_GRAPH), MAX_CLASSES)
    if class_names and used > len(class_names):
        raise InputError(f"the label {used - 1} has no name: class_names has {len(class_names)}")
    if len(set(class_names)) != len(class_names):
        raise InputError("class_names has the same name twice")
    if max(used, len(class_names)) > most:
        got = f"the label {used - 1}" if used > most else f"{len(class_names)} class_names"
        raise InputError(
            f"classes are numbered from 0, and a graph of {num_nodes} nodes has {most} at most, got {got}"
        )


def masks_fingerprint(masks: Bools) -> str:
    """Compute 32 hexadecimal digits that name splits.

    Args:
        masks: The splits, boolean [3, S, N].

    Returns:
        The digits.

    Example:
        >>> masks_fingerprint(np.eye(3, dtype=bool).reshape(3, 1, 3))[:8]
        'f84321db'
    """
    digest = hashlib.sha256(repr(masks.shape).encode())
    digest.update(np.packbits(masks, axis=-1).tobytes())
    return digest.hexdigest()[:32]


def _whole_numbers(values: Any, name: str) -> Ints:
    array = np.asarray(values)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold whole numbers, got {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _checked_weights(values: Any, num_entries: int) -> NDArray[np.float32]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.shape != (num_entries,):
        raise InputError(
            f"edge_weight must hold one number for each of {num_entries} edge entries, got {array.dtype} of shape "
            f"{list(array.shape)}"
        )
    with np.errstate(over="ignore"):
        weights = array.astype(np.float32)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError("edge_weight must hold finite numbers of at least 0")
    return weights


def _canonical(x: Any) -> Any:
    if isinstance(x, np.memmap):
        return x
    matrix = sp.csr_array(x, dtype=np.float32)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InputError(f"x must have shape [N, F] with at least one feature, got {list(matrix.shape)}")
    if not np.isfinite(matrix.data).all():
        raise InputError("x must hold finite numbers, got a NaN or an infinity")
    most = _UNUSED_FEATURES + _UNUSED_FEATURES_EACH * matrix.nnz
    if matrix.shape[1] > most:
        raise InputError(
            f"x has {matrix.shape[1]} columns for {matrix.nnz} numbers, {most} at most are sane: number features "
            "from 0 and leave out those that no node has"
        )
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()  # the arrays may be the caller's own
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def _checked_splits(splits: Mapping[str, Bools], y: Ints) -> dict[str, Bools]:
    for name, masks in splits.items():
        if masks.dtype != np.bool_ or masks.ndim != 3 or masks.shape[0] != 3 or masks.shape[2] != y.size:
            raise InputError(f"the {name} split must be boolean [3, S, {y.size}], got {list(masks.shape)}")
        if (masks.sum(axis=0, dtype=np.int8) > 1).any():
            raise InputError(f"the {name} split is wrong: a node is in two of its parts")
        if (masks & (y == UNLABELLED)).any():
            raise InputError(f"the {name} split is wrong: it names a node without label")
    return dict(splits)


def _features_digest(x: Any) -> bytes:
    # Counts, columns and values are hashed apart, so that rows can come in blocks; features that are all ones are
    # hashed as such, so that a file may leave their values out.
    counts, columns, values = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    binary = True
    for block in _row_blocks(x):
        counts.update(np.diff(block.indptr).astype("<i8").tobytes())
        columns.update(block.indices.astype("<i4"))
        binary = binary and bool((block.data == 1).all())
        values.update(block.data.astype("<f4"))
    tail = b"binary" if binary else values.digest()
    return repr(tuple(int(side) for side in x.shape)).encode() + counts.digest() + columns.digest() + tail


def _row_blocks(x: Any) -> Iterator[Any]:
    if sp.issparse(x):
        yield x
        return
    for start in range(0, x.shape[0], _ROWS_AT_A_TIME):
        yield sp.csr_array(np.asarray(x[start : start + _ROWS_AT_A_TIME], dtype=np.float32))


def _ints_digest(values: Ints) -> bytes:
    digest = hashlib.sha256(repr(tuple(int(side) for side in values.shape)).encode())
    for row in np.atleast_2d(values):
        for start in range(0, row.size, _ENTRIES_AT_A_TIME):
            digest.update(row[start : start + _ENTRIES_AT_A_TIME].astype("<i8").tobytes())
    return digest.digest()
