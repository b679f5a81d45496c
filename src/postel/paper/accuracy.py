"""Tables of accuracies beside the paper's: as values, as lines to read, and in the paper's shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from postel.experiments.results import Cell
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.compared import COLLAPSE_NOTE, ComparedCell
from postel.paper.names import backbone_label, dataset_label
from postel.paper.published import Published, published
from postel.paper.rendering import Rendering
from postel.paper.requests import CellRequest
from postel.paper.table import NOTHING, Table, decimals, numbers, span, texts
from postel.paper.target import Target
from postel.paper.variants import BASELINE

_NOTE = (
    "Test accuracy in percent; ±: larger side of the 95 % bootstrap interval over 1000 resamples, as the paper's "
    "code takes it; brackets: the ordinary 95 % interval over 10,000; difference: ours − paper."
)
_VALUES = (
    "backbone method variant dataset protocol state ours ours_side low high paper paper_side difference "
    "splits collapsed_splits majority over_one_hot paper_over_one_hot budget"
)
_READABLE = (
    *texts("backbone", "method", "dataset"),
    *numbers("ours", "95 %", "paper", "difference", "n"),
    *texts("budget"),
)
_SIGNED = decimals(2, signed=True)


class AccuracyTable(Target):
    """A table of test accuracies, ours beside the paper's."""

    notes: ClassVar[tuple[str, ...]] = ()

    def paper(self, request: CellRequest) -> Published | None:
        """Return the paper's figure for a cell of the table; None if it has none.

        Args:
            request: The cell.
        """
        return None

    def entries(self, reader: Reader) -> list[ComparedCell]:
        """Return our cells beside the paper's figures, each compared with one-hot labels at its place.

        Args:
            reader: The store's reader.
        """
        entries = [
            ComparedCell(request.question, request.variant, request.answer(reader), self.paper(request))
            for request in self.requests
        ]
        plain = {_where(entry): entry for entry in entries if entry.variant.method == BASELINE}
        return [entry.against(plain.get(_where(entry))) for entry in entries]

    def make(self, reader: Reader) -> Rendering:
        """Return the table as values, as lines, and with one column per dataset.

        Args:
            reader: The store's reader.
        """
        entries = self.entries(reader)
        notes = (*_notes(entries), *self.notes)
        return Rendering(
            self.name,
            Table(self.title, numbers(*_VALUES.split()), list(map(_values, entries))),
            Table(self.title, _READABLE, list(map(_readable, entries)), notes),
            _matrix(self.title, entries, notes),
        )


class GcnTable(AccuracyTable):
    """A table of accuracies of GCN, whose figures of the paper are in a file of the table's name."""

    def paper(self, request: CellRequest) -> Published | None:
        """Return the paper's figure, by variant and dataset.

        Args:
            request: The cell.
        """
        if (request.backbone, request.question.protocol) != ("gcn", self.protocol or "paper"):
            return None
        figures = published(self.name.removeprefix("table-").replace("-", "_"))
        return figures.get((request.variant.slug, request.dataset))


def by_dataset(title: str, lines: Iterable[tuple[str, str, Mapping[str, str]]], notes: tuple[str, ...]) -> Table:
    """Return a table with one column per dataset, as the paper's tables are.

    Args:
        title: Its title.
        lines: What each line is about, what it shows of that, and its texts by dataset.
        notes: Notes below it.
    """
    lines = list(lines)
    datasets = list(dict.fromkeys(name for *_, shown in lines for name in shown))
    rows = [(about, what, *(shown.get(name, NOTHING) for name in datasets)) for about, what, shown in lines]
    return Table(title, (*texts("method", ""), *numbers(*map(dataset_label, datasets))), rows, notes)


def _where(entry: ComparedCell) -> tuple[object, ...]:
    return entry.place, entry.question.protocol


def _values(entry: ComparedCell) -> tuple[object, ...]:
    question, cell, paper, gain = entry.question, entry.answer, entry.paper, entry.gain
    method = (question.backbone, entry.variant.method, entry.variant.slug)
    measured: tuple[object, ...] = (None,) * 4
    work: tuple[object, ...] = (0, None, None)
    if cell is not None:
        span = cell.accuracy.interval
        measured = (span.mean, cell.accuracy.paper_side, span.low, span.high)
        work = (len(cell.rows), cell.collapsed, cell.majority)
    head = (*method, question.dataset, question.protocol, entry.state, *measured)
    theirs = (paper.value, paper.side) if paper else (None, None)
    gains = (gain.mean if gain else None, entry.paper_gain)
    return (*head, *theirs, entry.difference, *work, *gains, cell.spent.text if cell else None)


def _readable(entry: ComparedCell) -> tuple[object, ...]:
    question, cell = entry.question, entry.answer
    names = (backbone_label(question.backbone), entry.variant.label, dataset_label(question.dataset))
    span = cell.accuracy.interval if cell else None
    interval = f"[{span.low:.2f}, {span.high:.2f}]" if span and not span.single else NOTHING
    work = (len(cell.rows), cell.allowance_in_words) if cell else (0, NOTHING)
    return (*names, entry.text, interval, entry.paper_text, _SIGNED(entry.difference), *work)


def _matrix(title: str, entries: Sequence[ComparedCell], notes: tuple[str, ...]) -> Table:
    groups: dict[tuple[str, str], dict[str, ComparedCell]] = {}
    for entry in entries:
        groups.setdefault((entry.question.backbone, entry.variant.slug), {})[entry.question.dataset] = entry
    lines: list[tuple[str, str, dict[str, str]]] = []
    for (backbone, _), group in groups.items():
        variant = next(iter(group.values())).variant
        lines += [
            (
                f"{backbone_label(backbone)}, {variant.label}",
                "ours",
                {name: one.text for name, one in group.items()},
            ),
            ("", "paper", {name: one.paper_text for name, one in group.items()}),
            ("", "difference", {name: _SIGNED(one.difference) for name, one in group.items()}),
        ]
        if variant.method == "postel" and any(one.gain for one in group.values()):
            gains = {name: (one.gain.mean if one.gain else None, one.paper_gain) for name, one in group.items()}
            told = {name: "{} ({})".format(*map(_SIGNED, pair)) for name, pair in gains.items()}
            lines.append(("", "Δ over one-hot, ours (paper)", told))
    return by_dataset(title, lines, notes)


def _notes(entries: Sequence[ComparedCell]) -> list[str]:
    run = [entry.answer for entry in entries if entry.answer is not None]
    notes = [_NOTE]
    if any(cell.has_collapsed for cell in run):
        notes.append(COLLAPSE_NOTE)
    if run:
        notes.append(f"n = {span(len(cell.rows) for cell in run)} splits.")
        notes.append(f"Budget: {budgets_in_words(run)}.")
        shares = {dataset_label(cell.question.dataset): cell.majority for cell in run}
        told = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        notes.append(f"A constant answer, the majority class of the test nodes, scores: {told}.")
    places = grouped(run, lambda cell: (cell.question.backbone, cell.question.dataset))
    unequal = [
        f"{backbone_label(network)} on {dataset_label(name)}"
        for (network, name), cells in places.items()
        if len({cell.allowance for cell in cells}) > 1
    ]
    if unequal:
        notes.append(f"Methods were searched with different budgets, so compare with care: {', '.join(unequal)}.")
    if len(run) < len(entries):
        notes.append(f"{len(entries) - len(run)} of {len(entries)} cells are not run.")
    return notes


def budgets_in_words(cells: Sequence[Cell]) -> str:
    """Return the budgets of cells and what was spent of them.

    Args:
        cells: The cells.

    Returns:
        A phrase for each kind of search, with its cells; those that only took more or fewer trainings share one.
    """
    phrases = []
    for text, same in grouped(cells, _course).items():
        counted = [cell.spent.trainings for cell in same if cell.spent.trainings is not None]
        spent = f", {span(counted)} trainings" if text != same[0].spent.text else ""
        phrases.append(f"{text}{spent} ({len(same)} cell{'s' if len(same) > 1 else ''})")
    return "; ".join(phrases)


def _course(cell: Cell) -> str:
    """The budget of a cell and what its search did, without how many trainings that took."""
    return cell.spent.text.removesuffix(f"; {cell.spent.trainings} trainings")
