"""The result of a target, a table with or without figures, and the files it is written to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from postel.errors import InputError
from postel.files import write_text
from postel.outputs import Target, writing
from postel.paper.table import Table, csv_text, latex, markdown, plain_text
from postel.pictures import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS = ("txt", "md", "csv", "tex")
_NOTE = ".postel.json"


@dataclass(frozen=True)
class Rendering:
    """A table or figure, made of cells.

    Args:
        name: The target's name.
        values: The numbers, one fact per column, for CSV and JSON.
        lines: What is printed of them; ``values`` if None.
        matrix: The numbers in the shape of the paper's table, for LaTeX; ``lines`` if None.
        figures: Figures by the suffix of their file's name.
    """

    name: str
    values: Table
    lines: Table | None = None
    matrix: Table | None = None
    figures: dict[str, Figure] = field(default_factory=dict)

    def with_note(self, note: str) -> Rendering:
        """Return the same rendering with one more note under every table.

        Args:
            note: The note.

        Returns:
            The rendering.
        """
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


def check_place(name: str, folder: Path, *, overwrite: bool = False) -> None:
    """Check before a target is run that its files can be written.

    Args:
        name: The target's name.
        folder: Where its files will go.
        overwrite: Whether existing files may be replaced, whoever made them.

    Raises:
        InputError: If a file exists that must not be replaced, or the folder cannot be written.
    """
    paths = [folder / f"{name}.{ending}" for ending in _ENDINGS]
    _check_unchanged(paths, folder, overwrite)
    with writing([Target(path) for path in paths], overwrite=True):
        pass


def write_rendering(rendering: Rendering, folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write a rendering's files: the table as text, Markdown, CSV and LaTeX, figures as PNG and SVG.

    Files that an earlier run wrote are replaced. A file that was changed since, or that came from elsewhere, is
    replaced only with ``overwrite``: a file in the folder (``.postel.json``) records what was written.

    Args:
        rendering: The rendering.
        folder: Where the files go; it is made if it does not exist.
        overwrite: Whether existing files may be replaced, whoever made them.

    Returns:
        The files.

    Raises:
        InputError: If a file exists that must not be replaced.
    """
    shaped = rendering.matrix or rendering.printed
    markdowns = [shaped] if shaped is rendering.printed else [shaped, rendering.printed]
    texts = {
        "txt": plain_text(rendering.printed),
        "md": "\n\n".join(map(markdown, markdowns)),
        "csv": csv_text(rendering.values).removesuffix("\n"),
        "tex": latex(shaped, f"tab:{rendering.name}"),
    }
    stems = {
        f"{rendering.name}-{suffix}" if suffix else rendering.name: f for suffix, f in rendering.figures.items()
    }
    targets = [Target(folder / f"{rendering.name}.{ending}") for ending in texts]
    targets += [Target(folder / f"{stem}.{kind}", kind.upper()) for stem in stems for kind in ("png", "svg")]
    written = [target.path for target in targets]
    _check_unchanged(written, folder, overwrite)
    with writing(targets, overwrite=True) as work:
        for ending, text in texts.items():
            write_text(work / f"{rendering.name}.{ending}", text + "\n")
        for stem, figure in stems.items():
            for kind in ("png", "svg"):
                save(figure, work / f"{stem}.{kind}")
    made = {**_made(folder), **{path.name: _digest(path) for path in written}}
    write_text(folder / _NOTE, json.dumps({"made": dict(sorted(made.items()))}, indent=2) + "\n")
    return written


def _check_unchanged(paths: Sequence[Path], folder: Path, overwrite: bool) -> None:
    made = {} if overwrite else _made(folder)
    for path in paths:
        if path.exists() and not overwrite and (not path.is_file() or made.get(path.name) != _digest(path)):
            raise InputError(
                f"{path} is there already and is not as postel reproduce wrote it: remove it, name another "
                "folder, or set --overwrite"
            )


def _made(folder: Path) -> dict[str, str]:
    """Return what was written to the folder before: a digest by file name."""
    try:
        made = json.loads((folder / _NOTE).read_text(encoding="utf-8"))["made"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return made if isinstance(made, dict) else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
