"""Loss curves of rows: training, validation and test by epoch."""

from __future__ import annotations

from typing import Any

from postel.paper.class_bars import mark_not_run
from postel.paper.results import Outcome, Row
from postel.paper.table import Column, Table, decimals
from postel.pictures import PALETTE

SETS = (
    ("train", "training", PALETTE[0], "--"),
    ("val", "validation", PALETTE[1], "-"),
    ("test", "test", PALETTE[2], ":"),
)


def best_round(row: Row) -> Row:
    """The round whose model was kept."""
    entry: Row = row["rounds"][row["result"]["best_round"]]
    return entry


def draw_losses(axes: Any, outcome: Outcome | None, title: str) -> None:
    """The hard-label losses of the first split's kept model, with a line at its best epoch."""
    axes.set_title(title, fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    if outcome is None:
        mark_not_run(axes)
        return
    entry = best_round(outcome.rows[0])
    for name, label, colour, style in SETS:
        curve = entry["curves"]["loss"].get(name)
        if curve:
            axes.plot(range(1, len(curve) + 1), curve, style, color=colour, linewidth=1.8, label=label)
    axes.axvline(entry["best_epoch"], color="#777777", linewidth=0.8)
    axes.grid(alpha=0.25)


def common_ceiling(panels: list[Any], outcomes: list[Outcome | None]) -> None:
    """Give panels one scale that shows what matters: up to twice the first epoch's validation loss."""
    shown = [best_round(found.rows[0])["curves"]["loss"] for found in outcomes if found is not None]
    firsts = [losses["val"][0] for losses in shown]
    if not shown:
        return
    values = [value for losses in shown for curve in losses.values() for value in curve]
    low, high = min(values), min(max(values), 2 * max(firsts))
    room = 0.06 * (high - low)
    for axes in panels:
        axes.set_ylim(max(low - room, 0), high + room)


def loss_table(title: str, lines: list[tuple[str, str, Outcome | None]], notes: tuple[str, ...]) -> Table:
    """Dataset, method, best epoch and the losses there: the numbers behind the curves."""
    rows: list[tuple[Any, ...]] = []
    for dataset, label, outcome in lines:
        if outcome is None:
            rows.append((dataset, label, "not run", None, None, None, None, None, None, None))
            continue
        row = outcome.rows[0]
        entry = best_round(row)
        at = entry["best_epoch"] - 1
        losses = [_at(entry["curves"]["loss"].get(name), at) for name, *_ in SETS]
        gap = None if losses[0] is None or losses[2] is None else losses[2] - losses[0]
        head = (dataset, label, "run", row["spec"]["split"], entry["round"], entry["best_epoch"])
        rows.append((*head, *losses, gap))
    numbers = tuple(Column(f"{label} loss", decimals(4)) for _, label, *_ in SETS)
    columns = (Column("dataset", left=True), Column("method", left=True), Column("state", left=True))
    counts = (Column("split"), Column("round"), Column("best epoch"))
    return Table(title, (*columns, *counts, *numbers, Column("test − training", decimals(4))), rows, notes)


def _at(curve: list[float] | None, place: int) -> float | None:
    return curve[place] if curve else None
