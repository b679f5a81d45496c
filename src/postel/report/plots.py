"""Figures of a comparison on one dataset: accuracy of every split, loss curves and conditional matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from postel.experiments.results import Cell
from postel.pictures import draw_heat_map, method_color, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CURVES = (("train", "--"), ("val", "-"), ("test", ":"))
Matrix = list[list[float]]


def accuracy_figure(cells: Sequence[Cell]) -> Figure:
    """Draw the test accuracy of every split as a point, with means, 95 % intervals and the majority class.

    Args:
        cells: One cell per method, with rows.

    Returns:
        The figure.
    """
    return accuracies_figure({"": cells})


def accuracies_figure(graphs: Mapping[str, Sequence[Cell]]) -> Figure:
    """Draw the test accuracy of every split on several graphs, one panel per graph.

    Args:
        graphs: The cells of each graph, one per method, by the panel's title.

    Returns:
        The figure.
    """
    widths = [1.6 + 1.5 * len(cells) for cells in graphs.values()]
    figure = new_figure(sum(widths), 4.2)
    panels = figure.subplots(1, len(graphs), squeeze=False, width_ratios=widths)[0]
    for axes, (title, cells) in zip(panels, graphs.items(), strict=True):
        _draw_accuracies(axes, cells)
        axes.set_title(title)
    return figure


def loss_figure(cells: Sequence[Cell]) -> Figure:
    """Draw training, validation and test loss of the first split, one panel per method.

    Args:
        cells: One cell per method, with rows.

    Returns:
        The figure.
    """
    figure = new_figure(3.1 * len(cells), 3.2)
    _draw_losses(figure.subplots(1, len(cells), sharey=True, squeeze=False)[0], cells)
    return figure


def conditional_figure(cells: Sequence[Cell], all_labels: Matrix | None = None) -> Figure | None:
    """Draw P(neighbor's class | class) from training labels, with pseudo-labels, and from all labels.

    Args:
        cells: One cell per method, with rows.
        all_labels: The matrix of all labels, which is shown and never used; None leaves it out.

    Returns:
        The figure, or None if no method has a conditional matrix.
    """
    panels = _conditional_panels(cells, all_labels)
    if not panels:
        return None
    figure = new_figure(3.6 * len(panels), 3.5)
    _draw_conditionals(figure.subplots(1, len(panels), squeeze=False)[0], panels)
    return figure


def overview_figure(cells: Sequence[Cell], all_labels: Matrix | None = None) -> Figure:
    """Draw accuracies, losses and conditional matrices in one figure.

    Args:
        cells: One cell per method, with rows.
        all_labels: The matrix of all labels; None leaves it out.

    Returns:
        The figure.
    """
    panels = _conditional_panels(cells, all_labels)
    figure = new_figure(max(9.0, 3.1 * max(len(cells), len(panels))), 10.5 if panels else 7.0)
    parts: Any = figure.subfigures(3 if panels else 2, 1)
    _draw_accuracies(parts[0].subplots(), cells)
    question = cells[0].question
    parts[0].suptitle(f"{question.dataset}, {question.backbone}, {question.protocol} splits")
    _draw_losses(parts[1].subplots(1, len(cells), sharey=True, squeeze=False)[0], cells)
    if panels:
        _draw_conditionals(parts[2].subplots(1, len(panels), squeeze=False)[0], panels)
    return figure


def _draw_accuracies(axes: Axes, cells: Sequence[Cell]) -> None:
    for place, cell in enumerate(cells):
        values, span = cell.accuracy.values, cell.accuracy.interval
        spread = np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else [0.0]
        color = method_color(cell.chosen.method.name)
        axes.scatter(place + np.asarray(spread), values, s=26, color=color, alpha=0.55, linewidth=0)
        axes.plot([place, place], [span.low, span.high], color="black", linewidth=2)
        axes.plot([place - 0.24, place + 0.24], [span.mean, span.mean], color="black", linewidth=2)
        where = (place + 0.27, span.mean)
        axes.annotate(f"{span.mean:.1f}", where, va="center", fontsize=10, fontweight="bold")
    _draw_majority(axes, cells[0].majority)
    axes.set_xticks(range(len(cells)), [_wrapped(cell) for cell in cells])
    axes.set_xlim(-0.5, len(cells) - 0.3)
    axes.set_ylabel("test accuracy, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)


def _draw_majority(axes: Axes, share: float) -> None:
    """Draw the majority class as a line, or as a note where the line would squeeze the points together."""
    low, high = axes.get_ylim()
    far = share < low - 2 * (high - low)
    if not far:
        axes.axhline(share, color="#777777", linestyle="--", linewidth=1)
    # The width is the panel's, the height the data's: at the right edge, above the line or the bottom.
    text = f"majority class {share:.1f} " + ("(below) " if far else "")
    style: dict[str, Any] = {"ha": "right", "va": "bottom", "color": "#555555", "fontsize": 9}
    axes.text(0.995, low if far else share, text, transform=axes.get_yaxis_transform(), **style)


def _draw_losses(panels: Any, cells: Sequence[Cell]) -> None:
    for axes, cell in zip(panels, cells, strict=True):
        best = cell.rows[0].best_round
        for name, style in _CURVES:
            curve = best.loss(name) if best is not None else []
            if curve:
                color = method_color(cell.chosen.method.name)
                axes.plot(range(1, len(curve) + 1), curve, style, color=color, label=name)
        axes.axvline(cell.rows[0].result.best_epoch, color="#777777", linewidth=0.8)
        axes.set_title(_wrapped(cell), fontsize=10)
        axes.set_xlabel("epoch")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("loss with one-hot labels, first split")
    if panels[0].get_legend_handles_labels()[0]:
        panels[0].legend(frameon=False, fontsize=9)


def _conditional_panels(cells: Sequence[Cell], all_labels: Matrix | None) -> list[tuple[str, Matrix]]:
    """Return titles and matrices of the first method that has them."""
    found = next(filter(None, (cell.rows[0].conditionals for cell in cells)), [])
    panels = [(f"with pseudo-labels (round {n})" if n else "training labels", matrix) for n, matrix in found]
    return [*panels, ("all labels, for comparison", all_labels)] if found and all_labels is not None else panels


def _draw_conditionals(panels: Any, matrices: list[tuple[str, Matrix]]) -> None:
    for axes, (title, matrix) in zip(panels, matrices, strict=True):
        draw_heat_map(axes, matrix, size=9 if len(matrix) <= 8 else 6)
        axes.set_xlabel("neighbor's class")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("class")


def _wrapped(cell: Cell) -> str:
    words = cell.chosen.method.label.split(" ")
    return "\n".join([words[0], *words[1:3], *(["…"] if len(words) > 3 else [])])
