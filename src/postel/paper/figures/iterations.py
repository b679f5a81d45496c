"""The paper's loss curves across rounds of pseudo-labelling, on Cornell."""

from __future__ import annotations

from typing import Any

from postel.errors import require_extra
from postel.paper.class_bars import mark_not_run
from postel.paper.names import backbone_label, dataset_label
from postel.paper.planning import FIXED, PUBLISHED_NOTE, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results, Row
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.paper.variants import POSTEL
from postel.pictures import new_figure

_NOTE = "The split with the most rounds that lowered the validation loss; the last round is the one that did not."


class FigureIterations(Target):
    """Validation and test loss of each round."""

    name = "figure-iterations"
    title = "Loss curves across rounds of pseudo-labelling"

    def plan(self, options: Options) -> list[Planned]:
        """PosteL's cell, over all splits: the one with the most rounds is shown."""
        datasets, backbones = options.chosen_datasets(("cornell",)), options.chosen_backbones(("gcn",))
        return plan_cells(
            options, datasets, backbones, options.among_methods((POSTEL,)), budget=FIXED, published=True
        )

    def make(self, results: Results, options: Options) -> Product:
        """Two panels for each cell, and the losses of every round."""
        cells = self.plan(options)
        figure = new_figure(9.6, 3.6 * len(cells))
        parts: Any = figure.subfigures(len(cells), 1, squeeze=False)[:, 0]
        rows: list[tuple[Any, ...]] = []
        for part, cell in zip(parts, cells, strict=True):
            panels = part.subplots(1, 2, sharey=True)
            found = results.of(cell, rounds=True)
            title = f"{dataset_label(cell.dataset)}, {backbone_label(cell.backbone)}"
            if found is None:
                for axes in panels:
                    mark_not_run(axes)
                rows.append((cell.dataset, cell.backbone, "not run", *[None] * 6))
            else:
                row = max(found.rows, key=lambda row: row["result"]["improved_rounds"])
                title += f", split {row['spec']['split']}"
                _draw(panels, row)
                rows += [
                    (cell.dataset, cell.backbone, "run", row["spec"]["split"], *_line(e)) for e in row["rounds"]
                ]
            part.suptitle(title, fontsize=12)
        heads = tuple(Column(name, left=True) for name in ("dataset", "backbone", "state"))
        counts = (Column("split"), Column("round"), Column("lowered the loss"), Column("best epoch"))
        losses = (Column("validation loss", decimals(4)), Column("test loss", decimals(4)))
        return Product(
            self.name,
            Table(self.title, (*heads, *counts, *losses), rows, (_NOTE, PUBLISHED_NOTE)),
            figures={"": figure},
        )


def _line(entry: Row) -> tuple[Any, ...]:
    at = entry["best_epoch"] - 1
    test = entry["curves"]["loss"].get("test")
    return entry["round"], entry["improved"], entry["best_epoch"], entry["val_loss"], test[at] if test else None


def _draw(panels: Any, row: Row) -> None:
    # A map that stays ordered in every kind of colour vision; its lightest end is hard to see on white.
    shades = require_extra("matplotlib", "plots").colormaps["viridis"]
    rounds = row["rounds"]
    for axes, name, label in zip(panels, ("val", "test"), ("validation loss", "test loss"), strict=True):
        for place, entry in enumerate(rounds):
            curve = entry["curves"]["loss"].get(name)
            if not curve:
                continue
            told = "no pseudo-labels" if entry["round"] == 0 else f"round {entry['round']}"
            style = "-" if entry["improved"] else "--"
            colour = shades(0.85 * place / max(len(rounds) - 1, 1))
            axes.plot(range(1, len(curve) + 1), curve, style, color=colour, linewidth=1.8, label=told)
        axes.set_title(label, fontsize=11)
        axes.set_xlabel("epoch")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("loss")
    panels[1].legend(frameon=False, fontsize=10, loc="upper left", bbox_to_anchor=(1.0, 1.0))


TARGET = FigureIterations()
