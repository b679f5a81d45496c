"""A dataset by name, or any graph file, as the graph, features and split that its user expects."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import torch
from torch_geometric.data import Data

from postel.datasets.catalog import CATALOG, Entry, catalog_entry
from postel.datasets.recipes import apply_recipe, dense_features
from postel.datasets.sources import obtain
from postel.datasets.splits import check_protocol, make_split
from postel.datasets.storage.graph_file import read_graph_file
from postel.datasets.storage.stored_graph import PARTS, StoredGraph

_warned: set[str] = set()


class DatasetWarning(UserWarning):
    """A dataset has a known flaw; the message names the sound variant."""


def load_dataset(
    name_or_path: str | os.PathLike[str] | StoredGraph,
    split: int | None = 0,
    protocol: str = "paper",
    *,
    data_root: str | os.PathLike[str] | None = None,
    recipe: str = "paper",
    normalize: bool | None = None,
    network: bool = True,
) -> Data:
    """A ``Data`` with ``x``, ``edge_index``, ``y``, three masks, ``name``, ``fingerprint`` and ``num_classes``.

    A catalog name is looked for in ``data_root`` (or ``POSTEL_DATA``), the user's cache, a package index and at
    its publisher, the last two only with ``network``. A path or a :class:`StoredGraph` is taken as it is.
    ``split=None`` leaves the masks out. ``recipe="sound"`` makes edges symmetric, without self-loops and
    repetitions; ``normalize`` overrules whether feature rows are scaled to sum to 1.

    >>> data = load_dataset("karate", split=0)
    >>> data.num_nodes, data.num_classes, int(data.train_mask.sum()), data.name
    (34, 4, 19, 'karate')
    """
    check_protocol(protocol)
    graph, entry = open_graph(name_or_path, data_root=data_root, network=network)
    if entry.warning is not None:
        _warn_once(entry)
    if normalize is None:
        normalize = entry.normalise
    edges = torch.from_numpy(graph.edge_index)
    data = Data(
        x=dense_features(graph.x, normalize),
        edge_index=apply_recipe(edges, graph.num_nodes, recipe, entry.symmetrise),
        y=torch.from_numpy(graph.y),
    )
    if split is not None:
        for part, mask in zip(PARTS, make_split(graph, split, protocol), strict=True):
            data[f"{part}_mask"] = torch.from_numpy(mask)
    data.name = entry.name
    data.fingerprint = graph.fingerprint()
    data.num_classes = graph.num_classes
    data.class_names = list(graph.class_names) or None
    data.protocol = protocol
    data.split = split
    data.recipe = recipe
    return data


def open_graph(
    name_or_path: str | os.PathLike[str] | StoredGraph,
    *,
    data_root: str | os.PathLike[str] | None = None,
    network: bool = True,
) -> tuple[StoredGraph, Entry]:
    """The stored graph behind a name or path, and its catalog entry (for a user's own graph: as stored).

    >>> open_graph("karate")[0].num_nodes
    34
    """
    if isinstance(name_or_path, StoredGraph):
        return name_or_path, _own("graph")
    text = os.fspath(name_or_path)
    if text.lower() not in CATALOG and (text.endswith(".npz") or Path(text).exists() or os.sep in text):
        return read_graph_file(text), _own(Path(text).stem)
    entry = catalog_entry(text)
    return obtain(entry, data_root=data_root, network=network).graph, entry


def _own(name: str) -> Entry:
    return Entry(name, "a graph of the user's", ("embedded",), normalise=False)


def _warn_once(entry: Entry) -> None:
    if entry.name not in _warned:
        _warned.add(entry.name)
        warnings.warn(str(entry.warning), DatasetWarning, stacklevel=3)
