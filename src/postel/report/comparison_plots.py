"""Pictures of a comparison: accuracies per split, loss curves, conditional matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from postel.experiments.comparison import Comparison
from postel.experiments.running.execute import Row
from postel.pictures import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CURVES = (("train", "--"), ("val", "-"), ("test", ":"))


def accuracy_figure(comparison: Comparison) -> Figure:
    """Test accuracy of every split as a point, with means and 95 % intervals, and the majority class as a line."""
    figure = new_figure(1.6 + 1.5 * len(comparison.methods), 4.2)
    draw_accuracies(figure.add_subplot(), comparison)
    return figure


def loss_figure(comparison: Comparison) -> Figure:
    """Training, validation and test loss of the first split, a panel a method."""
    figure = new_figure(3.1 * len(comparison.methods), 3.2)
    draw_losses(figure.subplots(1, len(comparison.methods), sharey=True, squeeze=False)[0], comparison)
    return figure


def conditional_figure(comparison: Comparison, all_labels: Any = None) -> Figure | None:
    """P(neighbor's class | class) from training labels, with pseudo-labels, and from all labels if given.

    None where no method of the comparison has a conditional matrix.
    """
    panels = conditional_panels(comparison, all_labels)
    if not panels:
        return None
    figure = new_figure(3.6 * len(panels), 3.5)
    draw_conditionals(figure.subplots(1, len(panels), squeeze=False)[0], panels)
    return figure


def overview_figure(comparison: Comparison, all_labels: Any = None) -> Figure:
    """All of it in one picture."""
    panels = conditional_panels(comparison, all_labels)
    columns = max(len(comparison.methods), len(panels))
    figure = new_figure(max(9.0, 3.1 * columns), 10.5 if panels else 7.0)
    parts: Any = figure.subfigures(3 if panels else 2, 1)
    draw_accuracies(parts[0].subplots(), comparison)
    parts[0].suptitle(f"{comparison.dataset}, {comparison.backbone}, {comparison.protocol} splits")
    losses = parts[1].subplots(1, len(comparison.methods), sharey=True, squeeze=False)[0]
    draw_losses(losses, comparison)
    if panels:
        draw_conditionals(parts[2].subplots(1, len(panels), squeeze=False)[0], panels)
    return figure


def draw_accuracies(axes: Axes, comparison: Comparison) -> None:
    for place, line in enumerate(comparison.methods):
        values = [100 * row["result"]["test"]["accuracy"] for row in comparison.rows_of(line)]
        spread = np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else [0.0]
        colour = PALETTE[place % len(PALETTE)]
        axes.scatter(place + np.asarray(spread), values, s=26, color=colour, alpha=0.55, linewidth=0)
        interval = line.accuracy
        axes.plot([place, place], [interval.low, interval.high], color="black", linewidth=2)
        axes.plot([place - 0.24, place + 0.24], [interval.mean, interval.mean], color="black", linewidth=2)
        axes.annotate(
            f"{interval.mean:.1f}", (place + 0.27, interval.mean), va="center", fontsize=10, fontweight="bold"
        )
    _draw_majority(axes, comparison)
    axes.set_xticks(range(len(comparison.methods)), [_wrapped(line.label) for line in comparison.methods])
    axes.set_xlim(-0.5, len(comparison.methods) - 0.3)
    axes.set_ylabel("test accuracy, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)


def _draw_majority(axes: Axes, comparison: Comparison) -> None:
    """The majority class as a line, or as a note where the line would press the points together."""
    share = comparison.majority.mean
    low, high = axes.get_ylim()
    far = share < low - 2 * (high - low)
    if not far:
        axes.axhline(share, color="#777777", linestyle="--", linewidth=1)
    # The width is the panel's, the height the data's: at the right edge, above the line or the bottom.
    text = f"majority class {share:.1f} " + ("(below) " if far else "")
    place = (0.995, low if far else share)
    style: dict[str, Any] = {"ha": "right", "va": "bottom", "color": "#555555", "fontsize": 9}
    axes.text(*place, text, transform=axes.get_yaxis_transform(), **style)


def draw_losses(panels: Any, comparison: Comparison) -> None:
    for place, (axes, line) in enumerate(zip(panels, comparison.methods, strict=True)):
        best = _best_round(comparison.rows_of(line)[0])
        for name, style in _CURVES:
            curve = best["curves"]["loss"].get(name)
            if curve:
                colour = PALETTE[place % len(PALETTE)]
                axes.plot(range(1, len(curve) + 1), curve, style, color=colour, label=name)
        axes.axvline(best["best_epoch"], color="#777777", linewidth=0.8)
        axes.set_title(_wrapped(line.label), fontsize=10)
        axes.set_xlabel("epoch")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("hard-label loss, first split")
    if panels[0].get_legend_handles_labels()[0]:
        panels[0].legend(frameon=False, fontsize=9)


def conditional_panels(comparison: Comparison, all_labels: Any) -> list[tuple[str, list[list[float]]]]:
    """Titles and matrices, of the first method that has them."""
    for line in comparison.methods:
        row = comparison.rows_of(line)[0]
        first, best = row.get("rounds", [_best_round(row)])[0], _best_round(row)
        if first["conditional"] is None:
            continue
        panels = [("training labels", first["conditional"])]
        if best["round"] > 0:
            panels.append((f"with pseudo-labels (round {best['round']})", best["conditional"]))
        if all_labels is not None:
            panels.append(("all labels, for comparison", all_labels))
        return panels
    return []


def draw_conditionals(panels: Any, matrices: list[tuple[str, list[list[float]]]]) -> None:
    for axes, (title, matrix) in zip(panels, matrices, strict=True):
        axes.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
        size = 9 if len(matrix) <= 8 else 6
        for n, values in enumerate(matrix):
            for m, value in enumerate(values):
                ink = "white" if value < 0.55 else "black"
                axes.text(m, n, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=size)
        axes.set_xticks(range(len(matrix)))
        axes.set_yticks(range(len(matrix)))
        axes.set_xlabel("neighbor's class")
        axes.set_title(title, fontsize=10)
    panels[0].set_ylabel("class")


def _best_round(row: Row) -> Row:
    """The round that was kept; an empty one where a folder of results left the curves out."""
    result = row["result"]
    nothing = {"round": 0, "best_epoch": result["best_epoch"], "conditional": None, "curves": {"loss": {}}}
    return row["rounds"][result["best_round"]] if "rounds" in row else nothing


def _wrapped(label: str) -> str:
    words = label.split(" ")
    return "\n".join([words[0], *words[1:3], *(["…"] if len(words) > 3 else [])])
