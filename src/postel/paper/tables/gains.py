"""Not a table of the paper but a check of its claims: what its method gains over others on the same splits."""

from __future__ import annotations

from typing import Any

from postel.paper.accuracy import COLLAPSE_NOTE, COLLAPSED, NOT_RUN, short_budget
from postel.paper.names import BACKBONES, DATASETS, backbone_label, dataset_label
from postel.paper.planning import Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Outcome, Results
from postel.paper.table import Column, Table, decimals
from postel.paper.tables.main import paper_figure
from postel.paper.target import Target
from postel.paper.variants import LS, ONE_HOT, POSTEL

#: Who is held against whom: the paper's two claims, and how much of them smoothing alone is.
PAIRS = ((POSTEL, ONE_HOT), (LS, ONE_HOT), (POSTEL, LS))
_LEVEL = 0.05

_NOTES = (
    "Gain: mean paired difference of test accuracy over the same splits, in points, with its 95 % bootstrap "
    "interval (10,000 resamples) and the p-value of an exact sign-flip test; ten splits cannot give less than "
    "0.002. Splits share nodes, so both are too sure rather than not sure enough.",
    "Reads: more or less where the interval leaves out 0 and p < 0.05, else open; not corrected for many lines.",
)
_UNEQUAL_NOTE = "‡ the two were searched with different budgets: no fair comparison."
_MARKS = {"one class": COLLAPSED, "unequal search": "‡"}


class TableGains(Target):
    """PosteL against one-hot labels and against uniform smoothing, with the cells of the main table."""

    name = "table-gains"
    title = "What posterior smoothing gains over one-hot labels and over uniform smoothing"

    def plan(self, options: Options) -> list[Planned]:
        """The three methods' cells of the main table."""
        datasets, backbones = options.chosen_datasets(DATASETS), options.chosen_backbones(BACKBONES)
        return plan_cells(options, datasets, backbones, options.among_methods((ONE_HOT, LS, POSTEL)))

    def make(self, results: Results, options: Options) -> Product:
        """A line for each pair of methods on each dataset and backbone."""
        cells = {(cell.dataset, cell.backbone, cell.variant.slug): cell for cell in self.plan(options)}
        found = {place: results.of(cell) for place, cell in cells.items()}
        values = []
        for dataset, backbone in dict.fromkeys((name, network) for name, network, _ in cells):
            for ours, theirs in PAIRS:
                places = [(dataset, backbone, variant.slug) for variant in (ours, theirs)]
                if all(place in cells for place in places):
                    pair = (cells[places[0]], cells[places[1]])
                    values.append(_line(pair, found[places[0]], found[places[1]]))
        names = (
            "dataset backbone protocol method over state gain low high p reads paper splits accuracy "
            "over_accuracy collapsed budget over_budget"
        )
        table = Table(self.title, tuple(Column(name) for name in names.split()), values)
        return Product(self.name, table, _readable(self.title, table.records()))


def _line(pair: tuple[Planned, Planned], ours: Outcome | None, theirs: Outcome | None) -> tuple[Any, ...]:
    one, other = pair
    head = (one.dataset, one.backbone, one.protocol, one.variant.label, other.variant.label)
    figures = [paper_figure(cell) for cell in pair]
    paper = figures[0].value - figures[1].value if figures[0] and figures[1] else None
    gain = ours.over(theirs) if ours is not None and theirs is not None else None
    if ours is None or theirs is None or gain is None:
        return (*head, NOT_RUN, None, None, None, None, None, paper, 0, *[None] * 5)
    interval = gain.interval
    clear = gain.p_value < _LEVEL
    reads = "more" if clear and interval.low > 0 else "less" if clear and interval.high < 0 else "open"
    state = "one class" if ours.has_collapsed or theirs.has_collapsed else "run"
    if ours.allowed != theirs.allowed:
        state = "unequal search"
    splits = len({row["spec"]["split"] for row in ours.rows} & {row["spec"]["split"] for row in theirs.rows})
    measured = (interval.mean, interval.low, interval.high, gain.p_value, reads, paper, splits)
    means = (ours.interval.mean, theirs.interval.mean, ours.collapsed)
    return (*head, state, *measured, *means, ours.budget, theirs.budget)


def _readable(title: str, records: list[dict[str, Any]]) -> Table:
    left = [Column(name, left=True) for name in ("dataset", "backbone", "comparison")]
    right = [Column(name) for name in ("gain", "95 %", "p")]
    columns = (*left, *right, Column("reads", left=True), Column("paper", decimals(2, signed=True)), Column("n"))
    rows: list[tuple[Any, ...]] = []
    for record in records:
        place = (dataset_label(record["dataset"]), backbone_label(record["backbone"]))
        text = f"{record['method']} − {record['over']}"
        if record["state"] == NOT_RUN:
            rows.append((*place, text, NOT_RUN, None, None, None, record["paper"], 0, None))
            continue
        gain = f"{record['gain']:+z.2f}{_MARKS.get(record['state'], '')}"
        interval = f"[{record['low']:+z.2f}, {record['high']:+z.2f}]"
        told = (gain, interval, f"{record['p']:.3f}", record["reads"], record["paper"], record["splits"])
        rows.append((*place, text, *told, short_budget(record["budget"])))
    states = {record["state"] for record in records}
    marks = [
        note
        for state, note in (("one class", COLLAPSE_NOTE), ("unequal search", _UNEQUAL_NOTE))
        if state in states
    ]
    return Table(title, (*columns, Column("budget", left=True)), rows, (*_NOTES, *marks))


TARGET = TableGains()
