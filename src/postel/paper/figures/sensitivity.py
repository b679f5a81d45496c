"""The paper's sweeps over alpha and beta, with one-hot labels as a line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postel.experiments.results import Cell
from postel.experiments.store.reader import Reader
from postel.paper.figures._drawing import mark_not_run, settings_in_words
from postel.paper.names import FOUR_DATASETS, backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED, PUBLISHED_NOTE, CellRequest, Options, sweep
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL
from postel.pictures import method_color, new_figure, write_caption

# Both are PosteL's, and so have its color: alpha's line is solid, beta's dotted.
_STYLES = {"alpha": ("-o", 1.0, "PosteL over α"), "beta": (":s", 0.6, "PosteL over β")}
_NOTE = (
    "One parameter moves, everything else stays at PosteL's setting (the budget says how it was found); bands: "
    "95 % bootstrap interval over splits; hollow points, and the column: how many models predict one class for "
    "every test node. The paper names no datasets for its four panels."
)


class FigureSensitivity(Target):
    """Accuracy by alpha and by beta, one panel per dataset."""

    title = "Test accuracy over alpha and beta, with one-hot labels for comparison"

    datasets = FOUR_DATASETS
    variants = (ONE_HOT, POSTEL)
    budget = FIXED
    published_settings = True

    def make_requests(self, options: Options) -> list[CellRequest]:
        """Return PosteL's and one-hot's cells, and for every value a point that takes over PosteL's settings.

        Args:
            options: The user's options.
        """
        options.chosen_variants(self.variants)  # both are needed, whichever of them was asked for
        request = super().make_requests(replace(options, methods=None))
        # Points belong to the very cell that they took their settings from: no other search may stand in for it.
        bases = [replace(one, question=replace(one.question, budget=one.budget), tuned=None) for one in request]
        return bases + [point for base in bases if base.variant is POSTEL for point in sweep(base)]

    def make(self, reader: Reader) -> Rendering:
        """Return the picture, and one line per point.

        Args:
            reader: The store's reader.
        """
        plain = [request for request in self.requests if request.variant is ONE_HOT]
        columns = min(2, len(plain))
        lines = -(-len(plain) // columns)
        figure = new_figure(5.2 * columns, 3.6 * lines + 0.9)
        grid: Any = figure.subplots(lines, columns, squeeze=False)
        rows: list[tuple[Any, ...]] = []
        for axes, base in zip(grid.flat, plain, strict=False):
            points = [request for request in self.requests if request.base and request.place == base.place]
            found = [(request, cell) for request in points if (cell := request.answer(reader)) is not None]
            rows += _draw(axes, base, base.answer(reader), found)
            axes.set_title(f"{dataset_label(base.dataset)}, {backbone_label(base.backbone)}", fontsize=12)
        for axes in grid.flat[len(plain) :]:
            axes.axis("off")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=11)
        bases = [base.answer(reader) for base in self.requests if base.base is None]
        write_caption(
            figure,
            f"{settings_in_words(bases)} One parameter moves, everything else stays at PosteL's setting. Bands: "
            "95 % bootstrap interval over splits; dashed: one-hot labels at their own setting; hollow: most "
            "models predict one class for every test node.",
        )
        heads = (
            *texts("dataset", "backbone", "parameter"),
            *numbers("value", "accuracy", "low", "high", "over one-hot", places=2),
            *numbers("one class", "n"),
            *texts("budget"),
        )
        return Rendering(self.name, Table(self.title, heads, rows, (_NOTE, PUBLISHED_NOTE)), figures={"": figure})


def _draw(
    axes: Any, request: CellRequest, plain: Cell | None, points: list[tuple[CellRequest, Cell]]
) -> list[tuple[Any, ...]]:
    """Draw a panel; its points as lines of the table."""
    axes.spines[["top", "right"]].set_visible(False)
    head = (request.dataset, request.backbone)
    if plain is None:
        mark_not_run(axes)
        return [(*head, "not run", *[None] * 6, 0, None)]
    level = plain.accuracy.interval
    rows: list[tuple[Any, ...]] = [(*head, "one-hot", None, *_numbers(plain, None))]
    color = method_color("postel")
    for name, (style, alpha, label) in _STYLES.items():
        found = [(one.variant.params[name], cell) for one, cell in points if one.variant.label == name]
        spans = [cell.accuracy.interval for _, cell in found]
        values, means = [value for value, _ in found], [span.mean for span in spans]
        lows, highs = [span.low for span in spans], [span.high for span in spans]
        axes.fill_between(values, lows, highs, color=color, alpha=0.13 * alpha, linewidth=0)
        axes.plot(values, means, style, color=color, alpha=alpha, linewidth=1.8, markersize=5, label=label)
        fallen = [(value, cell.accuracy.interval.mean) for value, cell in found if cell.has_collapsed]
        if fallen:
            axes.plot(*zip(*fallen, strict=True), style[-1], color=color, markerfacecolor="white", markersize=5)
        rows += [(*head, name, value, *_numbers(cell, plain)) for value, cell in found]
    axes.axhline(level.mean, color=method_color("one_hot"), linestyle="--", linewidth=1.6, label="one-hot")
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("value of α or β")
    axes.set_ylabel("test accuracy, %")
    axes.grid(alpha=0.25)
    return rows


def _numbers(cell: Cell, plain: Cell | None) -> tuple[Any, ...]:
    span = cell.accuracy.interval
    gain = cell.accuracy.gain_over(plain.accuracy) if plain else None
    work = (cell.collapsed, len(cell.rows), cell.spent.text)
    return (span.mean, span.low, span.high, gain.mean if gain else None, *work)
