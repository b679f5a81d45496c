"""Files that are there whole or not at all, and how text tables are told apart."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from postel.errors import InputError
from postel.interrupts import interruptible, uninterrupted
from postel.owners import remove, scratch_name, scratch_names


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that is there whole or not at all.

    Args:
        path: The file; it is replaced if it exists. Missing folders are made.

    Yields:
        A stream that becomes ``path`` when the block ends well and leaves nothing behind when it does not.

    Raises:
        InputError: If the place cannot be written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "a") as stream:
        ...         _ = stream.write(b"whole")
        ...     (Path(folder) / "a").read_bytes()
        b'whole'
    """
    with uninterrupted(), folder_for(path):
        name = path.parent / scratch_name(path.name)
        try:
            with _new_file(name, path) as stream:
                with interruptible():
                    yield stream
                stream.flush()
                os.fsync(stream.fileno())
            name.replace(path)
        finally:
            name.unlink(missing_ok=True)


@contextlib.contextmanager
def folder_for(path: Path) -> Iterator[None]:
    """Have the folder of a file inside the block; what had to be made of it goes again if it stays empty.

    Args:
        path: The file.

    Raises:
        InputError: If the folder cannot be made.
    """
    made: list[Path] = []
    try:  # around the making of it, too: a signal may come as soon as it is there
        try:
            made = [place for place in path.parents if not place.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from error
        yield
    finally:
        for place in made:
            with contextlib.suppress(OSError):
                place.rmdir()


def unwritable(path: Path, error: OSError) -> InputError:
    """Return what to say of a place that cannot be written to.

    Args:
        path: The place.
        error: What the system said.
    """
    text = str(path)
    shown = text if len(text) <= 200 else f"{text[:199]}…"
    return InputError(f"{shown} cannot be written: {error.strerror or error}; choose another place")


def _new_file(name: Path, path: Path) -> IO[bytes]:
    try:
        for left in scratch_names(path.parent, path.name)[0]:
            remove(left)  # of a process that was killed
        return name.open("xb")
    except OSError as error:
        raise unwritable(path, error) from error


def is_file(path: Path) -> bool:
    """Tell whether a path is a file; one that cannot even be looked at, such as an over-long name, is none.

    Args:
        path: The path.

    Returns:
        Whether it is one.

    Example:
        >>> is_file(Path(__file__)), is_file(Path("x" * 5000))
        (True, False)
    """
    try:
        return path.is_file()
    except OSError:
        return False


def usual_separator(path: Path) -> str:
    r"""Return what stands between the fields of a text table, by its name: the same wherever tables are read.

    Args:
        path: A file that ends in .csv, .tsv or .txt, or in one of these and .gz.

    Returns:
        A tab for .tsv, and for .txt whose first line has one; a comma otherwise.

    Example:
        >>> usual_separator(Path("edges.csv")), usual_separator(Path("edges.tsv.gz"))
        (',', '\t')
    """
    zipped = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if zipped else path).suffix.lower()
    if suffix == ".txt":
        with gzip.open(path) if zipped else path.open("rb") as stream:
            return "\t" if b"\t" in stream.readline(1 << 20) else ","
    return "\t" if suffix == ".tsv" else ","


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all.

    Args:
        path: The file; it is replaced if it exists.
        text: Its content.
    """
    with replacing(path) as stream:
        stream.write(text.encode())
