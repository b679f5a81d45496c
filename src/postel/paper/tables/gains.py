"""Not a table of the paper but a check of its claims: what its method gains over others on the same splits."""

from __future__ import annotations

from typing import Any, ClassVar

from postel.experiments.store.reader import Reader
from postel.paper.compared import COLLAPSE_NOTE, COLLAPSED, UNEQUAL, ComparedCell, corrected
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.table import NOT_RUN, Table, numbers, texts
from postel.paper.tables.main import TableMain
from postel.paper.variants import CALIBRATED, LS, ONE_HOT, POSTEL, POSTEL_AS_RELEASED, Variant

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
    "the corrected p is below 0.05, else open; not searched where settings of a method were not compared by a "
    "search of today's kind.",
)
_UNEQUAL_NOTE = "‡ the two were searched with different budgets: no fair comparison."
_MARKS = {"one class": COLLAPSED, UNEQUAL: "‡"}
_VALUES = (
    "dataset backbone protocol method over state gain low high resampled_low resampled_high p resampled_p "
    "corrected_p reads paper splits accuracy over_accuracy collapsed budget over_budget"
)


class TableGains(TableMain):
    """Posteriors against one-hot labels and against uniform smoothing, with the cells of the main table."""

    title = "What posterior smoothing gains over one-hot labels and over uniform smoothing"
    variants = (ONE_HOT, LS, *_POSTERIORS)
    any_method = False
    #: Who is held against whom.
    compared: ClassVar[tuple[tuple[Variant, Variant], ...]] = PAIRS

    def pairs(self, reader: Reader) -> list[ComparedCell]:
        """Return each pair of methods on each dataset and backbone: one of them, compared with the other.

        Args:
            reader: The store's reader.
        """
        entries = {(entry.place, entry.variant.slug): entry for entry in self.entries(reader)}
        found = []
        for place in dict.fromkeys(place for place, _ in entries):
            for variants in self.compared:
                one, other = (entries.get((place, variant.slug)) for variant in variants)
                if one is not None and other is not None:
                    found.append(one.against(other))
        return corrected(found)

    def make(self, reader: Reader) -> Rendering:
        """Return a line for each pair.

        Args:
            reader: The store's reader.
        """
        pairs = self.pairs(reader)
        states = set(map(state_of_pair, pairs))
        marks = {"one class": COLLAPSE_NOTE, UNEQUAL: _UNEQUAL_NOTE}
        notes = (*_NOTES, *(note for state, note in marks.items() if state in states))
        return Rendering(
            self.name,
            Table(self.title, numbers(*_VALUES.split()), list(map(_values, pairs))),
            Table(self.title, _COLUMNS, list(map(_readable, pairs)), notes),
        )


def state_of_pair(pair: ComparedCell) -> str:
    """Return whether both were run, and what keeps them from being a fair comparison.

    Args:
        pair: A cell, compared with another.
    """
    if pair.gain is None or pair.baseline is None:
        return NOT_RUN
    if pair.is_unequal:
        return UNEQUAL
    return pair.state if pair.state != "run" else pair.baseline.state


def _labels(pair: ComparedCell) -> tuple[str, str]:
    return pair.variant.label, pair.baseline.variant.label if pair.baseline else ""


def _values(pair: ComparedCell) -> tuple[Any, ...]:
    question, gain = pair.question, pair.gain
    head = (question.dataset, question.backbone, question.protocol, *_labels(pair), state_of_pair(pair))
    if gain is None or pair.baseline is None:
        return (*head, *[None] * 9, pair.paper_gain, 0, *[None] * 5)
    span, wide, one, other = gain.interval, gain.resampled, pair.cell, pair.baseline.cell
    tests = (gain.p_value, gain.difference.resampled_p, gain.corrected, pair.reads)
    measured = (span.mean, span.low, span.high, wide.low, wide.high, *tests, pair.paper_gain, gain.splits)
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


def _readable(pair: ComparedCell) -> tuple[Any, ...]:
    question, gain = pair.question, pair.gain
    head = (dataset_label(question.dataset), backbone_label(question.backbone), " − ".join(_labels(pair)))
    if gain is None:
        return (*head, NOT_RUN, *[None] * 4, pair.paper_gain, 0, None)
    intervals = [f"[{span.low:+z.2f}, {span.high:+z.2f}]" for span in (gain.interval, gain.resampled)]
    told = (
        f"{gain.mean:+z.2f}{_MARKS.get(state_of_pair(pair), '')}",
        *intervals,
        f"{gain.corrected:.3f}",
        pair.reads,
    )
    return (*head, *told, pair.paper_gain, gain.splits, pair.cell.allowance_in_words)
