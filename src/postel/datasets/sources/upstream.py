"""The publishers' own files, downloaded and read by torch_geometric's dataset classes.

Two classes are adapted: Planetoid's pickles go through our unpickler instead of the plain one, and the class for
the heterophilous graphs also takes the corrected and filtered ones that are published beside them.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data, InMemoryDataset, download_url
from torch_geometric.datasets import (
    Actor,
    Amazon,
    HeterophilousGraphDataset,
    KarateClub,
    Planetoid,
    WebKB,
    WikipediaNetwork,
)

from postel.datasets.sources.planetoid import read_planetoid
from postel.datasets.storage.stored_graph import Bools, StoredGraph
from postel.errors import InputError
from postel.owners import temporary_folder

_SECONDS_WITHOUT_ANSWER = 30.0
_PLANETOID = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
_HETEROPHILOUS = {
    "cornell-corrected": "cornell",
    "chameleon-filtered": "chameleon_filtered",
    "squirrel-filtered": "squirrel_filtered",
}


class _Published(HeterophilousGraphDataset):
    def __init__(self, root: str, name: str) -> None:
        self.name = name
        # Past the parent's list of names: the files lie in the same folder and have the same form.
        InMemoryDataset.__init__(self, root)
        self.load(self.processed_paths[0])


class _SafePlanetoid(Planetoid):
    """torch_geometric's class for the places of the files: its own reading runs whatever a pickle asks for."""

    stored: StoredGraph

    def download(self) -> None:
        # The parent's download knows neither proxies nor a time limit.
        for name in self.raw_file_names:
            download_url(f"{self.url}/{name}", self.raw_dir)
        for number in range(10):
            name = f"{self.name.lower()}_split_0.6_0.2_{number}.npz"
            download_url(f"{self.geom_gcn_url}/splits/{name}", self.raw_dir)

    def process(self) -> None:
        raw = Path(self.raw_dir)
        name = self.name.lower()
        graph = read_planetoid(lambda part: (raw / f"ind.{name}.{part}").read_bytes(), name)
        files = [np.load(raw / f"{name}_split_0.6_0.2_{number}.npz") for number in range(10)]
        masks = np.stack([[file[f"{part}_mask"] for file in files] for part in ("train", "val", "test")])
        self.stored = StoredGraph(
            graph.x, graph.edge_index, graph.y, {**graph.splits, "geom-gcn": masks.astype(np.bool_)}
        )
        self.save([Data(num_nodes=graph.num_nodes)], self.processed_paths[0])


def from_upstream(name: str) -> StoredGraph:
    """Download a graph as its publisher gives it today.

    Args:
        name: The dataset.

    Returns:
        The graph.

    Raises:
        InputError: If the publisher's server does not give it.
    """
    with temporary_folder("postel") as root, _impatient():
        try:
            return read_tree(name, root)
        except InputError:
            raise
        except Exception as error:
            # Whatever the download libraries raise: the caller needs to know only that it failed, and why.
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"the publisher's server did not give {name} ({reason[0]})") from error


def read_tree(name: str, root: str | os.PathLike[str]) -> StoredGraph:
    """Read a graph from torch_geometric's folder layout; what is missing there is downloaded.

    Args:
        name: The dataset.
        root: The folder.

    Returns:
        The graph.

    Raises:
        InputError: If torch_geometric knows no publisher of it.
    """
    root = str(root)
    if name in _PLANETOID:
        return _SafePlanetoid(root, _PLANETOID[name], split="geom-gcn").stored
    loaders: dict[str, Callable[[], Any]] = {
        "computers": lambda: Amazon(root, "computers"),
        "photo": lambda: Amazon(root, "photo"),
        "chameleon": lambda: WikipediaNetwork(root, "chameleon"),
        "squirrel": lambda: WikipediaNetwork(root, "squirrel"),
        "actor": lambda: Actor(str(Path(root) / "Actor")),
        "texas": lambda: WebKB(root, "texas"),
        "cornell": lambda: WebKB(root, "cornell"),
    }
    if name in _HETEROPHILOUS:
        return from_data(_Published(root, _HETEROPHILOUS[name])[0])
    if name not in loaders:
        raise InputError(f"{name} has no publisher that torch_geometric knows")
    return from_data(loaders[name]()[0])


def karate() -> StoredGraph:
    """Return Zachary's karate club, which torch_geometric carries in its code.

    Example:
        >>> karate().num_nodes, karate().edge_index.shape, karate().num_classes
        (34, (2, 156), 4)
    """
    data = KarateClub()[0]
    return StoredGraph.checked(data.x.numpy(), data.edge_index.numpy(), data.y.numpy())


def from_data(data: Any) -> StoredGraph:
    """Turn a torch_geometric ``Data`` into a stored graph.

    Args:
        data: The graph; masks of shape [N, S] become the geom-gcn splits.

    Returns:
        The stored graph.

    Example:
        >>> from_data(KarateClub()[0]).num_features
        34
    """
    splits: dict[str, Bools] = {}
    if "train_mask" in data and data.train_mask.dim() == 2:
        masks = [data[f"{part}_mask"].numpy().T for part in ("train", "val", "test")]
        splits["geom-gcn"] = np.stack(masks).astype(np.bool_)
    return StoredGraph.checked(data.x.numpy(), data.edge_index.numpy(), data.y.numpy(), splits)


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_SECONDS_WITHOUT_ANSWER)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
