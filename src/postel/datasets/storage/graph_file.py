"""The graph file: one compressed .npz without pickles, written whole or not at all, and checked at every reading.

Its arrays are ``x_indptr``, ``x_indices``, ``x_shape`` and, unless every feature is 0 or 1, ``x_data`` (features
as CSR); ``edge_index`` [2, E]; ``y`` [N]; optionally ``edge_weight`` [E], ``geomgcn_{train,val,test}_mask``
(packed bits, one row per split), ``public_{train,val,test}_idx`` for one public split or
``public_{train,val,test}_mask`` for several, ``class_names``, ``feature_names`` and ``fingerprint``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from postel.datasets.storage.npz import read_npz
from postel.datasets.storage.stored_graph import PARTS, Bools, StoredGraph
from postel.errors import InputError
from postel.files import replacing

_NEEDED = ("x_indptr", "x_indices", "x_shape", "edge_index", "y")
_GEOM = tuple(f"geomgcn_{part}_mask" for part in PARTS)
_PUBLIC = tuple(f"public_{part}_idx" for part in PARTS)
_PUBLICS = tuple(f"public_{part}_mask" for part in PARTS)
_OTHERS = ("x_data", "edge_weight", "class_names", "feature_names", "fingerprint")
_KNOWN = {*_NEEDED, *_GEOM, *_PUBLIC, *_PUBLICS, *_OTHERS}


def read_graph_file(path: str | os.PathLike[str], expected: str | None = None) -> StoredGraph:
    """Read a graph file, once its content has proved to be the one that its fingerprint names.

    Args:
        path: The file.
        expected: The fingerprint wanted; without it the one inside the file counts, if there is one.

    Returns:
        The graph.

    Raises:
        InputError: If the file is missing, cut short, altered or of another kind; the message names it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "tiny.npz"
        ...     write_graph_file(path, StoredGraph.checked(np.eye(4), [[0, 1], [1, 0]], [0, 1, 1, 0]))
        ...     read_graph_file(path).y.tolist()
        [0, 1, 1, 0]
    """
    path = Path(path)
    arrays = read_npz(path, lambda names: _check_names(path, names))
    try:
        graph = _from_arrays(arrays)
    except InputError as error:
        raise InputError(f"{path} is not a usable graph file: {error}") from error
    inside = str(arrays["fingerprint"]) if "fingerprint" in arrays else None
    wanted = expected or inside
    if wanted is not None and (found := graph.fingerprint()) != wanted:
        raise InputError(
            f"{path} was altered or is another graph: its content has fingerprint {found}, expected {wanted}; "
            "delete the file and fetch or convert it again"
        )
    return graph


def write_graph_file(path: str | os.PathLike[str], graph: StoredGraph) -> None:
    """Write a graph file with its fingerprint, whole or not at all.

    Args:
        path: The file; it is replaced if it exists.
        graph: The graph.
    """
    path = Path(path)
    with replacing(path) as stream:
        np.savez_compressed(stream, **_to_arrays(graph))


def _check_names(path: Path, names: list[str]) -> None:
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        there = ", ".join(sorted(names)) or "nothing"
        raise InputError(f"{path} is no graph file: it has {there} and lacks {', '.join(missing)}")
    unknown = sorted(set(names) - _KNOWN)
    if unknown:
        raise InputError(f"{path} is no graph file: it has {', '.join(unknown)}, which the format does not know")
    if _PUBLIC[0] in names and _PUBLICS[0] in names:
        raise InputError(f"{path} is no graph file: it has both {_PUBLIC[0]} and {_PUBLICS[0]}")
    for group in (_GEOM, _PUBLIC, _PUBLICS):
        if 0 < len(set(group) & set(names)) < len(group):
            raise InputError(f"{path} is no graph file: it needs all or none of {', '.join(group)}")


def _from_arrays(arrays: Mapping[str, Any]) -> StoredGraph:
    num_nodes = int(arrays["y"].size)
    splits: dict[str, Bools] = {}
    for split, group in (("geom-gcn", _GEOM), ("public", _PUBLICS)):
        if group[0] in arrays:
            masks = [_unpacked(name, arrays[name], num_nodes) for name in group]
            if len({len(mask) for mask in masks}) > 1:
                raise InputError(f"{', '.join(group)} must have as many splits each")
            splits[split] = np.stack(masks)
    if _PUBLIC[0] in arrays:
        splits["public"] = np.stack([_scattered(name, arrays[name], num_nodes) for name in _PUBLIC])[:, None]
    return StoredGraph.checked(
        _features(arrays),
        arrays["edge_index"],
        arrays["y"],
        splits,
        class_names=_names(arrays, "class_names"),
        feature_names=_names(arrays, "feature_names"),
        edge_weight=arrays.get("edge_weight"),
    )


def _names(arrays: Mapping[str, Any], what: str) -> tuple[str, ...]:
    if what not in arrays:
        return ()
    if arrays[what].dtype.kind != "U" or arrays[what].ndim != 1:
        raise InputError(f"{what} must be a vector of texts, got {_describe(arrays[what])}")
    return tuple(str(name) for name in arrays[what])


def _features(arrays: Mapping[str, Any]) -> Any:
    indptr, indices, shape = arrays["x_indptr"], arrays["x_indices"], arrays["x_shape"]
    for name in ("x_indptr", "x_indices", "x_shape"):
        if arrays[name].dtype.kind not in "iu" or arrays[name].ndim != 1:
            raise InputError(f"{name} must be a vector of whole numbers, got {_describe(arrays[name])}")
    if shape.size != 2:
        raise InputError(f"x_shape must hold two numbers, got {shape.size}")
    if int(shape.min()) < 0 or int(shape.max()) >= 2**31 or shape[0] + 1 != indptr.size:
        raise InputError(f"x_shape says {shape.tolist()}, which does not fit {indptr.size} entries of x_indptr")
    data = arrays.get("x_data")
    if data is None:
        data = np.ones(indices.size, dtype=np.float32)
    if data.dtype.kind not in "fiu" or data.shape != indices.shape:
        raise InputError(f"x_data must hold a number for each of {indices.size} indices, got {_describe(data)}")
    try:
        small = np.int32 if indices.size < 2**31 else np.int64
        matrix = sp.csr_array(
            (data, indices.astype(small), indptr.astype(small)), shape=(int(shape[0]), int(shape[1]))
        )
        # The full check reads every index: scipy trusts them afterwards.
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"the features are no CSR matrix ({error})") from error
    return matrix


def _unpacked(name: str, packed: Any, num_nodes: int) -> Bools:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-num_nodes // 8):
        raise InputError(
            f"{name} must hold {-(-num_nodes // 8)} packed bytes per split (uint8), got {_describe(packed)}"
        )
    return np.unpackbits(packed, axis=1, count=num_nodes).astype(np.bool_)


def _scattered(name: str, index: Any, num_nodes: int) -> Bools:
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise InputError(f"{name} must be a vector of node ids, got {_describe(index)}")
    if index.size and (int(index.min()) < 0 or int(index.max()) >= num_nodes):
        raise InputError(f"{name} must name nodes 0..{num_nodes - 1}, got {int(index.min())}..{int(index.max())}")
    mask = np.zeros(num_nodes, dtype=np.bool_)
    mask[index.astype(np.int64)] = True
    return mask


def _to_arrays(graph: StoredGraph) -> dict[str, Any]:
    x = sp.csr_array(graph.x)
    arrays: dict[str, Any] = {
        "x_indptr": x.indptr.astype(np.int64),
        "x_indices": x.indices.astype(np.min_scalar_type(graph.num_features)),
        "x_shape": np.array(x.shape, dtype=np.int64),
        "edge_index": graph.edge_index.astype(np.min_scalar_type(graph.num_nodes)),
        "y": graph.y.astype(np.int32),
        "fingerprint": np.array(graph.fingerprint()),
    }
    if not (x.data == 1).all():
        arrays["x_data"] = x.data
    if graph.edge_weight is not None:
        arrays["edge_weight"] = graph.edge_weight
    for what, names in (("class_names", graph.class_names), ("feature_names", graph.feature_names)):
        if names:
            arrays[what] = np.array(names, dtype=np.str_)
    for split, group in (("geom-gcn", _GEOM), ("public", _PUBLICS)):
        masks = graph.splits.get(split)
        if masks is None:
            continue
        if split == "public" and masks.shape[1] == 1:
            arrays |= {name: np.flatnonzero(mask[0]) for name, mask in zip(_PUBLIC, masks, strict=True)}
        else:
            arrays |= {name: np.packbits(mask, axis=1) for name, mask in zip(group, masks, strict=True)}
    return arrays


def _describe(array: Any) -> str:
    return f"{array.dtype} of shape {list(array.shape)}"
