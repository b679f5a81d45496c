"""What an engine has to do: find the labels, count, and write the rows. Everything else is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from postel.scale.kernel import Counts, Floats, Model, join_shares, normalize_rows
from postel.scale.request import Request
from postel.scale.tables import Table, common_kind, open_table

Names = Sequence[int] | Sequence[str]

#: Called with what is being done and how much of it is done (0 to 1, or None where that is not known).
Progress = Callable[[str, float | None], None]


def silent(stage: str, share: float | None) -> None:
    """No progress shown."""


@dataclass(frozen=True)
class Inputs:
    """The opened tables of a request; ``ids`` and ``label_kind`` are ``integer`` or ``string``."""

    edges: Table
    labels: Table
    pseudo: Table | None
    ids: str
    label_kind: str

    @classmethod
    def opened(cls, request: Request) -> Inputs:
        """The tables of ``request``, each file of them looked at and their types compared."""
        names = request.columns
        edges = open_table("edges", request.edges, (names.source, names.target), names.separator)
        labels = open_table("labels", request.labels, (names.node, names.label), names.separator)
        pseudo = None
        if request.pseudo_labels is not None:
            columns = (names.node, names.label)
            pseudo = open_table("pseudo-labels", request.pseudo_labels, columns, names.separator)
        return cls.of(edges, labels, pseudo, names.id_type)

    @classmethod
    def of(cls, edges: Table, labels: Table, pseudo: Table | None, id_type: str) -> Inputs:
        """The inputs of opened tables."""
        tables = [labels] if pseudo is None else [labels, pseudo]
        ids = [(edges.what, edges.columns[at], edges.kinds[at]) for at in (0, 1)]
        ids += [(table.what, table.columns[0], table.kinds[0]) for table in tables]
        kinds = {table.kinds[1] for table in tables}
        return cls(edges, labels, pseudo, common_kind(ids, id_type), "string" if "string" in kinds else "integer")

    @property
    def tables(self) -> list[Table]:
        """All of the tables."""
        return [table for table in (self.edges, self.labels, self.pseudo) if table is not None]

    @property
    def files(self) -> list[str]:
        """All files that are read, and what they were named by."""
        return [name for table in self.tables if not table.remote for name in (table.path, *table.files)]

    @property
    def size(self) -> int:
        """About the bytes that the tables take in memory."""
        return sum(table.size for table in self.tables)


@dataclass(frozen=True)
class PairCounts:
    """Counts of (class of centre, class of neighbor), whole numbers [K, K].

    For the ``normalized`` likelihood they are sums of shares: ``low`` then holds their lower bits (see
    :func:`postel.scale.kernel.split_shares`).
    """

    high: Counts
    low: Counts | None = None

    def conditional(self) -> Floats:
        """P(neighbor's class | class), float64 [K, K] (Eq. 3)."""
        return normalize_rows(self.high if self.low is None else join_shares(self.high, self.low))


class Engine(Protocol):
    """Where the counting happens. The methods are called once each, in this order."""

    def census(self) -> Mapping[int | str, int]:
        """Labelled nodes by label; a node with two labels is an :class:`postel.errors.InputError`."""

    def count(self, names: Names) -> PairCounts:
        """The pair counts, once the label of each class number is known; the engine keeps the histograms."""

    def write(self, model: Model, target: str) -> int:
        """The number of rows of soft labels that were written to ``target``."""
