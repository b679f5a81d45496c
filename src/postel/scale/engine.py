"""What an engine has to do: find the labels, count, and write the rows. Everything else is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postel.errors import InputError
from postel.scale.calibrated_kernel import CalibratedModel
from postel.scale.column_kinds import common_kind
from postel.scale.kernel import Counts, Floats, Model, join_shares, normalize_rows
from postel.scale.probabilities import open_pseudo_labels
from postel.scale.request import Request
from postel.scale.tables import Table, open_table

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
            pseudo = open_pseudo_labels(request.pseudo_labels, names)
            if pseudo.probabilities and not request.reverse:
                raise InputError(
                    f"pseudo-labels {pseudo.path} hold probabilities, which only the method calibrated takes: use "
                    f"it, or give each node's most probable class in a column {names.label!r}"
                )
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
        kinds = {table.kinds[1] for table in tables if not table.probabilities}
        return cls(edges, labels, pseudo, common_kind(ids, id_type), "string" if "string" in kinds else "integer")

    @property
    def soft(self) -> bool:
        """Whether pseudo-labels are probabilities."""
        return self.pseudo is not None and bool(self.pseudo.probabilities)

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
    """Counts of (center's class, neighbor's class), whole numbers [K, K], or expected ones of probabilities.

    Args:
        high: The counts; for the ``normalized`` likelihood the upper bits of sums of shares.
        low: The lower bits of those sums (see :func:`postel.scale.kernel.split_shares`).
    """

    high: NDArray[Any]
    low: NDArray[Any] | None = None

    def conditional(self) -> Floats:
        """Return P(neighbor's class | center's class), float64 [K, K] (Eq. 3)."""
        return normalize_rows(self.high if self.low is None else join_shares(self.high, self.low))


class Engine(Protocol):
    """Where the counting happens.

    ``census``, ``count`` and ``write`` come once each, in this order; ``sample``, if at all, before ``write``.
    """

    def census(self) -> Mapping[int | str, float]:
        """Count the labelled nodes by label.

        Returns:
            Number of nodes of each label; of those with probabilities, what they sum to.

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

    def sample(self, most: int) -> tuple[Counts, Counts]:
        """Hand over the counts of training nodes, or of ``most`` of them, evenly spaced in the order of their ids.

        Args:
            most: How many nodes at most.

        Returns:
            Their histograms (see :attr:`Request.reverse <postel.scale.request.Request.reverse>`) and classes.
        """

    def write(self, model: Model | CalibratedModel, target: str) -> int:
        """Write the soft labels.

        Args:
            model: What soft labels depend on besides neighbors.
            target: The file or folder.

        Returns:
            The number of rows.
        """

    def close(self) -> None:
        """Give back what the engine holds; called once, whatever happened before."""


def histograms_of(
    entries: Sequence[tuple[int, int, int, Any]], width: int, dtype: type = np.int64
) -> tuple[NDArray[Any], Counts]:
    """Put counted rows into arrays.

    Args:
        entries: Rows (place, own, class, n); a place may have several rows of one class.
        width: Number of columns.
        dtype: Type of the numbers n.

    Returns:
        Histograms, one row per place, and the training class of each.

    Example:
        >>> histograms_of([(1, 0, 2, 5), (0, 1, 0, 0), (1, 0, 2, 1)], 3)
        (array([[0, 0, 0],
               [0, 0, 6]]), array([1, 0]))
    """
    table = np.array([tuple(row)[:3] for row in entries], dtype=np.int64).reshape(-1, 3)
    numbers: NDArray[Any] = np.array([row[3] for row in entries], dtype=dtype)
    size = int(table[:, 0].max(initial=-1)) + 1
    histograms: NDArray[Any] = np.zeros((size, width), dtype=dtype)
    own = np.full(size, -1, dtype=np.int64)
    np.add.at(histograms, (table[:, 0], table[:, 2]), numbers)
    own[table[:, 0]] = table[:, 1]
    return histograms, own
