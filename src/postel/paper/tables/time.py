"""The paper's table of training times, a mean over datasets for each method."""

from __future__ import annotations

from typing import Any

from postel.experiments.intervals import bootstrap_interval
from postel.experiments.running.executor import run_all
from postel.experiments.store import Store
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.names import DATASETS, backbone_label
from postel.paper.published import published
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED
from postel.paper.table import NOT_RUN, Table, numbers, texts
from postel.paper.target import Target, Watch
from postel.paper.timing import TIMES, cell_at_budget, sitting, timed_cell
from postel.paper.variants import POSTEL_ONE_ROUND, POSTEL_WITHOUT_IPL, SIX

_NOTE = (
    "Seconds of a whole run: every training that it takes (a teacher's, and each round's with pseudo-labels), on "
    "one thread of a CPU, all methods of a graph in turn and one run at a time; the paper's are of a GPU, so "
    "ratios to one-hot compare better than seconds."
)


class TableTime(Target):
    """Mean seconds of a run, by method; means of datasets first, so that each weighs the same."""

    title = "Training time of each method, seconds"
    datasets = DATASETS
    variants = (*SIX, POSTEL_WITHOUT_IPL, POSTEL_ONE_ROUND)
    budget = FIXED
    afterwards = "every run once more, one at a time, to measure how long it takes"

    def measure(self, store: Store, watch: Watch) -> None:
        """Train every run once more, by itself: a row may come from a search that shared the machine.

        All methods take their turn on a split before the next one, so that what else the machine does slows all
        of them alike.

        Args:
            store: Where the seconds are kept.
            watch: Receives progress.
        """
        reader, kept = Reader(store), Measurements(store)
        for (backbone, dataset), group in self.places.items():
            cells = [cell_at_budget(reader, request) for request in group]
            specs = {row.key: row.spec for cell in cells if cell for row in cell.rows}
            if specs.keys() <= (kept.get(TIMES, sitting(group[0])) or {}).keys():
                continue
            watch.on_step(f"timing {len(specs)} runs of {backbone_label(backbone)} on {dataset}, one at a time")
            turns = sorted(specs.values(), key=lambda spec: spec.split)
            rows = run_all(turns, workers=1, data_root=self.options.data_root, on_row=watch.on_row)
            kept.put(TIMES, sitting(group[0]), {row.key: row.result.seconds for row in rows})

    def make(self, reader: Reader) -> Rendering:
        """Return ours beside the paper's, in seconds and as multiples of one-hot's.

        Args:
            reader: The store's reader.
        """
        groups = grouped(self.requests, lambda request: (request.backbone, request.variant.slug))
        rows: list[tuple[Any, ...]] = []
        bases: dict[str, float] = {}
        figures = published("time")
        for (backbone, slug), group in groups.items():
            found = [cell for request in group if (cell := timed_cell(reader, request)) is not None]
            means = [cell.mean("seconds") for cell in found]
            figure = figures.get((slug, "mean")) if backbone == "gcn" else None
            paper = figure.value if figure else None
            head = (backbone_label(backbone), group[0].variant.label)
            if not means:
                rows.append((*head, NOT_RUN, None, None, None, None, None, paper, None, None, 0, 0, None))
                continue
            ours, span = sum(means) / len(means), bootstrap_interval(means)
            if slug == "one_hot":
                bases[backbone] = ours
            trainings = sum(cell.mean("trainings") for cell in found) / len(found)
            ratio = ours / bases[backbone] if backbone in bases else None
            paper_ratio = None if paper is None else paper / figures["one_hot", "mean"].value
            work = (trainings, ratio, paper, paper_ratio, None if paper is None else ours - paper)
            counts = (len(found), sum(len(cell.rows) for cell in found), found[0].allowance_in_words)
            rows.append((*head, "run", ours, span.low, span.high, *work, *counts))
        return Rendering(self.name, Table(self.title, _COLUMNS, rows, (_NOTE,)), _readable(self.title, rows))


_COLUMNS = (
    *texts("backbone", "method", "state"),
    *numbers("ours", "low", "high", "trainings", "times one-hot", "paper", "paper times one-hot", places=2),
    *numbers("difference", places=2, signed=True),
    *numbers("datasets", "n"),
    *texts("budget"),
)


def _readable(title: str, rows: list[tuple[Any, ...]]) -> Table:
    lines = []
    for backbone, method, state, ours, low, high, *rest in rows:
        told = (state, None) if ours is None else (f"{ours:.2f}", f"[{low:.2f}, {high:.2f}]")
        lines.append((backbone, method, *told, *rest))
    heads = (*texts("backbone", "method"), *numbers("ours", "95 %"))
    notes = (_NOTE, "Brackets: 95 % bootstrap interval over datasets.")
    return Table(title, (*heads, *_COLUMNS[6:]), lines, notes)
