"""A store as one HTML file that needs nothing else: tables beside the paper's, details, figures, provenance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra
from postel.experiments.running.execute import Row
from postel.files import write_text
from postel.paper.names import backbone_label, dataset_label
from postel.report.cells import cells_of
from postel.report.detail import detail_of
from postel.report.grid import Grid, grids_of, standings_of
from postel.report.lines import Line, lines_of
from postel.report.methods import METHOD_PAGES
from postel.report.pictures import FigureFile, figures_in
from postel.report.provenance import failures_told, graphs_of, versions_of
from postel.report.rows import open_store, thin_rows

TITLE = "Soft labels: report of a study"


@dataclass(frozen=True)
class Study:
    """All that a report says."""

    store: str
    rows: list[Row]
    lines: list[Line]
    grids: list[Grid]
    trials: int
    failures: list[tuple[str, str]]
    figures: list[FigureFile]

    @property
    def counts(self) -> list[tuple[int, str]]:
        """How much of what there is, for the head of the page."""
        cells = [line.cell for line in self.lines]
        counts = [
            (len(self.rows), "runs"),
            (len(cells), "cells"),
            (len({cell.dataset for cell in cells}), "datasets"),
            (len({cell.backbone for cell in cells}), "backbones"),
            (len({cell.method.name for cell in cells}), "methods"),
        ]
        return [(number, name.removesuffix("s") if number == 1 else name) for number, name in counts]

    @property
    def has_paper(self) -> bool:
        """Whether any cell can be held against the paper."""
        return any(line.paper for line in self.lines)


def study_of(
    cells: Sequence[Mapping[str, Any]],
    rows: Sequence[Row],
    failures: Sequence[Mapping[str, Any]] = (),
    *,
    store: str = "postel.sqlite",
    figures: Sequence[FigureFile] = (),
) -> Study:
    """The study that a store's cells and thin rows are."""
    found, trials = cells_of(cells, rows)
    lines = lines_of(found)
    return Study(store, list(rows), lines, grids_of(lines), trials, failures_told(failures), list(figures))


def read_study(path: str | Path, *, figures: str | Path | None = None) -> Study:
    """The study that the store at ``path`` holds, with the pictures of the folder ``figures``."""
    store = open_store(path)
    rows = thin_rows(store)
    if not rows:
        raise InputError(f"{path} holds no runs yet; fill it with postel compare, tune or reproduce")
    pictures = figures_in(figures) if figures is not None else []
    return study_of(store.cells(), rows, store.failures(), store=str(path), figures=pictures)


def page_of(study: Study, *, title: str = TITLE, command: str = "") -> str:
    """The page as text."""
    jinja2 = require_extra("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("postel.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text: str = environment.get_template("page.html.j2").render(
        title=title,
        study=study,
        standings=[(grid, standings_of(grid.lines)) for grid in study.grids],
        details=embedded([detail_of(line, study.store) for line in study.lines]),
        methods=METHOD_PAGES,
        graphs=graphs_of([line.cell for line in study.lines]),
        versions=versions_of(study.rows),
        command=command,
        backbone_label=backbone_label,
        dataset_label=dataset_label,
        points=points,
        letters="abcdefghijklmnopqrstuvwxyz",
    )
    return text


def write_study(
    path: str | Path,
    store: str | Path,
    *,
    figures: str | Path | None = None,
    title: str = TITLE,
    command: str = "",
) -> Study:
    """The study of ``store``, now shown by the page at ``path``."""
    path = Path(path)
    check_page_name(path)
    study = read_study(store, figures=figures)
    write_text(path, page_of(study, title=title, command=command))
    return study


def check_page_name(path: Path) -> None:
    """Raise one clear sentence unless ``path`` has the ending of a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is written to a file that ends in .html, got {path.name}")


def points(value: float) -> str:
    """A difference in points with its sign.

    >>> points(1.234), points(-0.5), points(-0.001)
    ('+1.23', '−0.50', '0.00')
    """
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def embedded(values: Any) -> str:
    """``values`` as JSON that can stand inside a script element, whatever text is in it.

    >>> embedded(["</script>"])
    '["\\\\u003c/script>"]'
    """
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")
