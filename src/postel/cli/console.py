"""How commands print: tables for people, JSON for machines, notes on standard error."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from postel.experiments.intervals import Interval

# No markup: names of classes, files and datasets come from users and are printed as they are, [unk] and [/x] too.
_console = partial(Console, highlight=False, markup=False)
out = _console()
notes = _console(stderr=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output, with nothing else around it.

    Args:
        value: Plain values, without NaN and infinity.
    """
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], left: int = 1) -> None:
    """Print a table in the terminal.

    A table of numbers that is wider than the terminal is printed in blocks of columns, each with the text columns
    in front. A file or a pipe gets it in one piece.

    Args:
        title: The line above it.
        columns: The names of its columns; no header is printed if all are empty.
        rows: One sequence of cells per row.
        left: How many of the first columns are text, aligned left and folded at spaces; the others are numbers.
    """
    lines = [list(row) for row in rows]
    texts, numbers = range(min(left, len(columns))), range(left, len(columns))
    cells = [[str(line[i]) for line in [columns, *lines]] for i in range(len(columns))]
    whole = [max(map(cell_len, column)) for column in cells]
    words = [*(_word_width(cells[i]) for i in texts), *whole[left:]]
    width = out.width
    if numbers and not out.is_terminal and "COLUMNS" not in os.environ:
        width = max(width, _row_width(whole))
    blocks = [list(numbers)]
    if _row_width(words) > width:
        blocks = _blocks([words[i] for i in texts], {i: whole[i] for i in numbers}, width)
    for number, block in enumerate(blocks):
        table = Table(title_style="bold", header_style="bold", box=None, pad_edge=False, collapse_padding=True)
        table.title, table.title_justify, table.show_header = None if number else title, "left", any(columns)
        for i in texts:
            table.add_column(columns[i], justify="left", min_width=words[i])
        for i in block:
            table.add_column(columns[i], justify="right", no_wrap=True)
        shown = [*texts, *block]
        for line in lines:
            table.add_row(*(line[i] for i in shown))
        if number:
            out.print()
        # A column wider than the terminal runs over its edge: a number that is cut is another number.
        needed = max(width, _row_width([words[i] for i in shown]))
        (_console(width=needed) if needed > out.width else out).print(table)


def _word_width(cells: Iterable[str]) -> int:
    """The width of the longest word in the cells of a column, its name among them."""
    return max((cell_len(word) for cell in cells for word in cell.split()), default=0)


def _row_width(widths: Sequence[int]) -> int:
    """The width of a row of columns, with a space between two of them."""
    return sum(widths) + len(widths) - 1


def _blocks(texts: list[int], numbers: dict[int, int], width: int) -> list[list[int]]:
    """Columns of numbers, given by their widths, in as few blocks as fit beside the text columns in order."""
    blocks: list[list[int]] = [[]]
    for column in numbers:
        if blocks[-1] and _row_width([*texts, *(numbers[i] for i in [*blocks[-1], column])]) > width:
            blocks.append([])
        blocks[-1].append(column)
    return blocks


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
