"""A graph too large for memory: a folder of .npy files that are mapped, with a note of its fingerprint."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from postel.datasets.storage.stored_graph import PARTS, Bools, StoredGraph
from postel.errors import InputError
from postel.owners import remove, scratch_name, scratch_names

NOTE = "graph.json"
_FORMAT = "postel array folder 1"


def read_array_folder(folder: Path, expected: str | None = None) -> StoredGraph:
    """Read a folder of arrays, mapped copy-on-write, once their content has proved right.

    Args:
        folder: The folder.
        expected: The fingerprint wanted; the noted one without it.

    Returns:
        The graph.

    Raises:
        InputError: If the folder is not whole, or was altered.
    """
    try:
        note = json.loads((folder / NOTE).read_text())
        if note["format"] != _FORMAT:
            raise InputError(f"{folder / NOTE} names the format {note['format']!r}, expected {_FORMAT!r}")
        x, edge_index, y = (_mapped(folder, name) for name in ("x", "edge_index", "y"))
        index = [_mapped(folder, f"public_{part}_idx") for part in PARTS]
        wanted = expected or str(note["fingerprint"])
    except InputError:
        raise
    except (OSError, ValueError, KeyError, EOFError, TypeError) as error:
        raise InputError(f"{folder} is no whole graph folder ({error}); delete it and prepare it again") from error
    if x.dtype != np.float32 or x.ndim != 2 or edge_index.dtype != np.int64 or y.dtype != np.int64:
        raise InputError(
            f"{folder} is no graph folder: its arrays are {x.dtype}, {edge_index.dtype} and {y.dtype}"
        )
    graph = StoredGraph(x, edge_index, y)
    if graph.fingerprint() != wanted:
        raise InputError(f"{folder} was altered: its content has not the fingerprint {wanted}; prepare it again")
    # Ranges are checked only now: content that has the noted fingerprint was checked when it was written.
    try:
        masks = public_masks(index, y.size)
    except (IndexError, ValueError) as error:
        raise InputError(f"{folder} names nodes in its split that there are not ({error})") from error
    return StoredGraph(x, edge_index, y, {"public": masks})


@contextlib.contextmanager
def new_array_folder(folder: Path) -> Iterator[Path]:
    """Make a folder of arrays that is there whole or not at all.

    Args:
        folder: The folder; it is replaced if it exists.

    Yields:
        A folder to fill with arrays; it becomes ``folder``, noted and whole, when the block ends well.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in scratch_names(folder.parent, folder.name)[0]:
        remove(left)  # of a process that was killed
    work = folder.parent / scratch_name(folder.name)
    work.mkdir()
    try:
        yield work
        x, edge_index, y = (_mapped(work, name) for name in ("x", "edge_index", "y"))
        note = {"format": _FORMAT, "fingerprint": StoredGraph(x, edge_index, y).fingerprint()}
        (work / NOTE).write_text(json.dumps(note, indent=2) + "\n")
        if folder.exists():
            shutil.rmtree(folder)
        work.rename(folder)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def public_masks(index: list[Any], num_nodes: int) -> Bools:
    """Turn the node ids of the three parts into masks.

    Args:
        index: Ids of training, validation and test nodes.
        num_nodes: Number of nodes.

    Returns:
        Masks, boolean [3, 1, N].

    Example:
        >>> public_masks([[0], [1], [2]], 3)[:, 0].astype(int).tolist()
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    masks = np.zeros((3, 1, num_nodes), dtype=np.bool_)
    for mask, nodes in zip(masks, index, strict=True):
        mask[0, nodes] = True
    return masks


def _mapped(folder: Path, name: str) -> Any:
    return np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False)
