"""The paper's figure of the estimated conditionals: few training labels, with pseudo-labels, and all labels."""

from __future__ import annotations

from typing import Any

from postel.experiments.store import Store
from postel.experiments.store.measured import Measurements
from postel.paper.class_bars import draw_class_bars
from postel.paper.figures.neighbors import all_label_conditional
from postel.paper.names import dataset_label
from postel.paper.planning import FIXED, PUBLISHED_NOTE, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results, Row
from postel.paper.running import Watch
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.paper.variants import POSTEL
from postel.pictures import new_figure

_SOURCES = ("training labels", "with pseudo-labels", "all labels")


class FigureConditionals(Target):
    """P(neighbor's class | class) from three sets of labels, on the limited splits."""

    name = "figure-conditionals"
    title = "Conditional distributions estimated from training labels, with pseudo-labels, and from all labels"

    def plan(self, options: Options) -> list[Planned]:
        """PosteL on the first limited split of each dataset."""
        protocol = options.fixed_protocol("limited", "figure-conditionals is about the limited splits")
        datasets, backbones = self._names(options), options.chosen_backbones(("gcn",))[:1]
        variants = options.among_methods((POSTEL,))
        return plan_cells(
            options, datasets, backbones, variants, protocol=protocol, splits=1, budget=FIXED, published=True
        )

    def measure(self, options: Options, store: Store, watch: Watch) -> None:
        """The conditional of all labels, which no training can give."""
        for name in self._names(options):
            watch.on_step(f"counting {name}")
            Measurements(store).put(self.name, name, all_label_conditional(name, options.data_root))

    def make(self, results: Results, options: Options) -> Product:
        """A picture a dataset, and the distance of each estimate from that of all labels."""
        figures, rows = {}, []
        for cell in self.plan(options):
            found = results.of(cell, rounds=True)
            truth = results.kept.get(self.name, cell.dataset)
            first, refined = _estimates(found.rows[0]) if found else (None, None)
            matrices = dict(zip(_SOURCES, (first, refined, truth), strict=True))
            figures[cell.dataset] = _figure(matrices, dataset_label(cell.dataset))
            rows += [
                (cell.dataset, source, _distance(matrix, truth)) for source, matrix in matrices.items() if matrix
            ] or [(cell.dataset, "not run", None)]
        columns = (Column("dataset", left=True), Column("labels", left=True))
        distance = Column("distance from all labels", decimals(4))
        note = "Distance: total variation from that of all labels, mean over classes; hatched: the class itself."
        return Product(
            self.name, Table(self.title, (*columns, distance), rows, (note, PUBLISHED_NOTE)), figures=figures
        )

    def _names(self, options: Options) -> tuple[str, ...]:
        return options.chosen_datasets(("cornell", "texas", "cora"))


def _estimates(row: Row) -> tuple[Any, Any]:
    """The conditional of round 0, and of the kept round or, if none helped, of the first with pseudo-labels."""
    rounds = row["rounds"]
    place = row["result"]["best_round"] or min(1, len(rounds) - 1)
    return rounds[0]["conditional"], rounds[place]["conditional"] if place else None


def _distance(matrix: Any, truth: Any) -> float | None:
    if truth is None:
        return None
    apart = [
        sum(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / 2
        for ours, theirs in zip(matrix, truth, strict=True)
    ]
    return sum(apart) / len(apart)


def _figure(matrices: dict[str, Any], title: str) -> Any:
    size = max((len(matrix) for matrix in matrices.values() if matrix), default=3)
    figure = new_figure(max(7.5, 1.9 * size), 6.2)
    grid: Any = figure.subplots(len(matrices), size, squeeze=False, sharey=True)
    for row, (source, matrix) in enumerate(matrices.items()):
        draw_class_bars(grid[row], matrix, label=source, last=row == len(matrices) - 1)
    for k, axes in enumerate(grid[0]):
        axes.set_title(f"class {k}", fontsize=11)
    figure.suptitle(f"{title}: P(neighbor's class | class)", fontsize=12)
    return figure


TARGET = FigureConditionals()
