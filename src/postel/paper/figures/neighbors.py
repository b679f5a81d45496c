"""The paper's figure of neighbors' classes around each class, where they differ and where they do not."""

from __future__ import annotations

from typing import Any

from postel.datasets.diagnosis import diagnose
from postel.datasets.diagnosis.measures import contrast
from postel.experiments.store import Store
from postel.experiments.store.measured import Measurements
from postel.paper.class_bars import draw_class_bars
from postel.paper.names import dataset_label
from postel.paper.planning import Options
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.running import Watch
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.pictures import new_figure


class FigureNeighbors(Target):
    """P(neighbor's class | class) over all labels, on PubMed, Cornell and Actor."""

    name = "figure-neighbors"
    title = "Classes of neighbors around each class, all labels"

    def measure(self, options: Options, store: Store, watch: Watch) -> None:
        """The conditional matrix of each dataset."""
        for name in self._names(options):
            watch.on_step(f"counting {name}")
            Measurements(store).put(self.name, name, all_label_conditional(name, options.data_root))

    def make(self, results: Results, options: Options) -> Product:
        """A row of bars a dataset, and the numbers."""
        import torch

        names = self._names(options)
        matrices: dict[str, Any] = {name: results.kept.get(self.name, name) for name in names}
        figure = new_figure(10.5, 2.3 * len(names))
        rows: Any = figure.subfigures(len(names), 1, squeeze=False)[:, 0]
        for part, (name, matrix) in zip(rows, matrices.items(), strict=True):
            size = len(matrix) if matrix else 3
            panels = part.subplots(1, size, sharey=True, squeeze=False)[0]
            draw_class_bars(panels, matrix, label="share of neighbors")
            for k, axes in enumerate(panels):
                axes.set_title(f"class {k}", fontsize=10)
            spread = "" if matrix is None else f" (contrast {contrast(torch.tensor(matrix)):.2f})"
            part.suptitle(f"{dataset_label(name)}{spread}", fontsize=12)
        note = (
            "Contrast: mean total variation between rows, 0 if neighbors tell nothing; hatched: the class itself."
        )
        return Product(self.name, conditional_table(self.title, matrices, (note,)), figures={"": figure})

    def _names(self, options: Options) -> tuple[str, ...]:
        return options.chosen_datasets(("pubmed", "cornell", "actor"))


def all_label_conditional(dataset: str, data_root: str | None) -> list[list[float]]:
    """P(neighbor's class | class) over every label of a dataset, [K, K]."""
    return diagnose(dataset, None, data_root=data_root).all_labels.conditional


def conditional_table(title: str, matrices: dict[str, Any], notes: tuple[str, ...]) -> Table:
    """The matrices as lines: dataset, class, neighbor's class, probability."""
    rows = [
        (name, k, m, value)
        for name, matrix in matrices.items()
        for k, values in enumerate(matrix or [])
        for m, value in enumerate(values)
    ]
    columns = (Column("dataset", left=True), Column("class"), Column("neighbor's class"))
    return Table(title, (*columns, Column("probability", decimals(4))), rows, notes)


TARGET = FigureNeighbors()
