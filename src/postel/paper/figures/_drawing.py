"""What several figures draw: bars of a conditional matrix, loss curves, and panels with nothing to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postel.experiments.results import Cell, Round
from postel.paper.requests import CellRequest
from postel.paper.table import Table, numbers, span, texts
from postel.pictures import PALETTE, method_color

Matrix = Sequence[Sequence[float]]

_SETS = (("train", "training", "--"), ("val", "validation", "-"), ("test", "test", ":"))
#: What the lines of losses mean, for captions.
LOSS_LINES = (
    "Color: the labels; dashed: training nodes, solid: validation nodes, dotted: test nodes; vertical line: the "
    "epoch that was kept."
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
    """Draw P(neighbor's class | class) as bars in classes' colors, one panel per class; its own is hatched.

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
        colors = [PALETTE[place % len(PALETTE)] for place in places]
        bars = axes.bar(places, matrix[k], width=0.78, color=colors)
        bars[k].set(edgecolor="white", hatch="///", linewidth=0)
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
    draw_curves(axes, cell, [name for name, *_ in _SETS])
    axes.grid(alpha=0.25)


def draw_curves(axes: Any, cell: Cell | None, sets: Sequence[str]) -> None:
    """Draw losses of the first split's kept model in the color of its labels, with a line at the kept epoch.

    Args:
        axes: The panel.
        cell: The cell, with rounds; nothing is drawn if it was not run.
        sets: Sets of nodes: ``"train"``, ``"val"``, ``"test"``.
    """
    entry = _kept(cell)
    if cell is None or entry is None:
        return
    color = method_color(cell.question.method.name)
    for name, label, style in _SETS:
        curve = entry.loss(name)
        if curve and name in sets:
            axes.plot(range(1, len(curve) + 1), curve, style, color=color, linewidth=1.6, label=label)
    axes.axvline(entry.best_epoch, color=color, linewidth=0.8, alpha=0.7)


def settings_in_words(cells: Sequence[Cell | None]) -> str:
    """Return for a caption how many splits are drawn, and whether settings were tuned.

    Args:
        cells: The cells that a figure draws; None for one that was not run.
    """
    run = [cell for cell in cells if cell is not None]
    if not run:
        return "Nothing was run."
    protocols = ", ".join(dict.fromkeys(cell.question.protocol for cell in run))
    splits = span(len(cell.rows) for cell in run)
    kinds: dict[str, int] = {}
    for cell in run:
        words = "not tuned (published settings)"
        if cell.was_searched:
            how = "tuned" if cell.is_evidence else "not tuned by today's search"
            words = f"{how} ({cell.allowance_in_words})"
        kinds[words] = kinds.get(words, 0) + 1
    told = ", ".join(kinds)
    if len(kinds) > 1:
        told = f"{len(run)} cells: " + ", ".join(f"{number} {words}" for words, number in kinds.items())
    return f"{protocols.capitalize()} protocol, n = {splits} split{'' if splits == '1' else 's'}; {told}."


def one_setting_in_words(requests: Sequence[CellRequest]) -> str:
    """Return at which setting one-hot labels are shown, for captions and tables; nothing if they are alone.

    Args:
        requests: The cells that a figure draws.
    """
    others = list(dict.fromkeys(one.base.variant.label for one in requests if one.base is not None))
    if not others:
        return ""
    rest = dict.fromkeys(one.variant.label for one in requests if one.base is None)
    same = f"at the learning rate and weight decay of {', '.join(others)}: only labels differ."
    return f"One-hot labels are trained {same}" + "".join(
        f" {label} has a setting of its own." for label in rest if label not in others
    )


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
