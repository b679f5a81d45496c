"""``postel datasets``: the paper's table of dataset statistics, from the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postel.cli.console import notes, out, print_json, print_table
from postel.cli.options import DataRoot, Json

if TYPE_CHECKING:
    from postel.datasets.diagnosis.statistics_table import Row


def datasets(data_root: DataRoot = None, json: Json = False) -> None:
    """Print the paper's table of dataset statistics from the data, with the paper's figures beside them.

    Nothing is downloaded: a dataset that is not at hand has no figures.

    Example: postel datasets --data-root data
    """
    from dataclasses import asdict

    from postel.datasets.catalog import COUNTING
    from postel.datasets.diagnosis.statistics_table import statistics_table

    rows = statistics_table(data_root=data_root)
    if json:
        print_json([{**asdict(row), "agrees": row.agrees} for row in rows])
        return
    columns = ("dataset", "counted", "data", "paper")
    print_table("Datasets: nodes/edges/features/classes", columns, [_cells(row) for row in rows])
    out.print("= the data say what the paper says. Edges are counted as")
    for short, meaning in COUNTING.items():
        out.print(f"  {short}: {meaning}", soft_wrap=True)
    out.print("Graphs are")
    for graph in dict.fromkeys(row.graph for row in rows):
        out.print(f"  {graph}: {', '.join(row.name for row in rows if row.graph == graph)}", soft_wrap=True)
    for row in rows:
        if row.warning is not None:
            out.print(f"Note: {row.warning}.", soft_wrap=True)
        if row.broken:
            notes.print(f"wrong: {row.missing}", soft_wrap=True)
    absent = [row.name for row in rows if row.missing is not None]
    if absent:
        notes.print(f"Not at hand: {', '.join(absent)}. Run: postel fetch {' '.join(absent)}", soft_wrap=True)


def _cells(row: Row) -> tuple[str, ...]:
    ours = "-" if row.nodes is None else f"{row.nodes:,}/{row.edges:,}/{row.features:,}/{row.classes:,}"
    paper = row.paper
    sign = {True: "= ", False: "≠ ", None: ""}[row.agrees]
    theirs = "" if paper is None else f"{sign}{paper.nodes:,}/{paper.edges:,}/{paper.features:,}/{paper.classes:,}"
    return row.name, row.counting, ours, theirs
