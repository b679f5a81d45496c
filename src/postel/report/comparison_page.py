"""A comparison as one HTML file that needs nothing else: tables, pictures, provenance."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from postel.datasets import load_dataset
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.errors import InputError, require_extra
from postel.experiments.comparison import Comparison
from postel.experiments.intervals import Interval
from postel.files import write_text
from postel.labels import KnownLabels
from postel.pictures import rendered, save
from postel.report import comparison_plots as plots
from postel.smoothers import PosteL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """An SVG file's content in base64 and what it shows."""

    content: str
    caption: str

    @classmethod
    def of(cls, figure: Figure, caption: str) -> Picture:
        """The picture of a figure."""
        return cls(base64.b64encode(rendered(figure, "svg")).decode(), caption)


@dataclass(frozen=True)
class Part:
    """One comparison of a page."""

    comparison: Comparison
    pictures: list[Picture]
    note: str = ""

    @property
    def best(self) -> str:
        """The label of the method with the highest mean accuracy."""
        return max(self.comparison.methods, key=lambda line: line.accuracy.mean).label

    @property
    def smallest_p(self) -> float:
        """What the permutation test can show at most with so many splits."""
        return 2.0 ** (1 - self.comparison.methods[0].splits)


def comparison_part(comparison: Comparison, *, data_root: str | None = None, note: str = "") -> Part:
    """A comparison with its pictures."""
    pictures = [
        Picture.of(
            plots.accuracy_figure(comparison), "Test accuracy: a point a split, means with 95 % intervals."
        ),
        Picture.of(
            plots.loss_figure(comparison),
            "Loss of the first split on training (dashed), validation (solid) and test nodes (dotted), with hard "
            "labels; the line marks the chosen epoch.",
        ),
    ]
    conditionals = plots.conditional_figure(comparison, conditional_of_all_labels(comparison, data_root))
    if conditionals is not None:
        caption = "How likely a neighbor's class is, given a node's class, as the first split estimates it."
        pictures.append(Picture.of(conditionals, caption))
    return Part(comparison, pictures, note)


def conditional_of_all_labels(comparison: Comparison, data_root: str | None = None) -> list[list[float]]:
    """The conditional matrix that all labels of the graph would give; it is shown and never used."""
    data = load_dataset(comparison.dataset, split=None, recipe=comparison.recipe, data_root=data_root)
    labelled = (data.y != UNLABELLED).nonzero().view(-1)
    known = KnownLabels.from_index(
        labelled, data.y[labelled], num_nodes=data.num_nodes, num_classes=data.num_classes
    )
    matrix: list[list[float]] = PosteL().statistics(data.edge_index, known)[1].tolist()
    return matrix


def write_page(
    path: str | Path,
    title: str,
    parts: Sequence[Part],
    *,
    introduction: Sequence[str] = (),
    closing: Sequence[Picture] = (),
    command: str = "",
) -> Path:
    """``path``, now holding the page."""
    jinja2 = require_extra("jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("postel.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("comparison.html.j2").render(
        title=title,
        introduction=introduction,
        parts=parts,
        closing=closing,
        command=command,
        made_by=parts[0].comparison.rows[0]["made_by"],
        pm=plus_minus,
        signed=signed,
    )
    path = Path(path)
    write_text(path, page)
    return path


def write_comparison(
    comparison: Comparison, path: str | Path, *, data_root: str | None = None, command: str = ""
) -> Path:
    """``path``, now showing the comparison: a page for .html, one picture for .png and .svg."""
    path = Path(path)
    if path.suffix.lower() == ".html":
        title = f"Soft labels on {comparison.dataset}"
        return write_page(path, title, [comparison_part(comparison, data_root=data_root)], command=command)
    if path.suffix.lower() in (".png", ".svg"):
        return save(plots.overview_figure(comparison, conditional_of_all_labels(comparison, data_root)), path)
    raise InputError(f"a comparison is written to a file that ends in .html, .png or .svg, got {path.name}")


def plus_minus(interval: Interval) -> str:
    """``mean ± longer side``.

    >>> plus_minus(Interval(80.0, 79.0, 80.5))
    '80.0 ± 1.0'
    """
    return f"{interval.mean:.1f} ± {interval.larger_side:.1f}"


def signed(interval: Interval) -> str:
    """``+mean [low, high]``.

    >>> signed(Interval(1.0, -0.5, 2.5))
    '+1.0 [-0.5, +2.5]'
    """
    return f"{interval.mean:+.1f} [{interval.low:+.1f}, {interval.high:+.1f}]"
