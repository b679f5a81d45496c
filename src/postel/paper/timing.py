"""How long runs take: read from what ``table-time`` measured, never from rows, whose runs shared the machine."""

from __future__ import annotations

from dataclasses import replace

from postel.experiments.results import Cell
from postel.experiments.store.reader import Reader
from postel.paper.requests import CellRequest

#: The target that measures.
TIMES = "table-time"


def timed_cell(reader: Reader, request: CellRequest) -> Cell | None:
    """Return the cell that answers a request, its rows with the seconds that were measured.

    Args:
        reader: The store's reader.
        request: What is asked.

    Returns:
        The cell with the rows that were timed, or None if none was.
    """
    cell, seconds = cell_at_budget(reader, request), reader.measurements.get(TIMES, sitting(request)) or {}
    rows = [
        replace(row, result=replace(row.result, seconds=seconds[row.key]))
        for row in (cell.rows if cell else ())
        if row.key in seconds
    ]
    return cell.with_rows(rows) if cell and rows else None


def cell_at_budget(reader: Reader, request: CellRequest) -> Cell | None:
    """Return the cell with the request's own budget: times at searched and at given settings do not compare.

    Args:
        reader: The store's reader.
        request: What is asked.
    """
    return reader.answer(replace(request.question, budget=request.budget))


def sitting(request: CellRequest) -> str:
    """Return the name of what is measured in one go, on one machine: all methods of a graph with a network.

    Args:
        request: One of the cells.
    """
    return f"{request.backbone} on {request.dataset}, {request.question.protocol} splits, {request.budget.limit}"
