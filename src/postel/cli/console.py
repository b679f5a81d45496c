"""What commands print with: tables for people, JSON for machines, notes on standard error."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

JSON_OPTION = typer.Option(False, "--json", help="Print JSON for machines instead of a table.")


def print_json(value: Any) -> None:
    """``value`` as JSON on standard output, with nothing else around it."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """A table in the terminal: the first ``left`` columns are text, the others numbers."""
    table = Table(
        title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < left else "right")
    for row in rows:
        table.add_row(*row)
    out.print(table)
