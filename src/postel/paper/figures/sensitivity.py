"""The paper's sweeps over alpha and beta, with one-hot labels as a line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postel.paper.class_bars import mark_not_run
from postel.paper.names import backbone_label, dataset_label
from postel.paper.planning import FIXED, PUBLISHED_NOTE, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Outcome, Results
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL, Variant
from postel.pictures import PALETTE, method_colour, new_figure

#: The paper's values of both, from its search space.
SWEEPS: dict[str, tuple[float, ...]] = {
    "alpha": tuple(round(0.1 * step, 1) for step in range(1, 11)),
    "beta": tuple(round(0.1 * step, 1) for step in range(10)),
}
_STYLES = {"alpha": (PALETTE[0], "o", "α"), "beta": (PALETTE[2], "s", "β")}
_NOTE = (
    "One parameter moves, everything else stays at PosteL's setting (the budget says how it was found); bands: "
    "95 % bootstrap interval over splits; hollow points, and the column: how many models predict one class for "
    "every test node. The paper names no datasets for its four panels."
)


class FigureSensitivity(Target):
    """Accuracy by alpha and by beta, a panel a dataset."""

    name = "figure-sensitivity"
    title = "Test accuracy over alpha and beta, with one-hot labels for comparison"

    def plan(self, options: Options) -> list[Planned]:
        """PosteL's and one-hot's cells, and a point a value that takes over PosteL's settings."""
        datasets = options.chosen_datasets(("cora", "citeseer", "texas", "cornell"))
        backbones = options.chosen_backbones(("gcn",))
        options.among_methods((ONE_HOT, POSTEL))
        cells = plan_cells(options, datasets, backbones, (ONE_HOT, POSTEL), budget=FIXED, published=True)
        # Points belong to the very cell that they took their settings from: no other search may stand in for it.
        bases = [replace(cell, any_budget=False) for cell in cells]
        return bases + [point for base in bases if base.variant is POSTEL for point in _points(base)]

    def make(self, results: Results, options: Options) -> Product:
        """The picture, and a line a point."""
        cells = self.plan(options)
        plain = [cell for cell in cells if cell.variant is ONE_HOT]
        columns = min(2, len(plain))
        lines = -(-len(plain) // columns)
        figure = new_figure(5.2 * columns, 3.6 * lines + 0.4)
        grid: Any = figure.subplots(lines, columns, squeeze=False)
        rows: list[tuple[Any, ...]] = []
        for axes, base in zip(grid.flat, plain, strict=False):
            swept = [cell for cell in cells if cell.base and (cell.dataset, cell.backbone) == _place(base)]
            rows += _draw(axes, results.of(base), [(cell, results.of(cell)) for cell in swept])
            axes.set_title(f"{dataset_label(base.dataset)}, {backbone_label(base.backbone)}", fontsize=12)
        for axes in grid.flat[len(plain) :]:
            axes.axis("off")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=11)
        heads = tuple(Column(name, left=True) for name in ("dataset", "backbone", "parameter"))
        numbers = tuple(Column(name, decimals(2)) for name in ("value", "accuracy", "low", "high", "over one-hot"))
        table = Table(
            self.title,
            (*heads, *numbers, Column("one class"), Column("n"), Column("budget", left=True)),
            rows,
            (_NOTE, PUBLISHED_NOTE),
        )
        return Product(self.name, table, figures={"": figure})


def _points(base: Planned) -> list[Planned]:
    return [
        replace(base, variant=Variant(f"postel-{name}-{value}", name, "postel", {name: value}, True), base=base)
        for name, values in SWEEPS.items()
        for value in values
    ]


def _place(cell: Planned) -> tuple[str, str]:
    return cell.dataset, cell.backbone


def _draw(axes: Any, plain: Outcome | None, swept: list[tuple[Planned, Outcome | None]]) -> list[tuple[Any, ...]]:
    """Draw a panel; its points as lines of the table."""
    axes.spines[["top", "right"]].set_visible(False)
    if plain is None:
        mark_not_run(axes)
        cell = swept[0][0]
        return [(cell.dataset, cell.backbone, "not run", *[None] * 6, 0, None)]
    level, place = plain.interval, _place(plain.planned)
    rows: list[tuple[Any, ...]] = [
        (
            *place,
            "one-hot",
            None,
            level.mean,
            level.low,
            level.high,
            None,
            plain.collapsed,
            len(plain.rows),
            plain.budget,
        )
    ]
    for name, (colour, marker, letter) in _STYLES.items():
        found = [
            (cell.variant.params[name], o) for cell, o in swept if o is not None and cell.variant.label == name
        ]
        spans = [outcome.interval for _, outcome in found]
        values = [value for value, _ in found]
        axes.fill_between(
            values, [s.low for s in spans], [s.high for s in spans], color=colour, alpha=0.13, linewidth=0
        )
        axes.plot(
            values, [s.mean for s in spans], marker=marker, color=colour, linewidth=1.8, markersize=5, label=letter
        )
        fallen = [(value, outcome.interval.mean) for value, outcome in found if outcome.has_collapsed]
        if fallen:
            axes.plot(*zip(*fallen, strict=True), marker, color=colour, markerfacecolor="white", markersize=5)
        for (value, outcome), span in zip(found, spans, strict=True):
            gain = outcome.over(plain)
            over = gain.interval.mean if gain else None
            work = (outcome.collapsed, len(outcome.rows), outcome.budget)
            rows.append((*place, name, value, span.mean, span.low, span.high, over, *work))
    axes.axhline(level.mean, color=method_colour("one_hot"), linestyle="--", linewidth=1.6, label="one-hot")
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("value of α or β")
    axes.set_ylabel("test accuracy, %")
    axes.grid(alpha=0.25)
    return rows


TARGET = FigureSensitivity()
