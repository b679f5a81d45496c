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
    """Show no progress.

    Args:
        stage: What is being done.
        share: How much of it is done.
    """


@dataclass(frozen=True)
class Inputs:
    """The opened tables of a job.

    Args:
        edges: The edges.
        labels: The labels of training nodes.
        pseudo: The labels that a model gave to further nodes.
        ids: Kind of the node ids, ``integer`` or ``string``.
        label_kind: Kind of the labels, ``integer`` or ``string``.
    """

    edges: Table
    labels: Table
    pseudo: Table | None
    ids: str
    label_kind: str

    @classmethod
    def opened(cls, request: Request) -> Inputs:
        """Open the tables of a job: every file is looked at, and types are compared.

        Args:
            request: The job.

        Returns:
            The tables.

        Raises:
            InputError: If a table is missing, lacks a column, or has a type that does not fit.
        """
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
        """Put opened tables together.

        Args:
            edges: The edges.
            labels: The labels of training nodes.
            pseudo: The pseudo-labels, if there are any.
            id_type: ``auto``, ``integer`` or ``string``.

        Returns:
            The tables, with the kinds that they share.

        Raises:
            InputError: If node ids are of two kinds.
        """
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
        """About the number of bytes that the tables take in memory."""
        return sum(table.size for table in self.tables)


@dataclass(frozen=True)
class PairCounts:
    """Counts of (center's class, neighbor's class), whole numbers [K, K].

    Args:
        high: The counts; for the ``normalized`` likelihood the upper bits of sums of shares.
        low: The lower bits of those sums (see :func:`postel.scale.kernel.split_shares`).
    """

    high: Counts
    low: Counts | None = None

    def conditional(self) -> Floats:
        """Return P(neighbor's class | center's class), float64 [K, K] (Eq. 3)."""
        return normalize_rows(self.high if self.low is None else join_shares(self.high, self.low))


class Engine(Protocol):
    """Where the counting happens. ``census``, ``count`` and ``write`` are called once each, in this order."""

    def census(self) -> Mapping[int | str, int]:
        """Count the labelled nodes by label.

        Returns:
            Number of nodes of each label.

        Raises:
            InputError: If a node has two labels.
        """

    def count(self, names: Names) -> PairCounts:
        """Count pairs of classes over the edges; the engine keeps the histograms.

        Args:
            names: The label of class 0, 1, ...

        Returns:
            The pair counts.
        """

    def write(self, model: Model, target: str) -> int:
        """Write the soft labels.

        Args:
            model: What soft labels depend on besides neighbors.
            target: The file or folder.

        Returns:
            The number of rows.
        """

    def close(self) -> None:
        """Give back what the engine holds; called once, whatever happened before."""
