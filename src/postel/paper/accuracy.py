"""Tables of accuracies beside the paper's: as values, as lines to read, and in the paper's shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from postel.experiments.results import Cell
from postel.experiments.scores import Gain
from postel.experiments.store.reader import Reader
from postel.paper.names import backbone_label, dataset_label
from postel.paper.product import Product
from postel.paper.published import Published, published
from postel.paper.questions import Asked
from postel.paper.table import NOTHING, Table, decimals, numbers, texts
from postel.paper.target import Target

NOT_RUN = "not run"
COLLAPSED = "†"
COLLAPSE_NOTE = f"{COLLAPSED} most of its models predict one class for every test node."

_NOTE = (
    "Test accuracy in percent; ±: larger side of the 95 % bootstrap interval over 1000 resamples, as the paper's "
    "code takes it; brackets: the ordinary 95 % interval over 10,000; difference: ours − paper."
)
_VALUES = (
    "backbone method variant dataset protocol state ours ours_side low high paper paper_side difference "
    "splits collapsed_splits majority over_one_hot paper_over_one_hot budget"
)
_SIGNED = decimals(2, signed=True)


@dataclass(frozen=True)
class Entry:
    """One place of a table of accuracies.

    Args:
        asked: What was asked.
        cell: Our answer, with rows; None if it was not run.
        paper: The paper's figure; None if it has none.
    """

    asked: Asked
    cell: Cell | None
    paper: Published | None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return self.cell.accuracy.interval.mean - self.paper.value if self.cell and self.paper else None

    @property
    def text(self) -> str:
        """Ours: mean ± larger side, with the mark of a collapse."""
        if self.cell is None:
            return NOT_RUN
        score, mark = self.cell.accuracy, COLLAPSED if self.cell.has_collapsed else ""
        return f"{score.interval.mean:.2f}{'' if score.interval.single else f' ±{score.paper_side:.2f}'}{mark}"

    @property
    def paper_text(self) -> str:
        """The paper's figure as it prints it."""
        return NOTHING if self.paper is None else str(self.paper)

    def gain(self, base: Entry) -> Gain | None:
        """Return what ours gains over another entry on the splits that both have; None if one was not run.

        Args:
            base: The other entry.
        """
        return self.cell.accuracy.gain_over(base.cell.accuracy) if self.cell and base.cell else None

    def paper_gain(self, base: Entry) -> float | None:
        """Return the difference of the paper's figures; None if it lacks one.

        Args:
            base: The other entry.
        """
        return self.paper.value - base.paper.value if self.paper and base.paper else None


class AccuracyTable(Target):
    """A table of test accuracies, ours beside the paper's."""

    notes: ClassVar[tuple[str, ...]] = ()

    def paper(self, asked: Asked) -> Published | None:
        """Return the paper's figure for a question of the table; None if it has none.

        Args:
            asked: The question.
        """
        return None

    def entries(self, reader: Reader) -> list[Entry]:
        """Return an entry for each of its questions.

        Args:
            reader: The store's reader.
        """
        return [Entry(asked, asked.answer(reader), self.paper(asked)) for asked in self.cells]

    def make(self, reader: Reader) -> Product:
        """Return the table as values, as lines, and with one column per dataset.

        Args:
            reader: The store's reader.
        """
        entries = self.entries(reader)
        bases = {entry.asked.place: entry for entry in entries if entry.asked.variant.method == "one_hot"}
        rows = [(entry, _gains(entry, bases.get(entry.asked.place))) for entry in entries]
        notes = (*_notes(entries), *self.notes)
        return Product(
            self.name,
            Table(self.title, numbers(*_VALUES.split()), [_values(entry, *gains) for entry, gains in rows]),
            Table(self.title, _READABLE, list(map(_readable, entries)), notes),
            _matrix(self.title, rows, notes),
        )


class GcnTable(AccuracyTable):
    """A table of accuracies of GCN, whose figures of the paper are in a file of the table's name."""

    def paper(self, asked: Asked) -> Published | None:
        """Return the paper's figure, by variant and dataset.

        Args:
            asked: The question.
        """
        if (asked.backbone, asked.question.protocol) != ("gcn", self.protocol or "paper"):
            return None
        figures = published(self.name.removeprefix("table-").replace("-", "_"))
        return figures.get((asked.variant.slug, asked.dataset))


def _gains(entry: Entry, base: Entry | None) -> tuple[float | None, float | None]:
    if base is None or base is entry:
        return None, None
    gain = entry.gain(base)
    return gain.mean if gain else None, entry.paper_gain(base)


def _values(entry: Entry, gain: float | None, paper_gain: float | None) -> tuple[object, ...]:
    asked, cell, paper = entry.asked, entry.cell, entry.paper
    head = (asked.backbone, asked.variant.method, asked.variant.slug, asked.dataset, asked.question.protocol)
    measured: tuple[object, ...] = (NOT_RUN, None, None, None, None)
    work: tuple[object, ...] = (0, None, None)
    if cell is not None:
        span = cell.accuracy.interval
        state = "one class" if cell.has_collapsed else "run"
        measured = (state, span.mean, cell.accuracy.paper_side, span.low, span.high)
        work = (len(cell.rows), cell.collapsed, cell.majority)
    theirs = (paper.value, paper.side) if paper else (None, None)
    budget = cell.spent.text if cell else None
    return (*head, *measured, *theirs, entry.difference, *work, gain, paper_gain, budget)


_READABLE = (
    *texts("backbone", "method", "dataset"),
    *numbers("ours", "95 %", "paper", "difference", "n"),
    *texts("budget"),
)


def _readable(entry: Entry) -> tuple[object, ...]:
    asked, cell = entry.asked, entry.cell
    names = (backbone_label(asked.backbone), asked.variant.label, dataset_label(asked.dataset))
    span = cell.accuracy.interval if cell else None
    interval = f"[{span.low:.2f}, {span.high:.2f}]" if span and not span.single else NOTHING
    work = (len(cell.rows), cell.allowance_in_words) if cell else (0, NOTHING)
    return (*names, entry.text, interval, entry.paper_text, _SIGNED(entry.difference), *work)


def _matrix(title: str, rows: Sequence[tuple[Entry, tuple[float | None, ...]]], notes: tuple[str, ...]) -> Table:
    datasets = list(dict.fromkeys(entry.asked.dataset for entry, _ in rows))
    groups: dict[tuple[str, str], dict[str, tuple[Entry, tuple[float | None, ...]]]] = {}
    for entry, gains in rows:
        group = groups.setdefault((entry.asked.backbone, entry.asked.variant.slug), {})
        group[entry.asked.dataset] = (entry, gains)
    lines: list[tuple[str, ...]] = []
    for group in groups.values():
        some = next(iter(group.values()))[0].asked
        texts_of: dict[str, Callable[[Entry], str]] = {
            "ours": lambda entry: entry.text,
            "paper": lambda entry: entry.paper_text,
            "difference": lambda entry: _SIGNED(entry.difference),
        }
        heads = [f"{backbone_label(some.backbone)}, {some.variant.label}", "", ""]
        for head, (name, text) in zip(heads, texts_of.items(), strict=True):
            lines.append((head, name, *(text(group[d][0]) if d in group else NOTHING for d in datasets)))
        if some.variant.method == "postel" and any(gains[0] is not None for _, gains in group.values()):
            told = ["{} ({})".format(*map(_SIGNED, group[d][1])) if d in group else NOTHING for d in datasets]
            lines.append(("", "Δ over one-hot, ours (paper)", *told))
    return Table(title, (*texts("method", ""), *numbers(*map(dataset_label, datasets))), lines, notes)


def _notes(entries: Sequence[Entry]) -> list[str]:
    run = [entry.cell for entry in entries if entry.cell is not None]
    notes = [_NOTE]
    if any(cell.has_collapsed for cell in run):
        notes.append(COLLAPSE_NOTE)
    if run:
        few, many = min(len(cell.rows) for cell in run), max(len(cell.rows) for cell in run)
        notes.append(f"n = {few} splits." if few == many else f"n = {few} to {many} splits.")
        budgets = Counter(cell.spent.text for cell in run)
        notes.append("Budget: " + "; ".join(f"{text} ({count} cells)" for text, count in budgets.items()) + ".")
        shares = {dataset_label(cell.question.dataset): cell.majority for cell in run}
        told = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        notes.append(f"A constant answer, the majority class of the test nodes, scores: {told}.")
    places: dict[tuple[str, str], set[object]] = {}
    for cell in run:
        places.setdefault((cell.question.backbone, cell.question.dataset), set()).add(cell.allowance)
    unequal = [
        f"{backbone_label(network)} on {dataset_label(name)}"
        for (network, name), allowed in places.items()
        if len(allowed) > 1
    ]
    if unequal:
        notes.append(f"Methods were searched with different budgets, so compare with care: {', '.join(unequal)}.")
    if len(run) < len(entries):
        notes.append(f"{len(entries) - len(run)} of {len(entries)} cells are not run.")
    return notes
