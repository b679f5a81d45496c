"""The paper's figure of the estimated conditionals: few training labels, with pseudo-labels, and all labels."""

from __future__ import annotations

from typing import Any

from postel.experiments.results import Cell
from postel.experiments.store.reader import Reader
from postel.paper.claims.few_labels import conditionals_of, distance
from postel.paper.figures._drawing import draw_class_bars, settings_in_words
from postel.paper.figures.neighbors import all_label_conditional
from postel.paper.names import dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED, PUBLISHED_NOTE, CellRequest, Options
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target
from postel.paper.variants import POSTEL
from postel.pictures import new_figure, write_caption

_SOURCES = ("training labels", "with pseudo-labels", "all labels")


class FigureConditionals(Target):
    """P(neighbor's class | class) from three sets of labels, on the limited splits."""

    title = "Conditional distributions estimated from training labels, with pseudo-labels, and from all labels"

    datasets = ("cornell", "texas", "cora")
    variants = (POSTEL,)
    protocol = "limited"
    splits = 1
    budget = FIXED
    published_settings = True
    per_dataset = staticmethod(all_label_conditional)

    def make_requests(self, options: Options) -> list[CellRequest]:
        """Return PosteL's cell of each dataset, with one network: there is one picture per dataset.

        Args:
            options: The user's options.
        """
        request = super().make_requests(options)
        return [one for one in request if one.backbone == request[0].backbone]

    def make(self, reader: Reader) -> Rendering:
        """Return one picture per dataset, and the distance of each estimate from that of all labels.

        Args:
            reader: The store's reader.
        """
        figures, rows = {}, []
        for request in self.requests:
            cell, truth = request.answer(reader, rounds=True), reader.measurements.get(self.name, request.dataset)
            estimates = conditionals_of(cell.rows[0]) if cell else (None, None)
            matrices = dict(zip(_SOURCES, (*estimates, truth), strict=True))
            figures[request.dataset] = _figure(matrices, dataset_label(request.dataset), cell)
            rows += [
                (request.dataset, source, distance(matrix, truth) if truth else None)
                for source, matrix in matrices.items()
                if matrix
            ] or [(request.dataset, "not run", None)]
        columns = (*texts("dataset", "labels"), *numbers("distance from all labels", places=4))
        note = "Distance: total variation from that of all labels, mean over classes; hatched: the class itself."
        return Rendering(self.name, Table(self.title, columns, rows, (note, PUBLISHED_NOTE)), figures=figures)


def _figure(matrices: dict[str, Any], title: str, cell: Cell | None) -> Any:
    size = max((len(matrix) for matrix in matrices.values() if matrix), default=3)
    figure = new_figure(max(7.5, 1.9 * size), 6.7)
    grid: Any = figure.subplots(len(matrices), size, squeeze=False, sharey=True)
    for row, (source, matrix) in enumerate(matrices.items()):
        draw_class_bars(grid[row], matrix, label=source, last=row == len(matrices) - 1)
    for k, axes in enumerate(grid[0]):
        axes.set_title(f"class {k}", fontsize=11)
    figure.suptitle(f"{title}: P(neighbor's class | class)", fontsize=12)
    write_caption(
        figure,
        f"{settings_in_words([cell])} First split. Color: the neighbor's class; hatched: the class itself. With "
        "pseudo-labels: those of the round that was kept or, if none was, of the first.",
    )
    return figure
