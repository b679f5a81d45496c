"""The paper's figure of neighbors' classes around each class, where they differ and where they do not."""

from __future__ import annotations

from typing import Any

import torch

from postel.datasets.diagnosis import diagnose
from postel.datasets.diagnosis.measures import contrast
from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import draw_class_bars
from postel.paper.names import dataset_label
from postel.paper.rendering import Rendering
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target
from postel.pictures import new_figure, write_caption


def all_label_conditional(dataset: str, data_root: str | None) -> list[list[float]]:
    """Return P(neighbor's class | class) over every label of a dataset, [K, K].

    Args:
        dataset: A dataset's name or the path of a graph file.
        data_root: Folder of graph files to look in first.
    """
    return diagnose(dataset, None, data_root=data_root).all_labels.conditional


class FigureNeighbors(Target):
    """P(neighbor's class | class) over all labels, on PubMed, Cornell and Actor."""

    title = "Classes of neighbors around each class, all labels"
    datasets = ("pubmed", "cornell", "actor")
    per_dataset = staticmethod(all_label_conditional)

    def make(self, reader: Reader) -> Rendering:
        """Return a row of bars for each dataset, and the numbers.

        Args:
            reader: The store's reader.
        """
        matrices: dict[str, Any] = {name: reader.measurements.get(self.name, name) for name in self.names}
        figure = new_figure(10.5, 2.3 * len(matrices) + 0.5)
        ratios = [*[1.0] * (len(matrices) - 1), 1.22]  # the last one has the caption
        rows: Any = figure.subfigures(len(matrices), 1, squeeze=False, height_ratios=ratios)[:, 0]
        for part, (name, matrix) in zip(rows, matrices.items(), strict=True):
            size = len(matrix) if matrix else 3
            panels = part.subplots(1, size, sharey=True, squeeze=False)[0]
            draw_class_bars(panels, matrix, label="share of neighbors")
            for k, axes in enumerate(panels):
                axes.set_title(f"class {k}", fontsize=10)
            spread = "" if matrix is None else f" (contrast {contrast(torch.tensor(matrix)):.2f})"
            part.suptitle(f"{dataset_label(name)}{spread}", fontsize=12)
        write_caption(
            rows[-1],
            "All labels of each graph, nothing trained. Color: the neighbor's class; hatched: the class itself. "
            "Contrast: mean total variation between classes, 0 if neighbors tell nothing.",
        )
        note = (
            "Contrast: mean total variation between rows, 0 if neighbors tell nothing; hatched: the class itself."
        )
        lines = [
            (name, k, m, value)
            for name, matrix in matrices.items()
            for k, values in enumerate(matrix or [])
            for m, value in enumerate(values)
        ]
        columns = (*texts("dataset"), *numbers("class", "neighbor's class"), *numbers("probability", places=4))
        return Rendering(self.name, Table(self.title, columns, lines, (note,)), figures={"": figure})
