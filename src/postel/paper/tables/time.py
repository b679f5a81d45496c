"""The paper's table of training times, a mean over datasets for each method."""

from __future__ import annotations

from typing import Any

from postel.experiments.intervals import bootstrap_interval
from postel.paper.accuracy import NOT_RUN, short_budget
from postel.paper.names import DATASETS, backbone_label
from postel.paper.planning import FIXED, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.published import published
from postel.paper.results import Results, mean
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.paper.variants import POSTEL_ONE_ROUND, POSTEL_WITHOUT_IPL, SIX

_NOTE = (
    "Seconds of a whole run: every training that it takes (a teacher's, and each round's with pseudo-labels), on "
    "one thread of a CPU; the paper's are of a GPU, so ratios to one-hot compare better than seconds."
)


class TableTime(Target):
    """Mean seconds of a run, by method; means of datasets first, so that each weighs the same."""

    name = "table-time"
    title = "Training time of each method, seconds"

    def plan(self, options: Options) -> list[Planned]:
        """The six methods, and PosteL without and with one round of pseudo-labels."""
        variants = options.among_methods((*SIX, POSTEL_WITHOUT_IPL, POSTEL_ONE_ROUND))
        datasets, backbones = options.chosen_datasets(DATASETS), options.chosen_backbones(("gcn",))
        return plan_cells(options, datasets, backbones, variants, budget=FIXED)

    def make(self, results: Results, options: Options) -> Product:
        """Ours beside the paper's, in seconds and as multiples of one-hot's."""
        groups: dict[tuple[str, str], list[Planned]] = {}
        for cell in self.plan(options):
            groups.setdefault((cell.backbone, cell.variant.slug), []).append(cell)
        rows: list[tuple[Any, ...]] = []
        bases: dict[str, float] = {}
        for (backbone, slug), cells in groups.items():
            found = [outcome for outcome in map(results.of, cells) if outcome is not None]
            means = [mean([row["result"]["seconds"] for row in outcome.rows]) for outcome in found]
            trainings = [mean([row["result"]["trainings"] for row in outcome.rows]) for outcome in found]
            paper = published("time").get((slug, "mean")) if backbone == "gcn" else None
            theirs = paper.value if paper else None
            head = (backbone_label(backbone), cells[0].variant.label)
            if not means:
                rows.append((*head, NOT_RUN, None, None, None, None, None, theirs, None, None, 0, 0, None))
                continue
            ours, span = mean(means), bootstrap_interval(means)
            if slug == "one_hot":
                bases[backbone] = ours
            base = bases.get(backbone)
            ratio = None if base is None else ours / base
            paper_ratio = None if theirs is None else theirs / published("time")["one_hot", "mean"].value
            work = (mean(trainings), ratio, theirs, paper_ratio, None if theirs is None else ours - theirs)
            counts = (len(found), sum(len(outcome.rows) for outcome in found), short_budget(found[0].budget))
            rows.append((*head, "run", ours, span.low, span.high, *work, *counts))
        return Product(self.name, Table(self.title, _COLUMNS, rows, (_NOTE,)), _readable(self.title, rows))


_COLUMNS = (
    Column("backbone", left=True),
    Column("method", left=True),
    Column("state", left=True),
    Column("ours", decimals(2)),
    Column("low", decimals(2)),
    Column("high", decimals(2)),
    Column("trainings", decimals(2)),
    Column("times one-hot", decimals(2)),
    Column("paper", decimals(2)),
    Column("paper times one-hot", decimals(2)),
    Column("difference", decimals(2, signed=True)),
    Column("datasets"),
    Column("n"),
    Column("budget", left=True),
)


def _readable(title: str, rows: list[tuple[Any, ...]]) -> Table:
    columns = ("backbone", "method", "ours", "95 %", "trainings", "times one-hot")
    shown = []
    for row in rows:
        ours, low, high = row[3:6]
        text = row[2] if ours is None else f"{ours:.2f}"
        interval = None if ours is None else f"[{low:.2f}, {high:.2f}]"
        shown.append((row[0], row[1], text, interval, *row[6:]))
    left = ("backbone", "method")
    named = {column.name: column for column in _COLUMNS}
    heads = tuple(
        Column(name, named[name].show if name in ("trainings", "times one-hot") else str, name in left)
        for name in columns
    )
    return Table(
        title, (*heads, *_COLUMNS[8:]), shown, (_NOTE, "Brackets: 95 % bootstrap interval over datasets.")
    )


TARGET = TableTime()
