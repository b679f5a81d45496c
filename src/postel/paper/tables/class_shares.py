"""Not a table of the paper but a check of its splits: what is gained by models that are told the class shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any, ClassVar

from postel.errors import InputError
from postel.experiments.results import Row
from postel.experiments.running.workers import WorkerDiedError, map_in_processes
from postel.experiments.scores import Gain
from postel.experiments.store import Store
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.compared import ComparedCell, corrected
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import CellRequest, Options
from postel.paper.table import NOT_RUN, Table, numbers, texts
from postel.paper.tables.main import TableMain
from postel.paper.target import Watch
from postel.paper.variants import CALIBRATED, LS, ONE_HOT, POSTEL, POSTEL_AS_RELEASED, Variant
from postel.paper.weighing import weigh

_CLEAR = "‡"
_NOTES = (
    "Test accuracy in percent, mean over splits, at the settings that a search chose before any weighting. "
    "Largest class: that of most test nodes, its share of training and of test nodes. Weighted: the same "
    "models, their logits scaled by a temperature that fits validation nodes, and probabilities times the "
    "classes' shares of the validation nodes over those of the training nodes. 95 %: bootstrap interval of the "
    "paired difference (10,000 resamples). On validation: what weighting gains on validation nodes.",
    "Under a method: what it gains over one-hot labels → what is left if models of both are told, that is "
    f"weighted where that gains on validation nodes, with its 95 % interval; {_CLEAR} what is left is clear, "
    "corrected for shared nodes and for the comparisons of the table.",
)
_VALUES = (
    "dataset backbone method variant protocol state share_in_training share_in_test accuracy weighted "
    "weighting_gains low high weighting_gains_on_validation told over_one_hot told_over_one_hot told_low "
    "told_high corrected_p reads splits budget"
)
_COLUMNS = (
    *texts("dataset", "backbone"),
    *numbers("largest class"),
    *numbers("one-hot", "weighted", places=2),
    *numbers("weighting gains", places=2, signed=True),
    *numbers("95 %"),
    *numbers("on validation", places=2, signed=True),
)


@dataclass(frozen=True)
class Told:
    """A cell before and after its models are told the class shares.

    Args:
        before: The cell as it was run, compared with one-hot labels.
        weighted: The same with the accuracies of weighted probabilities.
        after: The one of these two that is better on validation nodes, compared with that of one-hot labels.
        measured: What :func:`postel.paper.weighing.weigh` says of each run; empty if it was not measured.
    """

    before: ComparedCell
    weighted: ComparedCell
    after: ComparedCell
    measured: tuple[dict[str, list[float]], ...] = ()

    @property
    def gain(self) -> Gain | None:
        """What weighting gains; None if it was not measured."""
        return self.weighted.against(self.before).gain

    @property
    def gain_on_validation(self) -> float:
        """What it gains on validation nodes, in points."""
        return fmean(one["weighted"][0] - one["plain"][0] for one in self.measured)

    @property
    def gains_over_one_hot(self) -> tuple[Gain, Gain] | None:
        """What the method gains before and after; None without a fair comparison, as for one-hot labels."""
        before, after = self.before.gain, self.after.gain
        return (before, after) if before and after and not self.after.is_unequal else None

    @property
    def shares(self) -> tuple[float, float]:
        """The largest class's shares of training and test nodes in percent."""
        train, test = zip(*(one["largest"] for one in self.measured), strict=True)
        return fmean(train), fmean(test)

    @property
    def accuracies(self) -> tuple[float, float]:
        """The mean accuracies as it was run and weighted."""
        return self.before.cell.accuracy.mean, self.weighted.cell.accuracy.mean

    def against(self, base: Told | None) -> Told:
        """Return the same cell compared with another one, before with before and after with after.

        Args:
            base: The other one; None, or the cell itself, to compare it with nothing.
        """
        if base is None or base is self:
            return self
        return replace(self, before=self.before.against(base.before), after=self.after.against(base.after))


class TableClassShares(TableMain):
    """Models of the cells that a store has, weighted by class shares; no search is run for it."""

    title = "Models that are told the class shares of the validation nodes"
    backbones = ("gcn",)
    variants: ClassVar[tuple[Variant, ...]] = (ONE_HOT, LS, POSTEL, POSTEL_AS_RELEASED, CALIBRATED)
    runs_cells = False
    afterwards = "trains the runs of the searched cells that the store has once more, to weigh their probabilities"

    def make_requests(self, options: Options) -> list[CellRequest]:
        """Return one question per network, method and dataset.

        Args:
            options: The user's options.

        Raises:
            InputError: If an option does not fit, or one-hot labels are not among the methods.
        """
        requests = super().make_requests(options)
        if all(request.variant != ONE_HOT for request in requests):
            raise InputError(f"{self.name} compares with one-hot labels: add one_hot to --method")
        return requests

    def measure(self, store: Store, watch: Watch) -> None:
        """Train every run of the cells that are there once more.

        Args:
            store: Where accuracies are kept.
            watch: Receives progress.

        Raises:
            InputError: If a run does not come out again.
        """
        reader, kept = Reader(store).evidence, Measurements(store)
        for number, request in enumerate(self.requests):
            cell = request.answer(reader)
            watch.on_cell(number, len(self.requests), request)
            missing = [row for row in cell.rows if kept.get(self.name, row.key) is None] if cell else []
            for row, found in self._weighed(missing):
                kept.put(self.name, row.key, found)
                watch.on_row(row)

    def make(self, reader: Reader) -> Rendering:
        """Return a line for each network and dataset.

        Args:
            reader: The store's reader.
        """
        found = self.told(reader)
        groups = grouped(found, lambda one: one.after.place).values()
        lines = [_line(group) for group in groups]
        methods = dict.fromkeys(one.after.variant.label for one in found if one.after.variant != ONE_HOT)
        values = Table(self.title, numbers(*_VALUES.split()), list(map(_values, found)))
        shown = Table(self.title, (*_COLUMNS, *texts(*methods)), [*lines, *_mean(groups)], _NOTES)
        return Rendering(self.name, values, shown)

    def told(self, reader: Reader) -> list[Told]:
        """Return every cell before and after weighting, compared with one-hot labels, with corrected p-values.

        Args:
            reader: The store's reader.
        """
        alone = [self._told(request, reader.evidence) for request in self.requests]
        plain = {one.after.place: one for one in alone if one.after.variant == ONE_HOT}
        found = [one.against(plain.get(one.after.place)) for one in alone]
        after = corrected([one.after for one in found])
        return [replace(one, after=among) for one, among in zip(found, after, strict=True)]

    def _weighed(self, rows: Sequence[Row]) -> Iterator[tuple[Row, dict[str, list[float]]]]:
        weigh_one = partial(_weigh_one, data_root=self.options.data_root)
        if self.options.workers == 1 or any(row.spec.device != "cpu" for row in rows):
            yield from map(weigh_one, rows)
            return
        try:
            yield from map_in_processes(weigh_one, rows, self.options.workers)
        except WorkerDiedError as error:
            raise InputError(f"{error}; run the same command again, with --workers 1 if need be") from error

    def _told(self, request: CellRequest, reader: Reader) -> Told:
        cell = request.answer(reader)
        measured = [reader.measurements.get(self.name, row.key) for row in cell.rows] if cell else []
        if cell is None or None in measured:
            nothing = ComparedCell(request.question, request.variant, None)
            return Told(nothing, nothing, nothing)
        told = [_with_accuracy(row, one["weighted"][1]) for row, one in zip(cell.rows, measured, strict=True)]
        before, weighted = (
            ComparedCell(request.question, request.variant, one) for one in (cell, cell.with_rows(told))
        )
        found = Told(before, weighted, before, tuple(measured))
        return replace(found, after=weighted) if found.gain_on_validation > 0 else found


def _weigh_one(row: Row, data_root: str | None) -> tuple[Row, dict[str, list[float]]]:
    return row, weigh(row, data_root)


def _with_accuracy(row: Row, percent: float) -> Row:
    assert row.result.test is not None
    return replace(row, result=replace(row.result, test=replace(row.result.test, accuracy=percent / 100)))


def _values(one: Told) -> tuple[Any, ...]:
    asked, variant, gain = one.after.question, one.after.variant, one.gain
    head = (asked.dataset, asked.backbone, variant.label, variant.slug, asked.protocol)
    if gain is None:
        return (*head, NOT_RUN, *[None] * 15, 0, None)
    told = "weighted" if one.gain_on_validation > 0 else "as it was"
    weighting = (gain.mean, gain.interval.low, gain.interval.high, one.gain_on_validation, told)
    compared: tuple[Any, ...] = (None,) * 6
    if one.gains_over_one_hot:
        before, after = one.gains_over_one_hot
        ends = (after.interval.low, after.interval.high)
        compared = (before.mean, after.mean, *ends, after.corrected, one.after.reads)
    counts = (len(one.measured), one.before.cell.spent.text)
    return (*head, "run", *one.shares, *one.accuracies, *weighting, *compared, *counts)


def _line(group: Sequence[Told]) -> tuple[Any, ...]:
    plain = _plain(group)
    head = (dataset_label(plain.after.question.dataset), backbone_label(plain.after.question.backbone))
    others = [_left(one) for one in _soft(group)]
    if plain.gain is None:
        return (*head, NOT_RUN, *[None] * 5, *others)
    shares = "{:.1f} → {:.1f}".format(*plain.shares)
    gains = (plain.gain.mean, _span(plain.gain), plain.gain_on_validation)
    return (*head, shares, *plain.accuracies, *gains, *others)


def _left(one: Told) -> str | None:
    """What a method gains over one-hot labels before and after both are told, in words."""
    if one.gains_over_one_hot is None:
        return NOT_RUN if one.gain is None else None
    before, after = one.gains_over_one_hot
    return f"{before.mean:+z.2f} → {after.mean:+z.2f}{_CLEAR if after.is_clear else ''} {_span(after)}"


def _span(gain: Gain) -> str:
    return f"[{gain.interval.low:+z.2f}, {gain.interval.high:+z.2f}]"


def _mean(groups: Iterable[Sequence[Told]]) -> list[tuple[Any, ...]]:
    """A last line of means over the graphs that have every method; nothing if these are not two."""
    full = [
        group for group in groups if _plain(group).gain and all(one.gains_over_one_hot for one in _soft(group))
    ]
    if len(full) < 2 or not _soft(full[0]):
        return []
    plain = [_plain(group) for group in full]
    before, after = map(fmean, zip(*(one.accuracies for one in plain), strict=True))
    others = []
    for method in zip(*map(_soft, full), strict=True):
        gains = [one.gains_over_one_hot for one in method if one.gains_over_one_hot]
        means = map(fmean, zip(*((first.mean, then.mean) for first, then in gains), strict=True))
        others.append("{:+z.2f} → {:+z.2f}".format(*means))
    on_validation = fmean(one.gain_on_validation for one in plain)
    return [
        (f"mean of {len(full)} graphs", None, None, before, after, after - before, None, on_validation, *others)
    ]


def _soft(group: Sequence[Told]) -> list[Told]:
    return [one for one in group if one.after.variant != ONE_HOT]


def _plain(group: Sequence[Told]) -> Told:
    return next(one for one in group if one.after.variant == ONE_HOT)
