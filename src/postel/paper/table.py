"""A table as values and how they are shown, and the same table as text, Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

#: What is shown where there is no value.
NOTHING = "–"
#: What is shown of a cell that was not run.
NOT_RUN = "not run"

# Rows that fit a page of LaTeX, and columns that fit its width in the usual size.
_PAGE, _WIDE = 45, 7

_LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "†": r"$^{\dagger}$",
    "–": "--",
    "−": "$-$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "Δ": r"$\Delta$",
    "‡": r"$^{\ddagger}$",
    "✓": r"$\checkmark$",
    "×": r"$\times$",
}


def as_text(value: Any) -> str:
    """Show a value as it is.

    Args:
        value: The value.

    Returns:
        The text; a dash for None.

    Example:
        >>> as_text(3), as_text(None)
        ('3', '–')
    """
    return NOTHING if value is None else str(value)


def decimals(places: int, *, signed: bool = False) -> Callable[[Any], str]:
    """Return a function that shows numbers with a fixed number of decimals, and None as a dash.

    Args:
        places: The number of decimals.
        signed: Whether positive numbers have a sign.

    Returns:
        A function from a value to its text.

    Example:
        >>> decimals(2)(1.005e2), decimals(1, signed=True)(0.25), decimals(1)(-0.01), decimals(1)(None)
        ('100.50', '+0.2', '0.0', '–')
    """
    return lambda value: NOTHING if value is None else f"{value:{'+' if signed else ''}z,.{places}f}"


def span(counts: Iterable[int]) -> str:
    """Return the smallest and the largest of some counts in words.

    Args:
        counts: One count at least.

    Example:
        >>> span([10, 3, 10]), span([10, 10])
        ('3 to 10', '10')
    """
    every = sorted(counts)
    few, many = every[0], every[-1]
    return f"{few}" if few == many else f"{few} to {many}"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        name: Its name.
        show: Turns a value into text.
        left: Whether it is aligned left, as text is.
    """

    name: str
    show: Callable[[Any], str] = as_text
    left: bool = False


def texts(*names: str) -> tuple[Column, ...]:
    """Make columns of text.

    Args:
        *names: Their names.

    Returns:
        The columns.
    """
    return tuple(Column(name, left=True) for name in names)


def numbers(*names: str, places: int | None = None, signed: bool = False) -> tuple[Column, ...]:
    """Make columns of numbers.

    Args:
        *names: Their names.
        places: How many decimals are shown; None to show values as they are.
        signed: Whether positive ones have a sign.

    Returns:
        The columns.
    """
    show = as_text if places is None else decimals(places, signed=signed)
    return tuple(Column(name, show) for name in names)


@dataclass(frozen=True)
class Table:
    """Rows of plain values under columns that know how to show them, with notes below.

    Args:
        title: The table's title.
        columns: Its columns.
        rows: One value per column and row.
        notes: Sentences below the table.

    Example:
        >>> table = Table("Scores", (Column("method", left=True), Column("%", decimals(1))), [("LS", 81.06)])
        >>> table.shown()
        [['LS', '81.1']]
    """

    title: str
    columns: tuple[Column, ...]
    rows: list[tuple[Any, ...]]
    notes: tuple[str, ...] = ()

    def noted(self, note: str) -> Table:
        """Return the same table with one more note.

        Args:
            note: The note.

        Returns:
            The table.
        """
        return replace(self, notes=(*self.notes, note))

    def shown(self) -> list[list[str]]:
        """Return every value as text."""
        return [[column.show(value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows]

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as mappings, for JSON."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def plain_text(table: Table) -> str:
    """Write a table in columns of text.

    Args:
        table: The table.

    Returns:
        The text.

    Example:
        >>> columns = (Column("method", left=True), Column("%", decimals(1)))
        >>> print(plain_text(Table("Scores", columns, [("LS", 81.06)])))
        Scores
        <BLANKLINE>
        method     %
        LS      81.1
    """
    lines = [table.header, *table.shown()]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]

    def laid_out(line: Sequence[str]) -> str:
        cells = [
            text.ljust(width) if column.left else text.rjust(width)
            for text, width, column in zip(line, widths, table.columns, strict=True)
        ]
        return "  ".join(cells).rstrip()

    notes = ["", *table.notes] if table.notes else []
    return "\n".join([table.title, "", *map(laid_out, lines), *notes])


def markdown(table: Table) -> str:
    """Write a table in Markdown, with its title as a heading and its notes as a list.

    Args:
        table: The table.

    Returns:
        The Markdown text.

    Example:
        >>> columns = (Column("method", left=True), Column("%", decimals(1)))
        >>> print(markdown(Table("Scores", columns, [("LS", 81.06)])))
        ### Scores
        <BLANKLINE>
        | method | % |
        |---|---:|
        | LS | 81.1 |
    """
    rule = "|" + "|".join("---" if column.left else "---:" for column in table.columns) + "|"
    body = [_markdown_line(line) for line in table.shown()]
    notes = ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join([f"### {table.title}", "", _markdown_line(table.header), rule, *body, *notes])


def csv_text(table: Table) -> str:
    r"""Write the values of a table as CSV, numbers in full and None as nothing.

    Args:
        table: The table.

    Returns:
        The CSV text.

    Example:
        >>> columns = (Column("method"), Column("ours", decimals(1)))
        >>> csv_text(Table("Scores", columns, [("LS", 81.06), ("KD", None)]))
        'method,ours\nLS,81.06\nKD,\n'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows(table.rows)
    return stream.getvalue()


def latex(table: Table, label: str) -> str:
    r"""Write a table as a LaTeX ``table*`` of the booktabs package, or a ``longtable`` if it is long.

    Its notes are in the caption.

    Args:
        table: The table.
        label: Its label in LaTeX.

    Returns:
        The LaTeX text.

    Example:
        >>> columns = (Column("method", left=True), Column("ours"))
        >>> print(latex(Table("Scores, %", columns, [("LS", "81 ±1")]), "tab:scores"))
        \begin{table*}
        \centering
        \caption{Scores, \%}
        \label{tab:scores}
        \begin{tabular}{lr}
        \toprule
        method & ours \\
        \midrule
        LS & 81 $\pm$1 \\
        \bottomrule
        \end{tabular}
        \end{table*}
    """
    caption = latex_text(" ".join([table.title + ("." if table.notes else ""), *table.notes]))
    kinds = "".join("l" if column.left else "r" for column in table.columns)
    head = [r"\toprule", _latex_line(table.header), r"\midrule"]
    body = [*map(_latex_line, table.shown()), r"\bottomrule"]
    # Wide tables are set small and tight, or they run off the page.
    tight = [r"\scriptsize", r"\setlength{\tabcolsep}{3pt}"] if len(table.columns) > _WIDE else []
    if len(table.rows) > _PAGE:
        opening = [r"\begingroup", *tight, rf"\begin{{longtable}}{{{kinds}}}"]
        named = rf"\caption{{{caption}}}\label{{{label}}}\\"
        closing = [r"\end{longtable}", r"\endgroup"]
        return "\n".join([*opening, named, *head, r"\endhead", *body, *closing])
    opening = [r"\begin{table*}", r"\centering", *tight, rf"\caption{{{caption}}}", rf"\label{{{label}}}"]
    inner = [rf"\begin{{tabular}}{{{kinds}}}", *head, *body, r"\end{tabular}"]
    return "\n".join([*opening, *inner, r"\end{table*}"])


def latex_text(text: str) -> str:
    r"""Escape everything that LaTeX would read as a command.

    Args:
        text: The text.

    Returns:
        The escaped text.

    Example:
        >>> latex_text("95 % of a_b ±1")
        '95 \\% of a\\_b $\\pm$1'
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
