"""The HTML page of a store: one self-contained file with tables, details of each cell, pictures and provenance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra
from postel.experiments.results import Cell
from postel.experiments.store.reader import Study
from postel.paper.compared import ComparedCell, compare_cells
from postel.paper.names import backbone_label, dataset_label
from postel.paper.timing import TIMES
from postel.report.detail import RANKING, detail_of
from postel.report.grid import Grid, allowed, grids_of, standings_of
from postel.report.pictures import Picture
from postel.report.provenance import failures_in_words, graphs_of, versions_of
from postel.settings import METRIC_NAMES

TITLE = "Soft labels: report of a study"


@dataclass(frozen=True)
class Page:
    """The content of a page; :meth:`html` renders it.

    Args:
        study: What the store holds.
        title: The page's title.
        introduction: Paragraphs below the title.
        pictures: Pictures to embed.
        command: The command that made the page.
        opening: The picture that the page opens on; None to open on its first table.
    """

    study: Study
    title: str = TITLE
    introduction: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    command: str = ""
    opening: Picture | None = None

    @cached_property
    def lines(self) -> list[ComparedCell]:
        """One line per cell."""
        return compare_cells(self.cells)

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells on show: those that were run to be timed compare no accuracies."""
        return [cell for cell in self.study.cells if cell.target != TIMES]

    @cached_property
    def grids(self) -> list[Grid]:
        """One grid per study of the store."""
        return grids_of(self.lines)

    @cached_property
    def ranking(self) -> list[tuple[str, str]]:
        """Keys and names of the ranking metrics that some cell has."""
        return [(key, METRIC_NAMES[key]) for key in RANKING if any(line.cell.has(key) for line in self.lines)]

    @property
    def counts(self) -> list[tuple[int, str]]:
        """Numbers of runs, cells, datasets, backbones and methods, for the head of the page."""
        questions = [cell.question for cell in self.cells]
        counts = [
            (len(self.study.rows), "runs"),
            (len(questions), "cells"),
            (len({question.dataset for question in questions}), "datasets"),
            (len({question.backbone for question in questions}), "backbones"),
            (len({question.method.name for question in questions}), "methods"),
        ]
        return [(number, name.removesuffix("s") if number == 1 else name) for number, name in counts]

    @property
    def has_paper(self) -> bool:
        """Whether the paper has a figure for any cell."""
        return any(line.paper for line in self.lines)

    def html(self) -> str:
        """Return the page as HTML."""
        jinja2 = require_extra("jinja2", "report")
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("postel.report"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        text: str = environment.get_template("page.html.j2").render(
            page=self,
            study=self.study,
            standings=[(grid, standings_of(grid.lines)) for grid in self.grids],
            details=embedded([detail_of(line, self.study.store) for line in self.lines]),
            graphs=graphs_of(self.cells),
            versions=versions_of(self.study.rows),
            failures=failures_in_words(self.study.failures),
            allowed=allowed,
            backbone_label=backbone_label,
            dataset_label=dataset_label,
            points=points,
            letters="abcdefghijklmnopqrstuvwxyz",
        )
        return text


def check_page_name(path: Path) -> None:
    """Check that a path has the extension of an HTML page.

    Args:
        path: Where a page is to be written.

    Raises:
        InputError: If it has another extension.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is written to a file that ends in .html, got {path.name}")


def points(value: float) -> str:
    """Return a difference in points with its sign, as text.

    Args:
        value: The difference.

    Example:
        >>> points(1.234), points(-0.5), points(-0.001)
        ('+1.23', '−0.50', '0.00')
    """
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def embedded(values: Any) -> str:
    r"""Return values as JSON that is safe inside a script element, whatever text they contain.

    Args:
        values: Plain values.

    Example:
        >>> embedded(["</script>"])
        '["\\u003c/script>"]'
    """
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")
