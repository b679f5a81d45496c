"""Bars of P(neighbor's class | class): how a conditional matrix is drawn where rows are to be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postel.pictures import PALETTE

_OTHER, _OWN = PALETTE[0], PALETTE[1]
Matrix = Sequence[Sequence[float]]


def draw_class_bars(panels: Sequence[Any], matrix: Matrix | None, *, label: str, last: bool = True) -> None:
    """One panel a class with a bar for each neighbor's class; the class itself is hatched."""
    panels[0].set_ylabel(label)
    for k, axes in enumerate(panels):
        axes.set_ylim(0, 1)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
        axes.set_axisbelow(True)
        axes.tick_params(labelleft=k == 0)
        if matrix is None:
            mark_not_run(axes)
            continue
        places = range(len(matrix[k]))
        bars = axes.bar(places, matrix[k], width=0.78, color=_OTHER)
        bars[k].set(facecolor=_OWN, edgecolor="white", hatch="///", linewidth=0)
        axes.set_xticks(list(places))
        axes.tick_params(labelsize=9)
        if last:
            axes.set_xlabel("neighbor's class", fontsize=9)


def mark_not_run(axes: Any) -> None:
    """Say in an empty panel that there is nothing to show."""
    axes.text(
        0.5, 0.5, "not run", transform=axes.transAxes, ha="center", va="center", color="#777777", fontsize=12
    )
    axes.set_xticks([])
    axes.set_yticks([])
