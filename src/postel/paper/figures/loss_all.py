"""The paper's loss curves on all ten datasets: PosteL, SALS and one-hot labels."""

from __future__ import annotations

from typing import Any

from postel.errors import require_extra
from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import (
    draw_curves,
    loss_table,
    mark_not_run,
    one_setting_in_words,
    set_common_ceiling,
    settings_in_words,
)
from postel.paper.figures.loss import NOTE, FigureLoss
from postel.paper.names import DATASETS, backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import PUBLISHED_NOTE
from postel.paper.variants import ONE_HOT, POSTEL, SALS
from postel.pictures import method_color, new_figure, write_caption

_WIDEST = 5


class FigureLossAll(FigureLoss):
    """A panel per dataset with the losses of all methods, so that ten of them fit a page."""

    title = "Loss curves of PosteL, SALS and one-hot labels on every dataset"
    datasets = DATASETS
    variants = (POSTEL, SALS, ONE_HOT)

    def make(self, reader: Reader) -> Rendering:
        """Return the picture, and the losses at the best epochs.

        Args:
            reader: The store's reader.
        """
        groups = self.places
        columns = min(_WIDEST, len(groups))
        rows = -(-len(groups) // columns)
        figure = new_figure(max(7.0, 2.5 * columns), 2.35 * rows + 1.3)
        grid: Any = figure.subplots(rows, columns, squeeze=False)
        several = len({backbone for backbone, _ in groups}) > 1
        lines = []
        for axes, ((backbone, dataset), group) in zip(grid.flat, groups.items(), strict=False):
            cells = [request.answer(reader, rounds=True) for request in group]
            lines += [(dataset, one.variant.label, cell) for one, cell in zip(group, cells, strict=True)]
            for cell in cells:
                draw_curves(axes, cell, ("train", "val"))
            if not any(cells):
                mark_not_run(axes)
            set_common_ceiling([axes], cells)
            network = f", {backbone_label(backbone)}" if several else ""
            axes.set_title(f"{dataset_label(dataset)}{network}", fontsize=11.5, fontweight="bold", loc="left")
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
            axes.tick_params(labelsize=9)
        for axes in grid.flat[len(groups) :]:
            axes.axis("off")
        for axes in grid[:, 0]:
            axes.set_ylabel("loss", fontsize=10)
        for axes in grid[-1]:
            axes.set_xlabel("epoch", fontsize=10)
        self._legend(figure)
        networks = ", ".join(dict.fromkeys(backbone_label(backbone) for backbone, _ in groups))
        same = one_setting_in_words(self.requests)
        write_caption(
            figure,
            f"{networks}, first split, losses of the kept model against the true labels. "
            f"{settings_in_words([cell for _, _, cell in lines])} {same} Vertical lines: the epochs that "
            "were kept. Panels end at twice the first validation loss. Test losses at the kept epochs are in the "
            "table.",
        )
        return Rendering(
            self.name,
            loss_table(self.title, lines, tuple(filter(None, (NOTE, same, PUBLISHED_NOTE)))),
            figures={"": figure},
        )

    def _legend(self, figure: Any) -> None:
        line = require_extra("matplotlib.lines", "plots").Line2D
        variants = dict.fromkeys((one.variant.label, one.variant.method) for one in self.requests)
        handles = [line([], [], color=method_color(name), linewidth=2.2, label=label) for label, name in variants]
        handles += [
            line([], [], color="#444444", linestyle=style, linewidth=1.6, label=f"{label} nodes")
            for label, style in (("validation", "-"), ("training", "--"))
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False, fontsize=10.5)
