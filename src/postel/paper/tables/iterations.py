"""The paper's table of how many rounds of pseudo-labelling lower the validation loss."""

from __future__ import annotations

from typing import Any

from postel.experiments.intervals import bootstrap_interval
from postel.paper.accuracy import NOT_RUN, short_budget
from postel.paper.names import BACKBONES, DATASETS, backbone_label, dataset_label
from postel.paper.planning import Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.published import published
from postel.paper.results import Results, mean
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.paper.variants import POSTEL


class TableIterations(Target):
    """Mean number of rounds that improved, by backbone and dataset; the runs are those of the main table."""

    name = "table-iterations"
    title = "Rounds of pseudo-labelling that lowered the validation loss, mean over splits"

    def plan(self, options: Options) -> list[Planned]:
        """PosteL's cells of the main table."""
        datasets, backbones = options.chosen_datasets(DATASETS), options.chosen_backbones(BACKBONES)
        return plan_cells(options, datasets, backbones, options.among_methods((POSTEL,)))

    def make(self, results: Results, options: Options) -> Product:
        """Ours beside the paper's."""
        names = "backbone dataset state ours low high most paper difference splits budget"
        values: list[tuple[Any, ...]] = []
        lines: list[tuple[Any, ...]] = []
        for cell in self.plan(options):
            found = results.of(cell)
            paper = (
                published("iterations").get((cell.backbone, cell.dataset)) if cell.protocol == "paper" else None
            )
            theirs = paper.value if paper else None
            head, labels = (
                (cell.backbone, cell.dataset),
                (backbone_label(cell.backbone), dataset_label(cell.dataset)),
            )
            if found is None:
                values.append((*head, NOT_RUN, None, None, None, None, theirs, None, 0, None))
                lines.append((*labels, NOT_RUN, None, None, theirs, None, 0, None))
                continue
            rounds = [row["result"]["improved_rounds"] for row in found.rows]
            ours, span, n = mean(rounds), bootstrap_interval(rounds), len(rounds)
            difference = None if theirs is None else ours - theirs
            ends = (span.low, span.high, max(rounds))
            values.append((*head, "run", ours, *ends, theirs, difference, n, found.budget))
            interval = None if span.single else f"[{span.low:.1f}, {span.high:.1f}]"
            lines.append(
                (*labels, f"{ours:.1f}", interval, max(rounds), theirs, difference, n, short_budget(found.budget))
            )
        notes = _notes([row[3] for row in values if row[3] is not None])
        return Product(
            self.name,
            Table(self.title, tuple(Column(name) for name in names.split()), values),
            Table(self.title, _COLUMNS, lines, notes),
            _matrix(self.title, values, notes),
        )


_COLUMNS = (
    Column("backbone", left=True),
    Column("dataset", left=True),
    Column("ours"),
    Column("95 %"),
    Column("most"),
    Column("paper", decimals(1)),
    Column("difference", decimals(1, signed=True)),
    Column("n"),
    Column("budget", left=True),
)


def _matrix(title: str, values: list[tuple[Any, ...]], notes: tuple[str, ...]) -> Table:
    datasets = list(dict.fromkeys(str(row[1]) for row in values))
    rows: list[tuple[object, ...]] = []
    for backbone in dict.fromkeys(str(row[0]) for row in values):
        of = {row[1]: row for row in values if row[0] == backbone}
        label = f"{backbone_label(backbone)}, PosteL"
        ours = [NOT_RUN if of[name][3] is None else decimals(1)(of[name][3]) for name in datasets]
        rows.append((label, "ours", *ours))
        rows.append(("", "paper", *(decimals(1)(of[name][7]) for name in datasets)))
        rows.append(("", "difference", *(decimals(1, signed=True)(of[name][8]) for name in datasets)))
    heads = (Column("method", left=True), Column("", left=True))
    return Table(title, (*heads, *(Column(dataset_label(name)) for name in datasets)), rows, notes)


def _notes(means: list[float]) -> tuple[str, ...]:
    paper = [figure.value for figure in published("iterations").values()]
    first = f"The paper's {len(paper)} figures have mean {mean(paper):.2f} (its text says 1.13)"
    text = f"{first}; the {len(means)} of ours that are run, {mean(means):.2f}." if means else f"{first}."
    return (text, "Brackets: 95 % bootstrap interval over splits; difference: ours − paper.")


TARGET = TableIterations()
