"""The paper's loss curves on Squirrel: one-hot labels against PosteL's."""

from __future__ import annotations

from typing import Any

from postel.paper.loss_curves import common_ceiling, draw_losses, loss_table
from postel.paper.names import backbone_label, dataset_label
from postel.paper.planning import FIXED, PUBLISHED_NOTE, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL, Variant
from postel.pictures import new_figure

_NOTE = "Losses against the true labels, first split, model of the kept round; grey line: epoch that was kept."


class FigureLoss(Target):
    """Training, validation and test loss, a panel a method."""

    name = "figure-loss"
    title = "Loss curves of one-hot and PosteL labels"
    datasets: tuple[str, ...] = ("squirrel",)
    variants: tuple[Variant, ...] = (ONE_HOT, POSTEL)

    def plan(self, options: Options) -> list[Planned]:
        """A cell a panel, on one split."""
        datasets, backbones = options.chosen_datasets(self.datasets), options.chosen_backbones(("gcn",))
        variants = options.chosen_methods(self.variants)
        return plan_cells(options, datasets, backbones, variants, splits=1, budget=FIXED, published=True)

    def make(self, results: Results, options: Options) -> Product:
        """A row of panels for each backbone and dataset."""
        cells = self.plan(options)
        groups: dict[tuple[str, str], list[Planned]] = {}
        for cell in cells:
            groups.setdefault((cell.backbone, cell.dataset), []).append(cell)
        columns = max(map(len, groups.values()))
        figure = new_figure(4.2 * columns, 3.1 * len(groups) + 0.3)
        grid: Any = figure.subplots(len(groups), columns, squeeze=False, sharey="row")
        lines = []
        for panels, ((backbone, dataset), group) in zip(grid, groups.items(), strict=True):
            found = [results.of(cell, rounds=True) for cell in group]
            for axes, cell, outcome in zip(panels, group, found, strict=True):
                draw_losses(
                    axes, outcome, f"{dataset_label(dataset)}, {backbone_label(backbone)}: {cell.variant.label}"
                )
                lines.append((dataset, cell.variant.label, outcome))
            common_ceiling(list(panels), found)
            panels[0].set_ylabel("loss")
        for axes in grid[-1]:
            axes.set_xlabel("epoch")
        _legend(figure, grid)
        return Product(self.name, loss_table(self.title, lines, (_NOTE, PUBLISHED_NOTE)), figures={"": figure})


def _legend(figure: Any, grid: Any) -> None:
    for axes in grid.flat:
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=11)
            return


TARGET = FigureLoss()
