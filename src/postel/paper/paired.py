"""Tables of methods against one-hot labels on the same splits: accuracy, macro-F1, likelihood and calibration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from postel.experiments.store.reader import Reader
from postel.paper.accuracy import AccuracyTable
from postel.paper.compared import ComparedCell, corrected
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import PUBLISHED_NOTE, CellRequest, Options, request_cells
from postel.paper.table import NOT_RUN, NOTHING, Table, numbers, texts

_NAMES = (
    "dataset protocol backbone variant state gain low high p corrected_p reads splits accuracy one_hot_accuracy "
    "macro_f1 one_hot_macro_f1 nll one_hot_nll ece one_hot_ece accepted lr weight_decay budget"
)
_NOTES = (
    "Gain: mean paired difference of test accuracy to one-hot labels over the same n splits, in points, with its "
    "95 % bootstrap interval. p: of the corrected resampled t, which allows for nodes that splits share, after "
    "Holm's correction for the number of lines. Reads: more or less where the interval leaves out 0, an exact "
    "sign-flip test gives p < 0.05 and p is below 0.05, else open.",
    "Arrows lead from one-hot labels to the method: test accuracy, macro-F1 and expected calibration error in "
    "percent, negative log-likelihood. Accepted: rounds that were kept, mean over splits.",
)


class PairedTable(AccuracyTable):
    """A table with one line per cell that is not of one-hot labels, against the one-hot cell of its place."""

    @abstractmethod
    def graphs(self) -> Mapping[str, tuple[str, ...]]:
        """Return the datasets by protocol."""

    def make_requests(self, options: Options) -> list[CellRequest]:
        """Return a question for every method and network on every graph under its protocol.

        Args:
            options: The user's options.
        """
        options = replace(options, budget=options.budget or "fixed")
        variants = options.chosen_variants(self.variants, others=self.any_method)
        backbones = options.chosen_backbones(self.backbones)
        return [
            request
            for protocol, names in self.graphs().items()
            for request in request_cells(options, names, backbones, variants, protocol=protocol, published=True)
        ]

    def make(self, reader: Reader) -> Rendering:
        """Return the table.

        Args:
            reader: The store's reader.
        """
        lines = corrected([entry for entry in self.entries(reader) if entry.baseline is not None])
        table = Table(self.title, numbers(*_NAMES.split()), list(map(_line, lines)))
        return Rendering(self.name, table, _readable(table, (*_NOTES, *self.notes, PUBLISHED_NOTE)))


def _line(line: ComparedCell) -> tuple[Any, ...]:
    question, gain = line.question, line.gain
    head = (question.dataset, question.protocol, question.backbone, line.variant.label)
    if gain is None or line.baseline is None:
        return (*head, NOT_RUN, *[None] * 6, 0, *[None] * (len(_NAMES.split()) - 12))
    ours, theirs = line.cell, line.baseline.cell
    shared = {row.split for row in ours.rows} & {row.split for row in theirs.rows}
    pairs = [cell.with_rows(row for row in cell.rows if row.split in shared) for cell in (ours, theirs)]
    scores = []
    for metric, factor in (("accuracy", 1), ("macro_f1", 1), ("nll", 100), ("ece", 1)):
        scores += [cell.score(metric).mean / factor for cell in pairs]
    span = gain.interval
    measured = (span.mean, span.low, span.high, gain.p_value, gain.corrected, gain.reads, gain.splits)
    spec = pairs[0].rows[0].spec
    accepted = pairs[0].mean("improved_rounds")
    return (*head, "run", *measured, *scores, accepted, spec.lr, spec.weight_decay, ours.spent.text)


def _readable(values: Table, notes: tuple[str, ...]) -> Table:
    columns = (
        *texts("dataset", "protocol", "network", "labels"),
        *numbers("gain", "95 %", "p"),
        *texts("reads"),
        *numbers("accuracy", "macro-F1", "NLL", "ECE"),
        *numbers("accepted", places=1),
        *numbers("n"),
    )
    rows: list[tuple[Any, ...]] = []
    for record in values.records():
        place = (dataset_label(record["dataset"]), record["protocol"], backbone_label(record["backbone"]))
        if record["state"] == NOT_RUN:
            rows.append((*place, record["variant"], NOT_RUN, *[NOTHING] * 7, None, 0))
            continue
        gain = f"{record['gain']:+z.2f}"
        interval = f"[{record['low']:+z.2f}, {record['high']:+z.2f}]"
        arrows = [
            f"{record[f'one_hot_{score}']:.{places}f} → {record[score]:.{places}f}"
            for score, places in (("accuracy", 1), ("macro_f1", 1), ("nll", 2), ("ece", 1))
        ]
        told = (gain, interval, f"{record['corrected_p']:.3f}", record["reads"], *arrows)
        rows.append((*place, record["variant"], *told, record["accepted"], record["splits"]))
    return Table(values.title, columns, rows, notes)
