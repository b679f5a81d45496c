"""The way back: soft labels from a file, joined into a torch_geometric ``Data`` by node id."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from postel.errors import InputError, require_extra
from postel.scale.tables import open_table


def join_soft_labels(
    data: Data, path: str | PathLike[str], ids: Tensor | Sequence[int] | Sequence[str] | None = None
) -> Data:
    """Join soft labels from a file into a graph by node id.

    Nodes that the graph lacks are left out, so that a part of a large graph can be trained on.

    Args:
        data: The graph.
        path: A file or folder that :func:`smooth_tables` wrote.
        ids: The id in the file of each node of ``data``; 0..N-1 without it.

    Returns:
        A shallow copy of ``data`` with ``soft_y``, float32 [N, K]. A node that the file lacks has the uniform
        distribution.

    Raises:
        InputError: If the file is no such file, ids do not match, or a training node is missing.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> data = Data(num_nodes=2, train_mask=torch.tensor([True, False]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pq.write_table(pa.table({"node": ["b"], "soft_label": [[0.75, 0.25]]}), f"{folder}/soft.parquet")
        ...     join_soft_labels(data, f"{folder}/soft.parquet", ids=["b", "a"]).soft_y.tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """
    pa, pq = require_extra("pyarrow", "tables"), require_extra("pyarrow.parquet", "tables")
    pc = require_extra("pyarrow.compute", "tables")
    wanted = _wanted(data, ids)
    files = open_table("soft labels", fspath(path), ("node", "node"), ",").files
    soft_y: Any = None
    seen = np.zeros(len(wanted), dtype=bool)
    for name in files:
        with pq.ParquetFile(name) as file:
            if "soft_label" not in file.schema_arrow.names:
                raise InputError(f"{name} has no column 'soft_label': it was not written by postel smooth")
            for batch in file.iter_batches(batch_size=1 << 15, columns=["node", "soft_label"]):
                kind = batch.column("node").type
                if pa.types.is_integer(kind) != pa.types.is_integer(wanted.type):
                    raise InputError(f"{name} has node ids of type {kind}, but ids are of type {wanted.type}")
                places = pc.index_in(batch.column("node"), wanted.cast(kind))
                chosen = batch.filter(places.is_valid())
                at = places.drop_null().to_numpy()
                lists = chosen.column("soft_label")
                lengths = set(pc.unique(pc.list_value_length(lists)).to_pylist())
                if soft_y is None and lengths:
                    soft_y = np.full((len(wanted), width := lengths.copy().pop()), 1.0 / width, dtype=np.float32)
                if soft_y is not None and lengths - {soft_y.shape[1]}:
                    raise InputError(f"{name} has soft labels of different lengths: {sorted(lengths)}")
                if seen[at].any() or np.unique(at).size < at.size:
                    raise InputError(f"{name} has a node twice: give one file or folder of soft labels")
                seen[at] = True
                if at.size:
                    soft_y[at] = lists.flatten().to_numpy().reshape(at.size, -1)
    _check_there(data, seen, wanted, fspath(path))
    out = copy.copy(data)
    out.soft_y = torch.from_numpy(soft_y)
    return out


def _wanted(data: Data, ids: Any) -> Any:
    pa = require_extra("pyarrow", "tables")
    n = data.num_nodes
    if ids is None:
        return pa.array(np.arange(n))
    wanted = pa.array(ids.numpy() if isinstance(ids, Tensor) else ids)
    if len(wanted) != n:
        raise InputError(f"ids must have one entry per node ({n}), got {len(wanted)}")
    if len(wanted.unique()) < len(wanted):
        raise InputError("ids must differ from node to node")
    return wanted


def _check_there(data: Data, seen: Any, wanted: Any, path: str) -> None:
    if not seen.any():
        raise InputError(f"{path} has none of the nodes: give the ids that the nodes of data have in it")
    mask = getattr(data, "train_mask", None)
    if mask is not None:
        missing = np.flatnonzero(mask.cpu().numpy() & ~seen)
        if missing.size:
            first = wanted[int(missing[0])].as_py()
            raise InputError(f"{path} lacks {missing.size} training nodes, the first has the id {first!r}")
