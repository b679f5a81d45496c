"""Counting in memory where pseudo-labels are probabilities: a row of K numbers for each held node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postel.errors import require_extra
from postel.scale.engine import Names, PairCounts
from postel.scale.kernel import Floats
from postel.scale.memory_engine import Ints, MemoryEngine, finder
from postel.scale.probabilities import (
    TOLERANCE,
    check_known,
    labels_of,
    not_a_distribution,
    read_probabilities,
)

# Entries whose rows are added at a time.
_ENTRIES = 1 << 14


class SoftMemoryEngine(MemoryEngine):
    """The :class:`~postel.scale.memory_engine.MemoryEngine` for expected counts."""

    def census(self) -> Mapping[int | str, float]:
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        table = self._inputs.pseudo
        if table is None:
            raise AssertionError("this engine is for a table of probabilities")
        found: dict[int | str, float] = dict(super().census())
        self._columns = labels_of(table, self._inputs.label_kind)
        check_known(table, self._columns, list(found))
        kind = self._nodes.type
        nodes, rows = [pa.array([], kind)], [np.empty((0, len(self._columns)))]
        for ids, values in read_probabilities(table, self._inputs.ids):
            new = pc.invert(pc.is_in(ids, self._nodes))
            nodes.append(ids.filter(new))
            rows.append(values[np.flatnonzero(new.to_numpy(zero_copy_only=False))])
        self._said, self._rows = pa.concat_arrays(nodes), np.concatenate(rows)
        self._check()
        for label, share in zip(self._columns, self._rows.sum(axis=0).tolist(), strict=True):
            found[label] = found.get(label, 0) + share
        return found

    def count(self, names: Names) -> PairCounts:
        pa, pc = require_extra("pyarrow", "tables"), require_extra("pyarrow.compute", "tables")
        trained, classes = self._nodes, pc.index_in(self._labels, pa.array(names, self._labels.type)).to_numpy()
        both = pa.concat_arrays([trained, self._said])
        self._nodes = both.take(pc.sort_indices(both))
        if self._request.nodes == "all":
            self._nodes = self._all_nodes()
        k = len(names)
        find = finder(self._nodes)
        self._own = np.full(len(self._nodes), -1, dtype=np.int64)
        self._own[find(trained)] = classes
        table = np.zeros((len(self._nodes), k))
        table[find(trained), classes] = 1
        table[np.ix_(find(self._said), [names.index(label) for label in self._columns])] = self._rows
        self._histograms = self._sums(table, k)
        centers = self._own >= 0 if self._request.settings.centers == "train" else table.sum(axis=1) > 0
        return PairCounts(table[centers].T @ self._histograms[centers, :k])

    def _sums(self, table: Floats, k: int) -> NDArray[Any]:
        """Sums of neighbors [N, K] and, for training nodes, of their centers beside them [N, 2K]."""
        find = finder(self._nodes)
        out = np.zeros((len(self._nodes), 2 * k))
        is_center = self._own >= 0 if self._request.settings.centers == "train" else np.ones(len(out), dtype=bool)
        for batch in self._edges("counting"):
            ends: tuple[Ints, Ints] = (find(batch.column(0)), find(batch.column(1)))
            keep = (ends[0] >= 0) & (ends[1] >= 0) & (ends[0] != ends[1])
            ends = (ends[0][keep], ends[1][keep])
            for centers, neighbors in (ends, ends[::-1]) if self._request.undirected else (ends,):
                _add(out[:, :k], centers, table, neighbors)
                seen = (self._own[neighbors] >= 0) & is_center[centers]
                _add(out[:, k:], neighbors[seen], table, centers[seen])
        return out

    def _check(self) -> None:
        pc = require_extra("pyarrow.compute", "tables")
        totals, least = self._rows.sum(axis=1), self._rows.min(axis=1, initial=np.inf)
        wrong = np.flatnonzero(~((least >= 0) & (np.abs(totals - 1) <= TOLERANCE)))
        if wrong.size:
            at = int(wrong[0])
            raise not_a_distribution(self._said[at].as_py(), 1, float(least[at]), float(totals[at]))
        for row in pc.value_counts(self._said).to_pylist() if len(self._said) else []:
            if row["counts"] > 1:
                raise not_a_distribution(row["values"], row["counts"], 0.0, 1.0)


def _add(out: Floats, places: Ints, table: Floats, rows: Ints) -> None:
    for first in range(0, places.size, _ENTRIES):
        part = slice(first, first + _ENTRIES)
        np.add.at(out, places[part], table[rows[part]])
