"""Pictures embedded in a page: read from a folder, or drawn for it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from postel.errors import InputError
from postel.experiments.results import Cell
from postel.experiments.store.reader import Reader
from postel.paper.figures.gains import FigureGains, fair_pairs, gains_figure
from postel.pictures import rendered
from postel.report.plots import Matrix, accuracy_figure, conditional_figure, loss_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = {".svg": "svg+xml", ".png": "png"}
# An SVG of many thousand marks (t-SNE, say) is larger and slower to show than the same picture in pixels.
_LARGE_SVG = 400_000


@dataclass(frozen=True)
class Picture:
    """A picture that a page embeds.

    Args:
        caption: Its name, or what it shows.
        address: The picture itself, as a data URL.
    """

    caption: str
    address: str

    @classmethod
    def drawn(cls, figure: Figure, caption: str) -> Picture:
        """Return the picture of a figure.

        Args:
            figure: The figure.
            caption: What it shows.

        Returns:
            The picture, as SVG.
        """
        return cls(caption, _address(rendered(figure, "svg"), "svg+xml"))


def pictures_in(folder: str | Path) -> list[Picture]:
    """Return the .svg and .png pictures of a folder and its subfolders.

    Args:
        folder: The folder.

    Returns:
        The pictures by name; of two with the same name, the SVG unless it is large.

    Raises:
        InputError: If there is no such folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "figure-toy.svg").write_text("<svg/>")
        ...     pictures_in(folder)
        [Picture(caption='figure-toy', address='data:image/svg+xml;base64,PHN2Zy8+')]
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give the one that holds the figures, or leave --figures out")
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _KINDS and path.is_file():
            found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), []).append(path)
    best = {name: min(paths, key=_weight) for name, paths in sorted(found.items())}
    return [Picture(name, _address(path.read_bytes(), _KINDS[path.suffix.lower()])) for name, path in best.items()]


def gains_picture(reader: Reader) -> Picture | None:
    """Return the picture of what GCN gains with soft labels; None if no searched cells can be compared.

    Args:
        reader: The store's reader.
    """
    pairs = FigureGains().pairs(reader.evidence)
    if not fair_pairs(pairs):
        return None
    return Picture.drawn(gains_figure(pairs), FigureGains.title)


def comparison_pictures(
    cells: Sequence[Cell], all_labels: Matrix | None = None, *, accuracies: bool = True
) -> list[Picture]:
    """Return the pictures of a comparison: methods side by side on one dataset.

    Args:
        cells: One cell per method, with rows; the first row of each with its rounds.
        all_labels: P(neighbor's class | class) of all labels, which is shown and never used; None leaves it out.
        accuracies: Whether to draw accuracies; False where they are shown elsewhere.

    Returns:
        Accuracies, losses and, where a method has them, conditional matrices.
    """
    name = cells[0].question.dataset
    pictures = []
    if accuracies:
        caption = f"{name}: test accuracy, one point per split, means with 95 % intervals."
        pictures.append(Picture.drawn(accuracy_figure(cells), caption))
    caption = (
        f"{name}: loss of the first split on training (dashed), validation (solid) and test nodes (dotted), "
        "with hard labels; the line marks the chosen epoch."
    )
    pictures.append(Picture.drawn(loss_figure(cells), caption))
    conditionals = conditional_figure(cells, all_labels)
    if conditionals is not None:
        caption = (
            f"{name}: how likely a neighbor's class is, given a node's class, as the first split estimates it."
        )
        pictures.append(Picture.drawn(conditionals, caption))
    return pictures


def _weight(path: Path) -> tuple[int, int]:
    size = path.stat().st_size
    if path.suffix.lower() != ".svg":
        return 1, size
    return (0, 0) if size <= _LARGE_SVG else (2, size)


def _address(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
