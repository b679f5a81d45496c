"""OGB's raw folder (gzipped csv files) to a folder of mapped arrays, a block of text at a time.

The folder has ``raw/{num-node-list,num-edge-list,edge,node-feat,node-label}.csv.gz`` and, for ogbn-products,
``split/sales_ranking/{train,valid,test}.csv.gz``.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from postel.datasets.storage.array_folder import new_array_folder
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.errors import InputError

_BLOCK_BYTES = 1 << 24
_FILES = ("num-node-list", "num-edge-list", "edge", "node-feat", "node-label")
_SPLIT = {"train": "train", "val": "valid", "test": "test"}


def prepare_ogb(folder: Path, out: Path, *, split: str = "sales_ranking", block_bytes: int = _BLOCK_BYTES) -> None:
    """Turn OGB's raw folder into a folder of mapped arrays, each link in both directions.

    Memory stays within a few times ``block_bytes`` whatever the size of the graph: text is read in blocks of that
    size and the numbers go straight into arrays on disk.

    Args:
        folder: The raw folder.
        out: The folder to write.
        split: Name of the split.
        block_bytes: Bytes of text that are read at a time.

    Raises:
        InputError: If a file is missing, cut short or holds something else.
    """
    raw = {name: folder / "raw" / f"{name}.csv.gz" for name in _FILES}
    parts = {part: folder / "split" / split / f"{name}.csv.gz" for part, name in _SPLIT.items()}
    missing = [str(path.relative_to(folder)) for path in (*raw.values(), *parts.values()) if not path.is_file()]
    if missing:
        raise InputError(f"{folder} is no raw folder of OGB with a {split} split: it lacks {', '.join(missing)}")
    num_nodes = _one_number(raw["num-node-list"])
    num_links = _one_number(raw["num-edge-list"])
    with new_array_folder(out) as work:
        _write_features(raw["node-feat"], work / "x.npy", num_nodes, block_bytes)
        _write_edges(raw["edge"], work / "edge_index.npy", num_nodes, num_links, block_bytes)
        labelled = _write_labels(raw["node-label"], work / "y.npy", num_nodes, block_bytes)
        _write_split(parts, work, labelled, block_bytes)


def number_blocks(path: Path, columns: int | None, block_bytes: int, dtype: Any) -> Iterator[Any]:
    """Read a gzipped csv of numbers block by block.

    Args:
        path: The file.
        columns: Number of columns; the first line decides without it.
        block_bytes: About the bytes of text of a block.
        dtype: Type of the numbers.

    Yields:
        Arrays [rows, columns].

    Raises:
        InputError: If the file is cut short, or a cell is no number.
    """
    rest = b""
    try:
        with gzip.open(path, "rb") as stream:
            while text := stream.read(block_bytes):
                text = rest + text
                end = text.rfind(b"\n") + 1
                text, rest = text[:end], text[end:]
                if text:
                    block = _numbers(path, text, columns, dtype)
                    columns = block.shape[1]
                    yield block
        if rest.strip():
            yield _numbers(path, rest, columns, dtype)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is cut short or altered, and was not used ({error})") from error


def _numbers(path: Path, text: bytes, columns: int | None, dtype: Any) -> Any:
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    columns = columns or text.split(b"\n", 1)[0].count(b",") + 1
    with warnings.catch_warnings():
        # numpy warns where the text stops being numbers; for data on disk that is an error.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values = np.fromstring(text.replace(b"\n", b",").rstrip(b",").decode(), dtype=dtype, sep=",")
        except (DeprecationWarning, ValueError) as error:
            raise InputError(f"{path} holds something that is no number ({error})") from error
    if values.size != lines * columns:
        raise InputError(f"{path} must have {columns} numbers per line, got {values.size} in {lines} lines")
    return values.reshape(lines, columns)


def _one_number(path: Path) -> int:
    blocks = list(number_blocks(path, 1, 1 << 10, np.int64))
    if len(blocks) != 1 or blocks[0].size != 1 or int(blocks[0][0, 0]) < 1:
        raise InputError(f"{path} must hold one number, for one graph")
    return int(blocks[0][0, 0])


def _write_features(path: Path, out: Path, num_nodes: int, block_bytes: int) -> None:
    array: Any = None
    filled = 0
    for block in number_blocks(path, None, block_bytes, np.float32):
        if array is None:
            array = open_memmap(out, mode="w+", dtype=np.float32, shape=(num_nodes, block.shape[1]))
        _check_room(path, filled + len(block), num_nodes)
        if not np.isfinite(block).all():
            raise InputError(f"{path} holds a NaN or an infinity")
        array[filled : filled + len(block)] = block
        filled += len(block)
    _check_filled(path, filled, num_nodes)
    array.flush()


def _write_edges(path: Path, out: Path, num_nodes: int, num_links: int, block_bytes: int) -> None:
    array = open_memmap(out, mode="w+", dtype=np.int64, shape=(2, 2 * num_links))
    filled = 0
    for block in number_blocks(path, 2, block_bytes, np.int64):
        _check_room(path, filled + len(block), num_links)
        if block.min() < 0 or block.max() >= num_nodes:
            raise InputError(f"{path} must name nodes 0..{num_nodes - 1}, got {block.min()}..{block.max()}")
        # Each link is followed by its reverse, as OGB's own reader orders them.
        place = slice(2 * filled, 2 * (filled + len(block)))
        array[0, place] = block.ravel()
        array[1, place] = block[:, ::-1].ravel()
        filled += len(block)
    _check_filled(path, filled, num_links)
    array.flush()


def _write_labels(path: Path, out: Path, num_nodes: int, block_bytes: int) -> Any:
    array = open_memmap(out, mode="w+", dtype=np.int64, shape=(num_nodes,))
    filled = 0
    for block in number_blocks(path, 1, block_bytes, np.float64):
        _check_room(path, filled + len(block), num_nodes)
        labels = np.where(np.isnan(block[:, 0]), UNLABELLED, block[:, 0])
        if (labels != np.floor(labels)).any() or labels.min() < UNLABELLED:
            raise InputError(f"{path} must hold class numbers, got {block[:, 0].min()}..{block[:, 0].max()}")
        array[filled : filled + len(block)] = labels
        filled += len(block)
    _check_filled(path, filled, num_nodes)
    array.flush()
    return np.asarray(array != UNLABELLED)


def _write_split(parts: dict[str, Path], work: Path, labelled: Any, block_bytes: int) -> None:
    seen = np.zeros(labelled.size, dtype=np.bool_)
    for part, path in parts.items():
        blocks = list(number_blocks(path, 1, block_bytes, np.int64))
        index = np.concatenate([block[:, 0] for block in blocks]) if blocks else np.empty(0, dtype=np.int64)
        if index.size and (index.min() < 0 or index.max() >= seen.size):
            raise InputError(f"{path} must name nodes 0..{seen.size - 1}, got {index.min()}..{index.max()}")
        if seen[index].any() or not labelled[index].all():
            raise InputError(f"{path} names a node that another part has or that has no label")
        seen[index] = True
        np.save(work / f"public_{part}_idx.npy", index)


def _check_room(path: Path, rows: int, expected: int) -> None:
    if rows > expected:
        raise InputError(f"{path} has more than the {expected} lines that the num-*-list files name")


def _check_filled(path: Path, rows: int, expected: int) -> None:
    if rows != expected:
        raise InputError(f"{path} has {rows} lines, the num-*-list files name {expected}: it is cut short")
