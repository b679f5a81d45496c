"""The numbers of every cell: means with intervals, the paired difference to one-hot, the paper's figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postel.experiments.comparison import BASELINE
from postel.experiments.intervals import Interval, PairedDifference, bootstrap_interval, paired_difference
from postel.experiments.running.execute import Row
from postel.paper.published import Carried
from postel.report.cells import StudyCell
from postel.report.paper_figures import paper_figure

_LEVEL = 0.05


@dataclass(frozen=True)
class Line:
    """A cell's scores in percent: what one line of a table says.

    ``baseline`` is the one-hot cell it is compared with, ``difference`` what it gains over it on the splits that
    both have.
    """

    number: int
    cell: StudyCell
    accuracy: Interval
    macro_f1: Interval
    ece: Interval
    majority: float
    collapsed: int
    baseline: StudyCell | None
    difference: PairedDifference | None
    paper: Carried | None

    @property
    def splits(self) -> int:
        """How many splits the means are over."""
        return len(self.cell.rows)

    @property
    def has_collapsed(self) -> bool:
        """Whether most of its models predict one class for every test node."""
        return 2 * self.collapsed > self.splits

    @property
    def beats_majority(self) -> bool:
        """Whether it is right more often than a constant answer."""
        return self.accuracy.mean > self.majority

    @property
    def paper_gap(self) -> float | None:
        """Ours minus the paper's, in points."""
        return None if self.paper is None else self.accuracy.mean - self.paper.value

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` than one-hot where the permutation test says so, else nothing.

        The test is exact and needs six splits to say anything, while bootstrap intervals of few splits are short.
        """
        if self.difference is None or self.difference.p_value > _LEVEL:
            return ""
        return "better" if self.difference.interval.mean > 0 else "worse"


def lines_of(cells: Sequence[StudyCell]) -> list[Line]:
    """A line for every cell, numbered from 0."""
    return [_line(number, cell, _baseline(cell, cells)) for number, cell in enumerate(cells)]


def percents(rows: Sequence[Row], name: str) -> list[float]:
    """A test metric of every row, times 100.

    >>> percents([{"result": {"test": {"accuracy": 0.5}}}], "accuracy")
    [50.0]
    """
    return [100 * row["result"]["test"][name] for row in rows]


def shared_splits(cell: StudyCell, other: StudyCell | None) -> int:
    """How many splits both have."""
    return 0 if other is None else len(_splits(cell).keys() & _splits(other).keys())


def paired(cell: StudyCell, other: StudyCell, name: str = "accuracy") -> list[tuple[int, float, float]]:
    """(split, value of ``cell``, value of ``other``) of the splits that both have, in percent."""
    ours, theirs = _splits(cell), _splits(other)
    shared = sorted(ours.keys() & theirs.keys())
    return [(split, *percents([ours[split], theirs[split]], name)) for split in shared]  # type: ignore[misc]


def _line(number: int, cell: StudyCell, baseline: StudyCell | None) -> Line:
    accuracies = percents(cell.rows, "accuracy")
    difference = None
    if baseline is not None:
        pairs = paired(cell, baseline)
        difference = paired_difference([pair[1] for pair in pairs], [pair[2] for pair in pairs])
    majority = percents(cell.rows, "majority")
    return Line(
        number=number,
        cell=cell,
        accuracy=bootstrap_interval(accuracies),
        macro_f1=bootstrap_interval(percents(cell.rows, "macro_f1")),
        ece=bootstrap_interval(percents(cell.rows, "ece")),
        majority=sum(majority) / len(majority),
        collapsed=sum(row["collapsed"] for row in cell.rows),
        baseline=baseline,
        difference=difference,
        paper=paper_figure(cell),
    )


def _baseline(cell: StudyCell, cells: Sequence[StudyCell]) -> StudyCell | None:
    """The one-hot cell that ``cell`` is fairly compared with: same study, graph, backbone and budget."""
    if cell.method.name == BASELINE:
        return None

    def place(of: StudyCell) -> tuple[object, ...]:
        # Where nothing was searched, only the same settings are a fair comparison.
        settings = of.settings if of.budget["kind"] == "fixed" else None
        return of.study, of.dataset, of.backbone, of.budget_told, settings

    fair = [other for other in cells if other.method.name == BASELINE and place(other) == place(cell)]
    best = max(fair, key=lambda other: shared_splits(cell, other), default=None)
    return best if best is not None and shared_splits(cell, best) else None


def _splits(cell: StudyCell) -> dict[int, Row]:
    return {row["spec"]["split"]: row for row in cell.rows}
