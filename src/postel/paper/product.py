"""What a target makes, and the files it is written to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from postel.files import write_text
from postel.paper.table import Table, csv_text, latex, markdown, plain_text
from postel.pictures import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Product:
    """A table or figure, made of rows.

    ``values`` are the numbers, one fact a column (CSV, JSON); ``lines`` what is printed of them; ``matrix`` the
    shape that the paper gave them (LaTeX). The last two are ``values`` where nothing else is needed. Figures are
    by the suffix of their file's name.
    """

    name: str
    values: Table
    lines: Table | None = None
    matrix: Table | None = None
    figures: dict[str, Figure] = field(default_factory=dict)

    def with_note(self, note: str) -> Product:
        """The same with ``note`` under every table."""
        return replace(
            self,
            values=self.values.noted(note),
            lines=self.lines and self.lines.noted(note),
            matrix=self.matrix and self.matrix.noted(note),
        )

    @property
    def printed(self) -> Table:
        """The table for the terminal."""
        return self.lines or self.values


def write_product(product: Product, folder: Path) -> list[Path]:
    """The files written to ``folder``: the table as text, Markdown, CSV and LaTeX, figures as PNG and SVG."""
    shaped = product.matrix or product.printed
    markdowns = [shaped] if shaped is product.printed else [shaped, product.printed]
    texts = {
        "txt": plain_text(product.printed),
        "md": "\n\n".join(map(markdown, markdowns)),
        "csv": csv_text(product.values).removesuffix("\n"),
        "tex": latex(shaped, f"tab:{product.name}"),
    }
    written = []
    for ending, text in texts.items():
        written.append(folder / f"{product.name}.{ending}")
        write_text(written[-1], text + "\n")
    for suffix, figure in product.figures.items():
        stem = f"{product.name}-{suffix}" if suffix else product.name
        written += [save(figure, folder / f"{stem}.{ending}") for ending in ("png", "svg")]
    return written
