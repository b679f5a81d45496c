"""A table as values and how they are shown, and the same table as text, Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

#: What stands where there is no value.
NOTHING = "–"

# Rows that fit a page of LaTeX, and columns that fit its width in the usual size.
_PAGE, _WIDE = 45, 7

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
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
    """``value`` as it is, a dash for None.

    >>> as_text(3), as_text(None)
    ('3', '–')
    """
    return NOTHING if value is None else str(value)


def decimals(places: int, *, signed: bool = False) -> Callable[[Any], str]:
    """A way to show numbers with so many decimals, a dash for None.

    >>> decimals(2)(1.005e2), decimals(1, signed=True)(0.25), decimals(1)(-0.01), decimals(1)(None)
    ('100.50', '+0.2', '0.0', '–')
    """
    return lambda value: NOTHING if value is None else f"{value:{'+' if signed else ''}z,.{places}f}"


@dataclass(frozen=True)
class Column:
    """A column's name and how its values are shown; ``left`` for text."""

    name: str
    show: Callable[[Any], str] = as_text
    left: bool = False


def texts(*names: str) -> tuple[Column, ...]:
    """Returns columns of text.

    Args:
        *names: Their names.
    """
    return tuple(Column(name, left=True) for name in names)


def numbers(*names: str, places: int | None = None, signed: bool = False) -> tuple[Column, ...]:
    """Returns columns of numbers.

    Args:
        *names: Their names.
        places: How many decimals are shown; None to show values as they are.
        signed: Whether positive ones have a sign.
    """
    show = as_text if places is None else decimals(places, signed=signed)
    return tuple(Column(name, show) for name in names)


@dataclass(frozen=True)
class Table:
    """Rows of plain values under columns that know how to show them, with notes below.

    >>> table = Table("Scores", (Column("method", left=True), Column("%", decimals(1))), [("LS", 81.06)])
    >>> table.shown()
    [['LS', '81.1']]
    """

    title: str
    columns: tuple[Column, ...]
    rows: list[tuple[Any, ...]]
    notes: tuple[str, ...] = ()

    def noted(self, note: str) -> Table:
        """The same with one more note."""
        return replace(self, notes=(*self.notes, note))

    def shown(self) -> list[list[str]]:
        """Every value as text."""
        return [[column.show(value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows]

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def records(self) -> list[dict[str, Any]]:
        """The rows as mappings, for JSON."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


def plain_text(table: Table) -> str:
    """The table in columns of text.

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
    """The table in Markdown, its title as a heading and its notes as a list.

    >>> print(markdown(Table("Scores", (Column("method", left=True), Column("%", decimals(1))), [("LS", 81.06)])))
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
    """The table's values as CSV, numbers in full and nothing where there is none.

    >>> csv_text(Table("Scores", (Column("method"), Column("ours", decimals(1))), [("LS", 81.06), ("KD", None)]))
    'method,ours\\nLS,81.06\\nKD,\\n'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows(table.rows)
    return stream.getvalue()


def latex(table: Table, label: str) -> str:
    """The table as a LaTeX ``table*`` of the booktabs package (a ``longtable`` if long), notes in its caption.

    >>> columns = (Column("method", left=True), Column("ours"))
    >>> print(latex(Table("Scores, %", columns, [("LS", "81 ±1")]), "tab:scores"))
    \\begin{table*}
    \\centering
    \\caption{Scores, \\%}
    \\label{tab:scores}
    \\begin{tabular}{lr}
    \\toprule
    method & ours \\\\
    \\midrule
    LS & 81 $\\pm$1 \\\\
    \\bottomrule
    \\end{tabular}
    \\end{table*}
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
    """``text`` with everything escaped that LaTeX would read as a command.

    >>> latex_text("95 % of a_b ±1")
    '95 \\\\% of a\\\\_b $\\\\pm$1'
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
