"""Counting in memory: the edges stream past, the histograms of all labelled (or all) nodes are held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postel.errors import require_extra
from postel.scale.batches import read_batches
from postel.scale.calibrated_kernel import CalibratedModel
from postel.scale.classes import conflict
from postel.scale.engine import Engine, Inputs, Names, PairCounts, Progress
from postel.scale.kernel import Counts, Model, split_shares
from postel.scale.output import write_rows
from postel.scale.request import Request
from postel.scale.tables import Table

Ints = NDArray[np.int64]

# Numbers in a block of soft labels: their temporaries stay in cache.
_BLOCK = 1 << 18


class MemoryEngine(Engine):
    """The :class:`postel.scale.engine.Engine` on numpy; what it holds grows with nodes times classes.

    Args:
        request: The job.
        inputs: Its opened tables.
        progress: Called with what is being done.
    """

    def __init__(self, request: Request, inputs: Inputs, progress: Progress) -> None:
        self._request, self._inputs, self._progress = request, inputs, progress

    def close(self) -> None:
        """Do nothing: all that the engine holds is memory of this process."""

    def census(self) -> Mapping[int | str, float]:
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        self._progress("reading labels", None)
        nodes, labels = self._labelled(self._inputs.labels)
        train = np.ones(len(nodes), dtype=bool)
        if self._inputs.pseudo is not None and not self._inputs.soft:
            more, more_labels = self._labelled(self._inputs.pseudo)
            new = pc.invert(pc.is_in(more, nodes))
            nodes = pa.concat_arrays([nodes, more.filter(new)])
            labels = pa.concat_arrays([labels, more_labels.filter(new)])
            train = np.arange(len(nodes)) < train.size
        order = pc.sort_indices(nodes)
        self._nodes, self._labels, self._train = nodes.take(order), labels.take(order), train[order.to_numpy()]
        return {row["values"]: row["counts"] for row in pc.value_counts(labels).to_pylist()}

    def count(self, names: Names) -> PairCounts:
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        places = pc.index_in(self._labels, pa.array(names, self._labels.type))
        classes: Ints = places.to_numpy().astype(np.int64)
        if self._request.nodes == "all":
            labelled = self._nodes
            self._nodes = self._all_nodes()
            classes, train = _spread(pc.index_in(self._nodes, labelled), classes, self._train)
            self._train = train
        self._own = np.where(self._train, classes, -1)
        self._histograms = self._count_edges(classes, len(names))
        centers = np.flatnonzero(self._own >= 0 if self._request.settings.centers == "train" else classes >= 0)
        return self._pairs(centers, classes[centers], len(names))

    def sample(self, most: int) -> tuple[Counts, Counts]:
        train = np.flatnonzero(self._own >= 0)
        if train.size > most:
            train = train[np.arange(most) * train.size // most]
        return self._histograms[train], self._own[train]

    def write(self, model: Model | CalibratedModel, target: str) -> int:
        from postel.scale.rows import soft_batch

        pa = require_extra("pyarrow", "tables")
        wanted = np.arange(self._own.size) if self._request.nodes == "all" else np.flatnonzero(self._own >= 0)
        step = max(1, _BLOCK // model.width)

        def batches() -> Iterator[Any]:
            for first in range(0, wanted.size, step):
                chosen = wanted[first : first + step]
                made = model.soft_labels(self._histograms[chosen], self._own[chosen])
                yield soft_batch(self._nodes.take(pa.array(chosen)), made)
                self._progress("writing", (first + chosen.size) / wanted.size)

        return write_rows(batches(), self._inputs.ids, target)

    def _labelled(self, table: Table) -> tuple[Any, Any]:
        """Return nodes and labels of a label table, one row per node."""
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        kinds = (self._inputs.ids, self._inputs.label_kind)
        types = [pa.int64() if kind == "integer" else pa.string() for kind in kinds]
        batches = list(read_batches(table, kinds))
        whole = pa.Table.from_batches(batches, pa.schema(list(zip("ab", types, strict=True)))).combine_chunks()
        values = pc.unique(whole.column("b"))
        values = values.take(pc.sort_indices(values))
        codes = pa.table({"a": whole.column("a"), "b": pc.index_in(whole.column("b"), values)})
        grouped = codes.group_by("a").aggregate([("b", "min"), ("b", "max")]).combine_chunks()
        least, greatest = (_one(grouped.column(f"b_{name}")) for name in ("min", "max"))
        twice = pc.not_equal(least, greatest)
        if pc.any(twice).as_py():
            at = pc.index(twice, True).as_py()
            both = values[least[at].as_py()].as_py(), values[greatest[at].as_py()].as_py()
            raise conflict(table.what, grouped.column("a")[at].as_py(), both)
        return _one(grouped.column("a")), values.take(least)

    def _edges(self, stage: str) -> Iterator[Any]:
        ids = self._inputs.ids
        table, done = self._inputs.edges, 0
        for batch in read_batches(table, (ids, ids), rows=1 << 21):
            yield batch
            done += batch.nbytes
            self._progress(stage, min(1.0, done / max(1, table.size)))

    def _all_nodes(self) -> Any:
        """Return every node with a label or an edge, in order."""
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        seen, waiting, rows = self._nodes, [], 0
        for batch in self._edges("finding nodes"):
            waiting += [pc.unique(batch.column(0)), pc.unique(batch.column(1))]
            rows += len(waiting[-1]) + len(waiting[-2])
            if rows > max(len(seen), 1 << 20):
                # Merging once as much has come as is there keeps the whole of it linear.
                seen, waiting, rows = pc.unique(pa.concat_arrays([seen, *waiting])), [], 0
        seen = pc.unique(pa.concat_arrays([seen, *waiting]))
        return seen.take(pc.sort_indices(seen))

    def _count_edges(self, classes: Ints, k: int) -> NDArray[np.int32]:
        """Count the neighbors of each class of each held node, [N, K]; centers of each class beside, if wanted."""
        find = finder(self._nodes)
        reverse = self._request.reverse
        width = 2 * k if reverse else k
        histograms = np.zeros(len(self._nodes) * width, dtype=np.int32)
        self_loops, undirected = self._request.self_loops, self._request.undirected
        center_classes = self._own if self._request.settings.centers == "train" else classes
        one = np.int32(1)
        for batch in self._edges("counting"):
            centers, neighbors = find(batch.column(0)), find(batch.column(1))
            keep = (centers >= 0) & (neighbors >= 0)
            if not self_loops:
                keep &= centers != neighbors
            centers, neighbors = centers[keep].astype(np.int64), neighbors[keep].astype(np.int64)
            ways = [(centers, neighbors)]
            if undirected:
                # The other way round of a self-loop is the same entry.
                back = centers != neighbors if self_loops else slice(None)
                ways.append((neighbors[back], centers[back]))
            for centers, neighbors in ways:
                of = classes[neighbors]
                known = of >= 0
                np.add.at(histograms, centers[known] * width + of[known], one)
                if reverse:
                    of = center_classes[centers]
                    known = (of >= 0) & (self._own[neighbors] >= 0)
                    np.add.at(histograms, neighbors[known] * width + k + of[known], one)
        return histograms.reshape(-1, width)

    def _pairs(self, centers: Ints, classes: Ints, k: int) -> PairCounts:
        normalized = self._request.likelihood == "normalized"
        high, low = np.zeros((2, k, k), dtype=np.int64)
        step = max(1, _BLOCK // k)
        for first in range(0, centers.size, step):
            of = classes[first : first + step]
            upper: Counts = self._histograms[centers[first : first + step], :k].astype(np.int64)
            if normalized:
                totals = upper.sum(axis=1, keepdims=True)
                upper, lower = split_shares(upper, np.maximum(totals, 1))
                np.add.at(low, of, lower)
            np.add.at(high, of, upper)
        return PairCounts(high, low if normalized else None)


def _one(column: Any) -> Any:
    """Return a column as a single array: combining leaves an empty column without a chunk."""
    pa = require_extra("pyarrow", "tables")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _spread(places: Any, classes: Ints, train: NDArray[np.bool_]) -> tuple[Ints, NDArray[np.bool_]]:
    at = places.fill_null(-1).to_numpy()
    return np.where(at >= 0, classes[at], -1), (at >= 0) & train[at]


def finder(nodes: Any) -> Any:
    """Make a function from Arrow ids to their places in the sorted ``nodes``, -1 where they are not among them.

    Args:
        nodes: Arrow array of ids, sorted.

    Returns:
        The function.
    """
    pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
    if not pa.types.is_integer(nodes.type):
        return lambda ids: pc.index_in(ids, nodes).fill_null(-1).to_numpy()
    known: Ints = nodes.to_numpy()
    low, span = int(known[0]), int(known[-1]) - int(known[0]) + 1
    if span <= 4 * known.size + (1 << 20):
        # Ids that lie close together are looked up in a table, which is several times faster than a search.
        table = np.full(span, -1, dtype=np.int32)
        table[known - low] = np.arange(known.size, dtype=np.int32)

        def look_up(ids: Any) -> NDArray[np.int32]:
            values = ids.to_numpy()
            inside = (values >= low) & (values <= known[-1])
            if inside.all():
                return table[values - low]
            return np.where(inside, table[np.where(inside, values - low, 0)], np.int32(-1))

        return look_up

    def search(ids: Any) -> Ints:
        values = ids.to_numpy()
        at = np.minimum(np.searchsorted(known, values), known.size - 1)
        return np.where(known[at] == values, at, -1)

    return search
