"""The paper's loss curves on Squirrel: one-hot labels against PosteL's."""

from __future__ import annotations

from typing import Any, ClassVar

from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import (
    LOSS_LINES,
    draw_losses,
    loss_table,
    one_setting_in_words,
    set_common_ceiling,
    settings_in_words,
)
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED, PUBLISHED_NOTE
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL, Variant
from postel.pictures import new_figure, write_caption

NOTE = "Losses against the true labels, first split, model of the kept round."


class FigureLoss(Target):
    """Training, validation and test loss, one panel per method and one row of panels per dataset."""

    title = "Loss curves of one-hot and PosteL labels"
    datasets: ClassVar[tuple[str, ...]] = ("squirrel",)
    variants: ClassVar[tuple[Variant, ...]] = (ONE_HOT, POSTEL)
    any_method = True
    splits = 1
    budget = FIXED
    published_settings = True
    one_setting = True

    def make(self, reader: Reader) -> Rendering:
        """Return the picture, and the losses at the best epochs.

        Args:
            reader: The store's reader.
        """
        groups = self.places
        columns = max(map(len, groups.values()))
        figure = new_figure(4.2 * columns, 3.1 * len(groups) + 0.9)
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
        cells = [cell for _, _, cell in lines]
        same = one_setting_in_words(self.requests)
        write_caption(
            figure,
            f"Losses against the true labels. {settings_in_words(cells)} {same} {LOSS_LINES}",
        )
        shown = [found for found in (axes.get_legend_handles_labels() for axes in grid.flat) if found[0]]
        if shown:
            legend = figure.legend(*shown[0], loc="outside upper center", ncols=3, frameon=False, fontsize=11)
            for handle in legend.get_lines():
                handle.set_color("#444444")
        return Rendering(
            self.name,
            loss_table(self.title, lines, tuple(filter(None, (NOTE, same, PUBLISHED_NOTE)))),
            figures={"": figure},
        )
