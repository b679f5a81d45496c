"""Lines of one method against one-hot labels on the same splits: accuracy and what else a model is judged by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postel.paper.accuracy import NOT_RUN
from postel.paper.names import backbone_label, dataset_label
from postel.paper.planning import Planned
from postel.paper.product import Product
from postel.paper.results import Outcome, Results, mean
from postel.paper.table import NOTHING, Column, Table, decimals
from postel.paper.variants import BASELINE

_LEVEL = 0.05
_NAMES = (
    "dataset protocol backbone variant state gain low high p reads splits accuracy one_hot_accuracy macro_f1 "
    "one_hot_macro_f1 nll one_hot_nll ece one_hot_ece accepted lr weight_decay"
)
_NOTES = (
    "Gain: mean paired difference of test accuracy to one-hot labels over the same n splits, in points, with its "
    "95 % bootstrap interval and the p-value of an exact sign-flip test. Reads: more or less where the interval "
    "leaves out 0 and p < 0.05, else open; not corrected for many lines.",
    "Arrows lead from one-hot labels to the method: test accuracy, macro-F1 and expected calibration error in "
    "percent, negative log-likelihood. Accepted: rounds that were kept, mean over splits.",
)


def paired_product(
    name: str, title: str, cells: Sequence[Planned], results: Results, notes: Sequence[str] = ()
) -> Product:
    """Return the table of ``cells``, each against the one-hot cell of its dataset, protocol and backbone.

    Args:
        name: The target's name.
        title: The table's title.
        cells: The planned cells, those of one-hot labels among them.
        results: What the store has for them.
        notes: What else stands under the table.

    Returns:
        One line per cell that is not of one-hot labels.
    """
    plain = {_place(cell): cell for cell in cells if cell.variant.method == BASELINE}
    values = []
    for cell in cells:
        if cell.variant.method != BASELINE and _place(cell) in plain:
            values.append(_line(cell, results.of(cell), results.of(plain[_place(cell)])))
    table = Table(title, tuple(Column(column) for column in _NAMES.split()), values)
    return Product(name, table, _readable(title, table.records(), (*_NOTES, *notes)))


def _place(cell: Planned) -> tuple[str, str, str]:
    return cell.dataset, cell.protocol, cell.backbone


def _line(cell: Planned, ours: Outcome | None, theirs: Outcome | None) -> tuple[Any, ...]:
    head = (cell.dataset, cell.protocol, cell.backbone, cell.variant.label)
    gain = ours.over(theirs) if ours is not None and theirs is not None else None
    if ours is None or theirs is None or gain is None:
        return (*head, NOT_RUN, *[None] * 5, 0, *[None] * (len(_NAMES.split()) - 11))
    interval = gain.interval
    clear = gain.p_value < _LEVEL
    reads = "more" if clear and interval.low > 0 else "less" if clear and interval.high < 0 else "open"
    shared = {row["spec"]["split"] for row in ours.rows} & {row["spec"]["split"] for row in theirs.rows}
    pairs = [[row for row in outcome.rows if row["spec"]["split"] in shared] for outcome in (ours, theirs)]
    scores = []
    for score, factor in (("accuracy", 100), ("macro_f1", 100), ("nll", 1), ("ece", 100)):
        scores += [factor * mean([row["result"]["test"][score] for row in rows]) for rows in pairs]
    accepted = mean([row["result"]["improved_rounds"] for row in pairs[0]])
    spec = pairs[0][0]["spec"]
    measured = (interval.mean, interval.low, interval.high, gain.p_value, reads, len(shared))
    return (*head, "run", *measured, *scores, accepted, spec["lr"], spec["weight_decay"])


def _readable(title: str, records: list[dict[str, Any]], notes: tuple[str, ...]) -> Table:
    left = [Column(name, left=True) for name in ("dataset", "protocol", "network", "labels")]
    right = [Column(name) for name in ("gain", "95 %", "p")]
    others = [Column(name) for name in ("accuracy", "macro-F1", "NLL", "ECE")]
    columns = (*left, *right, Column("reads", left=True), *others, Column("accepted", decimals(1)), Column("n"))
    rows: list[tuple[Any, ...]] = []
    for record in records:
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
        told = (gain, interval, f"{record['p']:.3f}", record["reads"], *arrows)
        rows.append((*place, record["variant"], *told, record["accepted"], record["splits"]))
    return Table(title, columns, rows, notes)
