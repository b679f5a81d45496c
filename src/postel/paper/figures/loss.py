"""The paper's loss curves on Squirrel: one-hot labels against PosteL's."""

from __future__ import annotations

from typing import Any, ClassVar

from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import draw_losses, loss_table, set_common_ceiling
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED, PUBLISHED_NOTE
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL, Variant
from postel.pictures import new_figure

_NOTE = "Losses against the true labels, first split, model of the kept round; grey line: epoch that was kept."


class FigureLoss(Target):
    """Training, validation and test loss, one panel per method and one row of panels per dataset."""

    name = "figure-loss"
    title = "Loss curves of one-hot and PosteL labels"
    datasets: ClassVar[tuple[str, ...]] = ("squirrel",)
    variants: ClassVar[tuple[Variant, ...]] = (ONE_HOT, POSTEL)
    any_method = True
    splits = 1
    budget = FIXED
    published_settings = True

    def make(self, reader: Reader) -> Rendering:
        """Return the picture, and the losses at the best epochs.

        Args:
            reader: The store's reader.
        """
        groups = self.places
        columns = max(map(len, groups.values()))
        figure = new_figure(4.2 * columns, 3.1 * len(groups) + 0.3)
        grid: Any = figure.subplots(len(groups), columns, squeeze=False, sharey="row")
        lines = []
        for panels, ((backbone, dataset), group) in zip(grid, groups.items(), strict=True):
            cells = [request.answer(reader, rounds=True) for request in group]
            place = f"{dataset_label(dataset)}, {backbone_label(backbone)}"
            for axes, request, cell in zip(panels, group, cells, strict=True):
                draw_losses(axes, cell, f"{place}: {request.variant.label}")
                lines.append((dataset, request.variant.label, cell))
            set_common_ceiling(panels, cells)
            panels[0].set_ylabel("loss")
        for axes in grid[-1]:
            axes.set_xlabel("epoch")
        shown = [found for found in (axes.get_legend_handles_labels() for axes in grid.flat) if found[0]]
        if shown:
            figure.legend(*shown[0], loc="outside upper center", ncols=3, frameon=False, fontsize=11)
        return Rendering(self.name, loss_table(self.title, lines, (_NOTE, PUBLISHED_NOTE)), figures={"": figure})


TARGET = FigureLoss
