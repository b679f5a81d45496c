"""Pictures of the theory, PNG or SVG by the file's ending."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postel.errors import require_extra
from postel.pictures import HEAT, PALETTE, heat_ink, new_figure, save
from postel.theory.sals_comparison import SalsComparison, compare_with_sals
from postel.theory.toy import TARGET, Step, toy_graph, work_through

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASS_COLORS = PALETTE[:2]
_HIDDEN = "#FFFFFF"


def draw_toy(path: str | Path, alpha: float = 0.8, beta: float = 0.4) -> Path:
    """Write the picture of :func:`toy_figure`.

    Args:
        path: The file, .png or .svg.
        alpha: Weight of the noisy posterior against the one-hot label.
        beta: Weight of the uniform noise.

    Returns:
        The path of the picture.
    """
    return save(toy_figure(alpha, beta), path)


def draw_sals_comparison(path: str | Path, homophily: float = 0.8, heterophily: float = 0.2) -> Path:
    """Write the picture of :func:`sals_figure`.

    Args:
        path: The file, .png or .svg.
        homophily: Share of neighbors of the same class in the homophilic graph.
        heterophily: The same in the heterophilic graph.

    Returns:
        The path of the picture.
    """
    return save(sals_figure(homophily, heterophily), path)


def toy_figure(alpha: float = 0.8, beta: float = 0.4) -> Figure:
    """Draw the toy graph, its statistics, and the target's soft label, before and after pseudo-labels.

    Args:
        alpha: Weight of the noisy posterior against the one-hot label.
        beta: Weight of the uniform noise.

    Returns:
        The figure.
    """
    figure = new_figure(11.5, 5.6)
    for row, pseudo_labels in enumerate((False, True)):
        step = work_through(alpha, beta, pseudo_labels=pseudo_labels)
        axes = [figure.add_subplot(2, 4, 4 * row + place + 1) for place in range(4)]
        _draw_graph(axes[0], pseudo_labels)
        axes[0].set_title("with pseudo-labels" if pseudo_labels else "training labels", fontsize=11)
        _draw_conditional(axes[1], step)
        _draw_bars(axes[2], {"prior": step.prior.tolist(), "posterior": step.posterior.tolist()})
        axes[2].set_title("Bayes' rule at the target", fontsize=11)
        _draw_bars(axes[3], {"noisy": step.noisy.tolist(), "soft label": step.soft_label.tolist()})
        axes[3].set_title(f"noise β={beta:g}, mixing α={alpha:g}", fontsize=11)
        axes[2].set_ylabel("probability")
    _class_legend(figure)
    return figure


def sals_figure(homophily: float = 0.8, heterophily: float = 0.2) -> Figure:
    """Draw what SALS and PosteL make of three targets, in a homophilic and a heterophilic graph.

    Args:
        homophily: Share of neighbors of the same class in the homophilic graph.
        heterophily: The same in the heterophilic graph.

    Returns:
        The figure.
    """
    comparison = compare_with_sals(homophily, heterophily)
    figure = new_figure(9.5, 7.0)
    for row in range(len(comparison.neighbors)):
        axes = [figure.add_subplot(3, 3, 3 * row + place + 1) for place in range(3)]
        _draw_star(axes[0], comparison.neighbors[row].tolist())
        _draw_pair(axes[1], comparison, row, homophilic=True)
        _draw_pair(axes[2], comparison, row, homophilic=False)
        if row == 0:
            axes[0].set_title("a target T and its neighbors", fontsize=11)
            axes[1].set_title(f"{homophily:.0%} of links stay within a class", fontsize=11)
            axes[2].set_title(f"{heterophily:.0%} of links stay within a class", fontsize=11)
        axes[1].set_ylabel("share of T's soft label")
    _class_legend(figure)
    return figure


def _class_legend(figure: Figure) -> None:
    """Say below a figure which color is which class."""
    marks: Any = require_extra("matplotlib.patches", "plots")
    handles = [marks.Patch(color=color, label=f"class {k}") for k, color in enumerate(CLASS_COLORS)]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)


def _draw_graph(axes: Axes, pseudo_labels: bool) -> None:
    data = toy_graph()
    places = [(0.0, 0.0)]
    around = data.num_nodes - 1
    places += [(math.cos(2 * math.pi * i / around), math.sin(2 * math.pi * i / around)) for i in range(around)]
    for u, v in data.edge_index.T.tolist():
        axes.plot(*zip(places[u], places[v], strict=True), color="#999999", linewidth=1, zorder=1)
    for i, (x, y) in enumerate(places):
        color = CLASS_COLORS[int(data.y[i])]
        training = bool(data.train_mask[i])
        face = color if training or pseudo_labels else _HIDDEN
        axes.scatter(
            x, y, s=190, color=face, edgecolor=color if pseudo_labels or training else "#666666", zorder=2
        )
        mark = "T" if i == TARGET else ("" if training else "?")
        axes.text(x, y, mark, ha="center", va="center", zorder=3, color="black" if face == _HIDDEN else "white")
    _bare(axes)


def _draw_conditional(axes: Axes, step: Step) -> None:
    values = step.conditional.tolist()
    axes.imshow(values, vmin=0, vmax=1, cmap=HEAT)
    for n, row in enumerate(values):
        for m, value in enumerate(row):
            count = int(step.pair_counts[n, m])
            text = f"{value:.2f}\n({count})"
            axes.text(m, n, text, ha="center", va="center", color=heat_ink(value))
    axes.set_xticks([0, 1], ["neighbor 0", "neighbor 1"])
    axes.set_yticks([0, 1], ["class 0", "class 1"])
    axes.set_title("conditional (pairs)", fontsize=11)


def _draw_bars(axes: Axes, groups: dict[str, list[float]]) -> None:
    for place, values in enumerate(groups.values()):
        for k, value in enumerate(values):
            x = place + 0.38 * k - 0.19
            axes.bar(x, value, width=0.36, color=CLASS_COLORS[k])
            axes.text(x, value + 0.02, f"{value:.2f}", ha="center", fontsize=9)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_ylim(0, 1.15)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_star(axes: Axes, counts: list[int]) -> None:
    classes = [k for k, count in enumerate(counts) for _ in range(count)]
    for place, k in enumerate(classes):
        angle = math.pi / 2 + 2 * math.pi * place / len(classes)
        x, y = math.cos(angle), math.sin(angle)
        axes.plot([0, x], [0, y], color="#999999", linewidth=1, zorder=1)
        axes.scatter(x, y, s=170, color=CLASS_COLORS[k], zorder=2)
    axes.scatter(0, 0, s=230, color="white", edgecolor="black", zorder=2)
    axes.text(0, 0, "T", ha="center", va="center", zorder=3)
    _bare(axes)


def _draw_pair(axes: Axes, comparison: SalsComparison, row: int, *, homophilic: bool) -> None:
    rows = comparison.posterior_homophilic if homophilic else comparison.posterior_heterophilic
    _draw_bars(axes, {"SALS": comparison.sals[row].tolist(), "PosteL": rows[row].tolist()})


def _bare(axes: Any) -> None:
    axes.set_xlim(-1.35, 1.35)
    axes.set_ylim(-1.35, 1.35)
    axes.set_aspect("equal")
    axes.axis("off")
