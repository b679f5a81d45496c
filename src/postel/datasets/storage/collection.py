"""The .npz files of the heterophilous-graphs collection (Platonov et al. 2023)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from postel.datasets.storage.npz import read_npz
from postel.datasets.storage.stored_graph import PARTS, Bools, StoredGraph
from postel.errors import InputError

_NEEDED = ("node_features", "node_labels", "edges")
_MASKS = tuple(f"{part}_masks" for part in PARTS)


def graph_of_collection(path: Path, directed: bool = False) -> StoredGraph:
    """Read a graph and all its splits.

    Args:
        path: The file.
        directed: Whether links are kept as they are listed; they are taken both ways otherwise.

    Returns:
        The graph; its splits are the public ones.

    Raises:
        InputError: If the file cannot be read, or its arrays do not fit together.
    """
    arrays = read_npz(path, lambda names: _check_names(path, names))
    try:
        x, y, edges = (arrays[name] for name in _NEEDED)
        if x.ndim != 2 or x.dtype.kind not in "fiub":
            raise InputError(f"node_features must hold numbers [N, F], got {x.dtype} of shape {list(x.shape)}")
        if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
            raise InputError(f"edges must hold node ids [E, 2], got {edges.dtype} of shape {list(edges.shape)}")
        edge_index = np.ascontiguousarray(edges.T, dtype=np.int64)
        splits = {"public": _masks(arrays, y.size)} if _MASKS[0] in arrays else {}
        graph = StoredGraph.checked(x.astype(np.float32), edge_index, y, splits)
    except InputError as error:
        raise InputError(f"{path} is not usable: {error}") from error
    if directed:
        return graph
    return StoredGraph(graph.x, both_ways(graph.edge_index, graph.num_nodes)[0], graph.y, graph.splits)


def both_ways(edge_index: Any, num_nodes: int, edge_weight: Any = None) -> tuple[Any, Any]:
    """Take links both ways, each once.

    Args:
        edge_index: Links, int64 [2, E].
        num_nodes: Number of nodes.
        edge_weight: The weight of each link [E], or None.

    Returns:
        Sorted entries, int64 [2, E'], and their weights: those of the links that were merged added up, as
        torch_geometric's ``to_undirected`` does it, or None.

    Example:
        >>> both_ways(np.array([[0, 1, 2], [1, 0, 2]]), 3)[0].tolist()
        [[0, 1, 2], [1, 0, 2]]
        >>> both_ways(np.array([[0, 0, 2], [1, 1, 2]]), 3, np.array([1.0, 0.5, 4.0]))[1].tolist()
        [1.5, 1.5, 4.0]
    """
    # The other way round of a self-loop is the same entry.
    back = np.flatnonzero(edge_index[0] != edge_index[1])
    both = np.concatenate([edge_index, edge_index[::-1, back]], axis=1)
    links, place = np.unique(both[0] * num_nodes + both[1], return_inverse=True)
    entries = np.stack(np.divmod(links, num_nodes))
    if edge_weight is None:
        return entries, None
    return entries, np.bincount(place, np.concatenate([edge_weight, edge_weight[back]]), minlength=links.size)


def _check_names(path: Path, names: list[str]) -> None:
    missing = [name for name in _NEEDED if name not in names]
    if missing or 0 < len(set(_MASKS) & set(names)) < len(_MASKS):
        there = ", ".join(sorted(names)[:20]) or "nothing"
        raise InputError(
            f"{path} is no file of the heterophilous-graphs collection: it has {there}, and {', '.join(_NEEDED)} "
            f"are needed, with all or none of {', '.join(_MASKS)}"
        )


def _masks(arrays: dict[str, Any], num_nodes: int) -> Bools:
    found = []
    for name in _MASKS:
        masks = np.atleast_2d(arrays[name])
        is_boolean = masks.dtype == np.bool_ or (masks.dtype.kind in "iu" and np.isin(masks, (0, 1)).all())
        if not is_boolean or masks.ndim != 2 or masks.shape[1] != num_nodes or not len(masks):
            shape = f"{masks.dtype} of shape {list(masks.shape)}"
            raise InputError(
                f"{name} must hold true or false for each split and node, [S, {num_nodes}], got {shape}"
            )
        found.append(masks.astype(np.bool_))
    if len({len(masks) for masks in found}) > 1:
        raise InputError(f"{', '.join(_MASKS)} must have as many splits each, got {[len(m) for m in found]}")
    return np.stack(found)
