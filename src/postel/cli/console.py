"""How commands print: tables for people, JSON for machines, notes on standard error."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from postel.experiments.intervals import Interval

# No markup: names of classes, files and datasets come from users and are printed as they are, [unk] and [/x] too.
out = Console(highlight=False, markup=False)
notes = Console(stderr=True, highlight=False, markup=False)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output, with nothing else around it.

    Args:
        value: Plain values, without NaN and infinity.
    """
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], left: int = 1) -> None:
    """Print a table in the terminal.

    Args:
        title: The line above it.
        columns: The names of its columns; no header is printed if all are empty.
        rows: One sequence of cells per row.
        left: How many of the first columns are text, aligned left and folded at spaces; the others are numbers.
    """
    table = Table(title_style="bold", header_style="bold", box=None, pad_edge=False, collapse_padding=True)
    table.title, table.title_justify, table.show_header = title, "left", any(columns)
    lines = [list(row) for row in rows]
    for position, column in enumerate(columns):
        if position < left:
            words = [word for line in [columns, *lines] for word in str(line[position]).split()]
            table.add_column(column, justify="left", min_width=max(map(len, words), default=0))
        else:
            table.add_column(column, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    out.print(table)


def plus_minus(interval: Interval) -> str:
    """Return ``mean ± longer side``, as in ``80.0±1.0``.

    Args:
        interval: A mean with its interval.
    """
    return f"{interval.mean:.1f}" if interval.single else f"{interval.mean:.1f}±{interval.larger_side:.1f}"


def with_sign(interval: Interval) -> str:
    """Return a difference with its sign and interval, as in ``+1.0 [-0.5, +2.5]``.

    Args:
        interval: A mean difference with its interval.
    """
    sure = "" if interval.single else f" [{interval.low:+.1f}, {interval.high:+.1f}]"
    return f"{interval.mean:+.1f}{sure}"
