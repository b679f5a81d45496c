"""What every picture shares: a figure without global state, colors that everyone can tell apart, whole files."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postel.errors import InputError, require_extra
from postel.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colors that stay apart for color-blind readers (Okabe and Ito).
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")

#: Heat maps are grey, so that no shade can be taken for a class or a method.
HEAT = "Greys"

_METHOD_COLORS = {
    "one_hot": "#000000",
    "uniform": "#E69F00",
    "distillation": "#56B4E9",
    "sals": "#009E73",
    "als": "#F0E442",
    "postel": "#0072B2",
    "postel_as_released": "#CC79A7",
    "calibrated": "#D55E00",
}


def method_color(name: str) -> str:
    """Return the color of a method, the same in every picture.

    Args:
        name: The method's name; one that is not of this package is grey.

    Returns:
        The color as #rrggbb.

    Example:
        >>> method_color("postel"), method_color("of_my_own")
        ('#0072B2', '#777777')
    """
    return _METHOD_COLORS.get(name, "#777777")


def draw_heat_map(axes: Any, matrix: Sequence[Sequence[float]], *, top: float = 1.0, size: float = 9.0) -> Any:
    """Draw a matrix in shades from 0 on, with the value of each cell in it.

    Args:
        axes: The panel.
        matrix: The matrix.
        top: The value of the darkest shade.
        size: The size of the numbers in points; 0 leaves them out.

    Returns:
        The image, for a color bar.
    """
    image = axes.imshow(matrix, cmap=HEAT, vmin=0, vmax=top)
    for n, values in enumerate(matrix if size else ()):
        for m, value in enumerate(values):
            ink = heat_ink(value, top)
            axes.text(m, n, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=size)
    axes.set_xticks(range(len(matrix)))
    axes.set_yticks(range(len(matrix)))
    return image


def heat_ink(value: float, top: float = 1.0) -> str:
    """Return the color of text that is readable on a cell of a heat map.

    Args:
        value: The cell's value.
        top: The value of the darkest shade.

    Returns:
        ``black`` or ``white``.
    """
    return "black" if value < 0.55 * top else "white"


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure without pyplot: no window opens and no caller's state is touched.

    Args:
        width: Width in inches.
        height: Height in inches.

    Returns:
        The figure.
    """
    figure: Figure = require_extra("matplotlib.figure", "plots").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def write_caption(figure: Any, text: str, *, size: float = 9.0) -> None:
    """Write what a reader needs to know below a figure, on the image itself, in lines of the figure's width.

    Args:
        figure: The figure, or the lowest of its subfigures.
        text: The caption.
        size: The size of its letters in points.
    """
    # A letter of the default font is a little over half as wide as it is high.
    letters = int(figure.figure.get_figwidth() * 72 / (0.535 * size))
    lines = textwrap.fill(" ".join(text.split()), letters)
    figure.supxlabel(lines, x=0.012, ha="left", fontsize=size, color="#333333", linespacing=1.35)


def rendered(figure: Figure, kind: str) -> bytes:
    """Render a figure as the content of a file, without a date: the same numbers give the same bytes.

    Args:
        figure: The figure.
        kind: ``"png"`` or ``"svg"``.

    Returns:
        The file's content.
    """
    matplotlib = require_extra("matplotlib", "plots")
    buffer = io.BytesIO()
    # Names come from users: a dollar sign in one is a dollar sign, not the begin of a formula.
    plain = {"svg.hashsalt": "postel", "svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context(plain):
        for text in figure.findobj(require_extra("matplotlib.text", "plots").Text):
            text.set_parse_math(False)
        figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue() if kind == "svg" else _in_few_colors(buffer)


def _in_few_colors(png: io.BytesIO) -> bytes:
    """Reduce a PNG to 256 colors: more than a plot has but for the edges of lines, in a third of the space."""
    image, buffer = require_extra("PIL.Image", "plots"), io.BytesIO()
    image.open(png).convert("RGB").quantize(256, dither=image.Dither.NONE).save(buffer, "png", optimize=True)
    return buffer.getvalue()


def picture_kind(path: Path) -> str:
    """Return the kind of a picture by its file's ending.

    Args:
        path: The file.

    Returns:
        ``png`` or ``svg``.

    Raises:
        InputError: If it has another ending.

    Example:
        >>> picture_kind(Path("texas.png"))
        'png'
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise InputError(f"a picture's name must end in .png or .svg, got {path.name}")
    return kind


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Save a figure as PNG or SVG, by the file's ending.

    Args:
        figure: The figure.
        path: The file; it is replaced if it exists.

    Returns:
        ``path``.

    Raises:
        InputError: If the ending is neither .png nor .svg.
    """
    path = Path(path)
    kind = picture_kind(path)
    with replacing(path) as stream:
        stream.write(rendered(figure, kind))
    return path
