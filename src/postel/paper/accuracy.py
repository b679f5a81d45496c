"""Accuracies of planned cells beside the paper's: as values, as lines to read, and in the paper's shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from postel.paper.names import backbone_label, dataset_label
from postel.paper.planning import Planned
from postel.paper.product import Product
from postel.paper.published import Published, published
from postel.paper.results import Outcome, Results
from postel.paper.table import NOTHING, Column, Table, decimals

NOT_RUN = "not run"
COLLAPSED = "†"
PaperFigure = Callable[[Planned], Published | None]

_NOTES = (
    "Test accuracy in percent; ±: larger side of the 95 % bootstrap interval over 1000 resamples, as the paper's "
    "code takes it; brackets: the ordinary 95 % interval over 10,000; difference: ours − paper."
)
COLLAPSE_NOTE = f"{COLLAPSED} most of its models predict one class for every test node."


@dataclass(frozen=True)
class Line:
    """One cell of an accuracy table: ours or None, and the paper's or None."""

    planned: Planned
    ours: Outcome | None
    paper: Published | None
    over_one_hot: float | None
    paper_over_one_hot: float | None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.ours is None or self.paper is None:
            return None
        return self.ours.interval.mean - self.paper.value

    @property
    def ours_text(self) -> str:
        """Mean ± larger side, with the mark of a collapse."""
        if self.ours is None:
            return NOT_RUN
        mark = COLLAPSED if self.ours.has_collapsed else ""
        side = "" if self.ours.interval.single else f" ±{self.ours.paper_side:.2f}"
        return f"{self.ours.interval.mean:.2f}{side}{mark}"

    @property
    def paper_text(self) -> str:
        """The paper's figure as it prints it."""
        if self.paper is None:
            return NOTHING
        return f"{self.paper.value:.2f}" + ("" if self.paper.side is None else f" ±{self.paper.side:.2f}")

    @property
    def difference_text(self) -> str:
        """The difference with its sign."""
        return decimals(2, signed=True)(self.difference)


def accuracy_product(
    name: str,
    title: str,
    cells: Sequence[Planned],
    results: Results,
    paper: PaperFigure,
    notes: Sequence[str] = (),
) -> Product:
    """The table of ``cells``; ``paper`` gives the paper's figure of a cell."""
    lines = accuracy_lines(cells, results, paper)
    told = (*_notes(lines), *notes)
    return Product(
        name,
        values=_values(title, lines),
        lines=_readable(title, lines, told),
        matrix=_matrix(title, lines, told),
    )


def gcn_figures(table: str, protocol: str = "paper") -> PaperFigure:
    """What the paper has for cells of one of its tables on GCN alone, by variant and dataset."""

    def figure(cell: Planned) -> Published | None:
        ours = (cell.backbone, cell.protocol) == ("gcn", protocol)
        return published(table).get((cell.variant.slug, cell.dataset)) if ours else None

    return figure


def accuracy_lines(cells: Sequence[Planned], results: Results, paper: PaperFigure) -> list[Line]:
    """A line for each cell; the gain over one-hot labels is of the same backbone, dataset and splits."""
    found = [(cell, results.of(cell), paper(cell)) for cell in cells]
    plain = {(c.backbone, c.dataset): (ours, theirs) for c, ours, theirs in found if c.variant.method == "one_hot"}
    lines = []
    for cell, ours, theirs in found:
        base, paper_base = plain.get((cell.backbone, cell.dataset), (None, None))
        gain = ours.over(base) if ours is not None and base is not None and base is not ours else None
        paper_gain = (
            theirs.value - paper_base.value if theirs and paper_base and theirs is not paper_base else None
        )
        lines.append(Line(cell, ours, theirs, gain.interval.mean if gain else None, paper_gain))
    return lines


def _values(title: str, lines: Sequence[Line]) -> Table:
    names = (
        "backbone method variant dataset protocol state ours ours_side low high paper paper_side difference "
        "splits collapsed_splits majority over_one_hot paper_over_one_hot budget"
    )
    rows = []
    for line in lines:
        cell, ours, paper = line.planned, line.ours, line.paper
        head = (cell.backbone, cell.variant.method, cell.variant.slug, cell.dataset, cell.protocol)
        if ours is None:
            measured: tuple[object, ...] = (NOT_RUN, None, None, None, None)
            rest: tuple[object, ...] = (0, None, None)
        else:
            state = "one class" if ours.has_collapsed else "run"
            interval = ours.interval
            measured = (state, interval.mean, ours.paper_side, interval.low, interval.high)
            rest = (len(ours.rows), ours.collapsed, ours.majority)
        theirs = (paper.value, paper.side) if paper else (None, None)
        gains = (line.over_one_hot, line.paper_over_one_hot)
        rows.append((*head, *measured, *theirs, line.difference, *rest, *gains, ours.budget if ours else None))
    return Table(title, tuple(Column(name) for name in names.split()), rows)


def _readable(title: str, lines: Sequence[Line], notes: tuple[str, ...]) -> Table:
    left = [Column(name, left=True) for name in ("backbone", "method", "dataset")]
    right = [Column(name) for name in ("ours", "95 %", "paper", "difference", "n")]
    rows = []
    for line in lines:
        cell, ours = line.planned, line.ours
        names = (backbone_label(cell.backbone), cell.variant.label, dataset_label(cell.dataset))
        known = ours is not None and not ours.interval.single
        interval = f"[{ours.interval.low:.2f}, {ours.interval.high:.2f}]" if ours and known else NOTHING
        work = (len(ours.rows) if ours else 0, short_budget(ours.budget) if ours else NOTHING)
        rows.append((*names, line.ours_text, interval, line.paper_text, line.difference_text, *work))
    return Table(title, (*left, *right, Column("budget", left=True)), rows, notes)


def _matrix(title: str, lines: Sequence[Line], notes: tuple[str, ...]) -> Table:
    datasets = list(dict.fromkeys(line.planned.dataset for line in lines))
    groups: dict[tuple[str, str], dict[str, Line]] = {}
    for line in lines:
        groups.setdefault((line.planned.backbone, line.planned.variant.slug), {})[line.planned.dataset] = line
    rows: list[tuple[str, ...]] = []
    for group in groups.values():
        some = next(iter(group.values())).planned
        label = f"{backbone_label(some.backbone)}, {some.variant.label}"

        def across(text: Callable[[Line], str], of: dict[str, Line] = group) -> list[str]:
            return [text(of[name]) if name in of else NOTHING for name in datasets]

        rows.append((label, "ours", *across(lambda line: line.ours_text)))
        rows.append(("", "paper", *across(lambda line: line.paper_text)))
        rows.append(("", "difference", *across(lambda line: line.difference_text)))
        if any(line.over_one_hot is not None for line in group.values()) and some.variant.method == "postel":
            rows.append(("", "Δ over one-hot, ours (paper)", *across(_gains)))
    heads = (Column("method", left=True), Column("", left=True))
    return Table(title, (*heads, *(Column(dataset_label(name)) for name in datasets)), rows, notes)


def _gains(line: Line) -> str:
    signed = decimals(2, signed=True)
    return f"{signed(line.over_one_hot)} ({signed(line.paper_over_one_hot)})"


def _notes(lines: Sequence[Line]) -> list[str]:
    run = [line.ours for line in lines if line.ours is not None]
    notes = [_NOTES]
    if any(outcome.has_collapsed for outcome in run):
        notes.append(COLLAPSE_NOTE)
    if run:
        counts = sorted({len(outcome.rows) for outcome in run})
        notes.append(
            f"n = {counts[0]} splits." if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]} splits."
        )
        budgets = Counter(outcome.budget for outcome in run)
        notes.append("Budget: " + "; ".join(f"{text} ({count} cells)" for text, count in budgets.items()) + ".")
        shares = {dataset_label(outcome.planned.dataset): outcome.majority for outcome in run}
        told = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        notes.append(f"A constant answer, the majority class of the test nodes, scores: {told}.")
    places: dict[tuple[str, str], set[object]] = {}
    for outcome in run:
        place = (backbone_label(outcome.planned.backbone), dataset_label(outcome.planned.dataset))
        places.setdefault(place, set()).add(outcome.allowed)
    unequal = [f"{network} on {name}" for (network, name), allowed in places.items() if len(allowed) > 1]
    if unequal:
        notes.append(f"Methods were searched with different budgets, so compare with care: {', '.join(unequal)}.")
    missing = len(lines) - len(run)
    if missing:
        notes.append(f"{missing} of {len(lines)} cells are not run.")
    return notes


def short_budget(text: str) -> str:
    """The part of a budget's description that fits a column.

    >>> [short_budget(text) for text in ("all 8 settings within 16 trials, 3 search splits", "no search: fixed")]
    ['16 trials on 3 splits', 'no search']
    """
    search, _, splits = text.partition(":")[0].partition(", ")
    return search.rpartition(" within ")[2] + (f" on {splits.replace('search ', '')}" if splits else "")
