"""Not a table of the paper but a check of its claims: what its method gains over others on the same splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postel.experiments.scores import Gain, corrected_gains
from postel.experiments.store.reader import Reader
from postel.paper.accuracy import COLLAPSE_NOTE, COLLAPSED, NOT_RUN, Entry
from postel.paper.names import backbone_label, dataset_label
from postel.paper.product import Product
from postel.paper.table import Table, numbers, texts
from postel.paper.tables.main import TableMain
from postel.paper.variants import CALIBRATED, LS, ONE_HOT, POSTEL, POSTEL_AS_RELEASED

_POSTERIORS = (POSTEL, POSTEL_AS_RELEASED, CALIBRATED)
#: Who is held against whom: the paper's two claims for each of the posteriors, and how much of them smoothing is.
PAIRS = (
    (POSTEL, ONE_HOT),
    (LS, ONE_HOT),
    (POSTEL, LS),
    *((ours, theirs) for ours in _POSTERIORS[1:] for theirs in (ONE_HOT, LS)),
)

_NOTES = (
    "Gain: mean paired difference of test accuracy over the same splits, in points; 95 %: bootstrap interval "
    "(10,000 resamples), as if splits were independent.",
    "Splits share nodes: the resampled 95 % and p are those of the corrected resampled t of Nadeau and Bengio, p "
    "after Holm's correction for the number of lines.",
    "Reads: more or less where the bootstrap interval leaves out 0, an exact sign-flip test gives p < 0.05 and "
    "the corrected p is below 0.05, else open.",
)
_UNEQUAL_NOTE = "‡ the two were searched with different budgets: no fair comparison."
_MARKS = {"one class": COLLAPSED, "unequal search": "‡"}
_VALUES = (
    "dataset backbone protocol method over state gain low high resampled_low resampled_high p resampled_p "
    "corrected_p reads paper splits accuracy over_accuracy collapsed budget over_budget"
)


@dataclass(frozen=True)
class Pair:
    """A method against another one at the same place.

    Args:
        one: The method.
        other: The one that it is held against.
        gain: What it gains on the splits that both have, corrected for the lines of the table; None if one of them
            was not run.
    """

    one: Entry
    other: Entry
    gain: Gain | None

    @property
    def state(self) -> str:
        """Whether it was run, and what keeps it from being a fair comparison."""
        if self.one.cell is None or self.other.cell is None or self.gain is None:
            return NOT_RUN
        if self.one.cell.allowance != self.other.cell.allowance:
            return "unequal search"
        return "one class" if self.one.cell.has_collapsed or self.other.cell.has_collapsed else "run"

    @property
    def paper(self) -> float | None:
        """The difference of the paper's figures."""
        return self.one.paper_gain(self.other)


class TableGains(TableMain):
    """Posteriors against one-hot labels and against uniform smoothing, with the cells of the main table."""

    name = "table-gains"
    title = "What posterior smoothing gains over one-hot labels and over uniform smoothing"
    variants = (ONE_HOT, LS, *_POSTERIORS)
    any_method = False

    def pairs(self, reader: Reader) -> list[Pair]:
        """Return each pair of methods on each dataset and backbone.

        Args:
            reader: The store's reader.
        """
        entries = {(entry.asked.place, entry.asked.variant.slug): entry for entry in self.entries(reader)}
        found = []
        for place in dict.fromkeys(place for place, _ in entries):
            for variants in PAIRS:
                one, other = (entries.get((place, variant.slug)) for variant in variants)
                if one is not None and other is not None:
                    found.append((one, other))
        gains = corrected_gains([one.gain(other) for one, other in found])
        return [Pair(one, other, gain) for (one, other), gain in zip(found, gains, strict=True)]

    def make(self, reader: Reader) -> Product:
        """Return a line for each pair.

        Args:
            reader: The store's reader.
        """
        pairs = self.pairs(reader)
        states = {pair.state for pair in pairs}
        marks = {"one class": COLLAPSE_NOTE, "unequal search": _UNEQUAL_NOTE}
        notes = (*_NOTES, *(note for state, note in marks.items() if state in states))
        return Product(
            self.name,
            Table(self.title, numbers(*_VALUES.split()), list(map(_values, pairs))),
            Table(self.title, _COLUMNS, list(map(_readable, pairs)), notes),
        )


def _values(pair: Pair) -> tuple[Any, ...]:
    asked, one, other, gain = pair.one.asked, pair.one.cell, pair.other.cell, pair.gain
    names = (asked.variant.label, pair.other.asked.variant.label)
    head = (asked.dataset, asked.backbone, asked.question.protocol, *names, pair.state)
    if one is None or other is None or gain is None:
        return (*head, *[None] * 9, pair.paper, 0, *[None] * 5)
    span, wide = gain.interval, gain.resampled
    tests = (gain.p_value, gain.difference.resampled_p, gain.corrected, gain.reads)
    measured = (span.mean, span.low, span.high, wide.low, wide.high, *tests, pair.paper, gain.splits)
    means = (one.accuracy.interval.mean, other.accuracy.interval.mean, one.collapsed)
    return (*head, *measured, *means, one.spent.text, other.spent.text)


_COLUMNS = (
    *texts("dataset", "backbone", "comparison"),
    *numbers("gain", "95 %", "resampled 95 %", "p"),
    *texts("reads"),
    *numbers("paper", places=2, signed=True),
    *numbers("n"),
    *texts("budget"),
)


def _readable(pair: Pair) -> tuple[Any, ...]:
    asked, gain = pair.one.asked, pair.gain
    names = f"{asked.variant.label} − {pair.other.asked.variant.label}"
    head = (dataset_label(asked.dataset), backbone_label(asked.backbone), names)
    if pair.one.cell is None or gain is None:
        return (*head, NOT_RUN, *[None] * 4, pair.paper, 0, None)
    intervals = [f"[{span.low:+z.2f}, {span.high:+z.2f}]" for span in (gain.interval, gain.resampled)]
    told = (f"{gain.mean:+z.2f}{_MARKS.get(pair.state, '')}", *intervals, f"{gain.corrected:.3f}", gain.reads)
    return (*head, *told, pair.paper, gain.splits, pair.one.cell.allowance_in_words)


TARGET = TableGains
