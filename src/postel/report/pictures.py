"""Pictures of a folder as part of a page."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from postel.errors import InputError

_KINDS = {".svg": "svg+xml", ".png": "png"}
# An SVG of many thousand marks (t-SNE, say) is larger and slower to show than the same picture in pixels.
_LARGE_SVG = 400_000


@dataclass(frozen=True)
class FigureFile:
    """A picture as the address that holds all of it, and its name."""

    name: str
    address: str


def figures_in(folder: str | Path) -> list[FigureFile]:
    """The .svg and .png pictures of ``folder``, by name; of two with one name, the SVG unless it is large.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "figure-toy.svg").write_text("<svg/>")
    ...     figures_in(folder)
    [FigureFile(name='figure-toy', address='data:image/svg+xml;base64,PHN2Zy8+')]
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; give the one that holds the figures, or leave --figures out")
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _KINDS and path.is_file():
            found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), []).append(path)
    return [FigureFile(name, _address(_better(paths))) for name, paths in sorted(found.items())]


def _better(paths: list[Path]) -> Path:
    return min(paths, key=lambda path: (path.suffix.lower() != ".svg", 0) if _light(path) else (2, _size(path)))


def _light(path: Path) -> bool:
    return path.suffix.lower() != ".svg" or _size(path) <= _LARGE_SVG


def _size(path: Path) -> int:
    return path.stat().st_size


def _address(path: Path) -> str:
    content = base64.b64encode(path.read_bytes()).decode()
    return f"data:image/{_KINDS[path.suffix.lower()]};base64,{content}"
