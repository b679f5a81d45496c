"""What several figures draw: bars of a conditional matrix, loss curves, and panels with nothing to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postel.experiments.results import Cell, Round
from postel.paper.table import Table, numbers, texts
from postel.pictures import PALETTE

Matrix = Sequence[Sequence[float]]

_OTHER, _OWN = PALETTE[0], PALETTE[1]
_SETS = (
    ("train", "training", PALETTE[0], "--"),
    ("val", "validation", PALETTE[1], "-"),
    ("test", "test", PALETTE[2], ":"),
)


def mark_not_run(axes: Any) -> None:
    """Say in an empty panel that there is nothing to show.

    Args:
        axes: The panel.
    """
    axes.text(
        0.5, 0.5, "not run", transform=axes.transAxes, ha="center", va="center", color="#777777", fontsize=12
    )
    axes.set_xticks([])
    axes.set_yticks([])


def draw_class_bars(panels: Sequence[Any], matrix: Matrix | None, *, label: str, last: bool = True) -> None:
    """Draw P(neighbor's class | class) as bars, one panel per class; the class itself is hatched.

    Args:
        panels: The panels.
        matrix: The conditional matrix [K, K]; None if it is not known.
        label: What stands at the left.
        last: Whether it is the lowest row of panels, which names its axes.
    """
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


def draw_losses(axes: Any, cell: Cell | None, title: str) -> None:
    """Draw the hard-label losses of the first split's kept model, with a line at its best epoch.

    Args:
        axes: The panel.
        cell: The cell, with rounds; None if it was not run.
        title: What stands above.
    """
    axes.set_title(title, fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    entry = _kept(cell)
    if entry is None:
        mark_not_run(axes)
        return
    for name, label, color, style in _SETS:
        curve = entry.loss(name)
        if curve:
            axes.plot(range(1, len(curve) + 1), curve, style, color=color, linewidth=1.8, label=label)
    axes.axvline(entry.best_epoch, color="#777777", linewidth=0.8)
    axes.grid(alpha=0.25)


def set_common_ceiling(panels: Sequence[Any], cells: Sequence[Cell | None]) -> None:
    """Give panels of losses one scale that shows what matters: up to twice the first epoch's validation loss.

    Args:
        panels: The panels.
        cells: The cells that they show.
    """
    shown = [entry for entry in map(_kept, cells) if entry is not None]
    if not shown:
        return
    values = [value for entry in shown for curve in entry.curves["loss"].values() for value in curve]
    low, high = min(values), min(max(values), 2 * max(entry.loss("val")[0] for entry in shown))
    room = 0.06 * (high - low)
    for axes in panels:
        axes.set_ylim(max(low - room, 0), high + room)


def loss_table(title: str, lines: Sequence[tuple[str, str, Cell | None]], notes: tuple[str, ...]) -> Table:
    """Return the numbers behind loss curves: the best epoch and the losses there.

    Args:
        title: The table's title.
        lines: Dataset, method and cell of every panel.
        notes: What stands below.
    """
    rows: list[tuple[Any, ...]] = []
    for dataset, label, cell in lines:
        entry = _kept(cell)
        if cell is None or entry is None:
            rows.append((dataset, label, "not run", *[None] * 7))
            continue
        losses = [curve[entry.best_epoch - 1] if curve else None for curve in (entry.loss(s[0]) for s in _SETS)]
        gap = None if losses[0] is None or losses[2] is None else losses[2] - losses[0]
        rows.append((dataset, label, "run", cell.rows[0].split, entry.round, entry.best_epoch, *losses, gap))
    heads = (*texts("dataset", "method", "state"), *numbers("split", "round", "best epoch"))
    names = [f"{label} loss" for _, label, *_ in _SETS]
    return Table(title, (*heads, *numbers(*names, "test − training", places=4)), rows, notes)


def _kept(cell: Cell | None) -> Round | None:
    """The round of the first split whose model was kept."""
    return None if cell is None else cell.rows[0].best_round
