"""From counted rows to rows of soft labels: the last step, on DuckDB and on every Spark executor.

Like the kernel, this module imports nothing else of postel, since Spark sends it to the executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from postel.scale.calibrated_kernel import CalibratedModel
from postel.scale.kernel import Model

# Numbers in a block of soft labels: 2 MB, so that its temporaries stay in cache.
_BLOCK = 1 << 18


def soft_batches(batches: Iterable[Any], model: Model | CalibratedModel) -> Iterator[Any]:
    """Turn counted rows into rows of soft labels.

    Args:
        batches: Record batches (node, own, class, n) that are sorted by node. A node may have several rows of one
            class; a row with ``n`` 0 only says that the node is wanted.
        model: What soft labels depend on besides neighbors.

    Yields:
        Record batches (node, soft_label).

    Example:
        >>> from postel.settings import PosteLSettings
        >>> model = Model(np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.8, 0.2]]), PosteLSettings(0.0, 0.0))
        >>> columns = {"node": ["a", "a", "b"], "own": [0, 0, -1], "class": [0, 1, 0], "n": [0, 1, 0]}
        >>> counted = pa.record_batch(columns)
        >>> [row for batch in soft_batches([counted], model) for row in batch.to_pylist()]
        [{'node': 'a', 'soft_label': [1.0, 0.0]}, {'node': 'b', 'soft_label': [0.5, 0.5]}]
    """
    for nodes, own, runs, classes, counts in _whole_nodes(batches):
        done = 0
        for made in _blocks(own, runs, classes, counts, model):
            yield soft_batch(nodes.slice(done, len(made)), made)
            done += len(made)


def soft_lists(own: Any, entries: Any, model: Model | CalibratedModel) -> Any:
    """Compute soft labels from Arrow arrays.

    Args:
        own: The training class of each node, [R]; negative where it has none.
        entries: Lists of (class, n) of each node, [R].
        model: What soft labels depend on besides neighbors.

    Returns:
        The soft labels as an Arrow list array [R].

    Example:
        >>> from postel.settings import PosteLSettings
        >>> model = Model(np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.8, 0.2]]), PosteLSettings(0.0, 0.0))
        >>> entries = pa.array([[{"class": 1, "n": 1}, {"class": 0, "n": 0}], [{"class": 0, "n": 0}]])
        >>> soft_lists(pa.array([0, -1]), entries, model).to_pylist()
        [[1.0, 0.0], [0.5, 0.5]]
    """
    lengths = pc.list_value_length(entries).to_numpy()
    runs = np.repeat(np.arange(len(entries)), lengths)
    classes, counts = (pc.struct_field(entries.flatten(), name).to_numpy() for name in ("class", "n"))
    made = list(_blocks(own.to_numpy(), runs, classes.astype(np.int64), counts, model))
    return _lists(np.concatenate(made) if made else np.empty((0, model.num_classes)))


def soft_batch(nodes: Any, distributions: Any) -> Any:
    """Put nodes and their distributions into one record batch.

    Args:
        nodes: Arrow array of ids, [R].
        distributions: Numpy array, [R, K].

    Returns:
        The record batch (node, soft_label).
    """
    return pa.record_batch({"node": nodes, "soft_label": _lists(distributions)})


def _lists(distributions: Any) -> Any:
    # Not a fixed-size list: Spark's Arrow bridge rejects those.
    rows, k = distributions.shape
    offsets = pa.array(np.arange(0, rows * k + 1, k, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(distributions.reshape(-1)))


def _blocks(own: Any, runs: Any, classes: Any, counts: Any, model: Model | CalibratedModel) -> Iterator[Any]:
    """Yield soft labels a block of nodes at a time; row r of the counts belongs to node ``runs[r]``, ascending."""
    k = model.width
    step = max(1, _BLOCK // k)
    for first in range(0, own.size, step):
        last = min(first + step, own.size)
        low, high = np.searchsorted(runs, (first, last))
        histograms = np.zeros((last - first) * k, dtype=counts.dtype)
        np.add.at(histograms, (runs[low:high] - first) * k + classes[low:high], counts[low:high])
        yield model.soft_labels(histograms.reshape(-1, k), own[first:last])


def _whole_nodes(batches: Iterable[Any]) -> Iterator[tuple[Any, Any, Any, Any, Any]]:
    """Yield distinct nodes and their own class; the place among them of each row, its class and its count.

    The rows of one node may lie in two batches: the last node of a batch waits for the next.
    """
    waiting = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        table = pa.Table.from_batches([batch])
        if waiting is not None:
            table = pa.concat_tables([waiting, table])
        table = table.combine_chunks()
        starts = _starts(table.column("node"))
        waiting = table.slice(int(starts[-1]))
        if starts.size > 1:
            yield _arrays(table.slice(0, int(starts[-1])), starts[:-1])
    if waiting is not None:
        yield _arrays(waiting, np.zeros(1, dtype=np.int64))


def _starts(nodes: Any) -> Any:
    if len(nodes) == 1:
        return np.zeros(1, dtype=np.int64)
    changes = pc.not_equal(nodes.slice(1), nodes.slice(0, len(nodes) - 1)).to_numpy()
    return np.concatenate([[0], np.flatnonzero(changes) + 1])


def _arrays(table: Any, starts: Any) -> tuple[Any, Any, Any, Any, Any]:
    lengths = np.diff(np.append(starts, table.num_rows))
    runs = np.repeat(np.arange(starts.size), lengths)
    nodes = table.column("node").combine_chunks().take(pa.array(starts))
    own, classes, counts = (table.column(name).to_numpy() for name in ("own", "class", "n"))
    return nodes, own[starts], runs, classes.astype(np.int64), counts
