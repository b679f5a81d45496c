"""The arrays of an .npz file, read only once all that they would take is known to be sane.

numpy allocates what an array's header asks for, and a zip archive of a kilobyte can hold gigabytes of zeros. Here
every header is compared with the bytes that the archive has for it, and their sum with the size of the file,
before memory is taken. Nothing is unpickled.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from postel.errors import InputError

# So much is always read; more if it is at most so many times the size of the file. Numbers count as eight bytes,
# which is what most of them become.
_LEAST_LIMIT = 16 << 20
_MOST_SHRINKING = 200
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (
    *(OSError, ValueError, EOFError, KeyError, TypeError, RuntimeError, NotImplementedError, OverflowError),
    *(SyntaxError, zipfile.BadZipFile, zlib.error),
)


def read_npz(path: Path, check_names: Callable[[list[str]], None] = lambda names: None) -> dict[str, Any]:
    """Read all arrays of an .npz file, and never more than its size can stand for.

    Args:
        path: The file.
        check_names: Called with the arrays' names before any of them is read; it may raise an ``InputError``.

    Returns:
        The arrays by name.

    Raises:
        InputError: If the file is missing, cut short, altered, holds a pickle, or asks for far more memory than
            files of its size do.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", y=np.arange(3))
        ...     read_npz(Path(folder) / "a.npz")
        {'y': array([0, 1, 2])}
    """
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder, a graph file (.npz) was expected")
        with path.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise InputError(
                    f"{path} is cut short or no graph file: it is no whole .npz archive; fetch it again"
                )
        with zipfile.ZipFile(path) as archive:
            members = {_array_name(info): info for info in archive.infolist()}
            if len(members) != len(archive.infolist()):
                raise ValueError("it has two arrays of one name")
            check_names(list(members))
            _check_sizes(path, archive, members)
            return {name: _read(archive, info) for name, info in members.items()}
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; give the path of a graph file or a dataset's name") from None
    except InputError:
        raise
    except PermissionError:
        raise InputError(f"{path} cannot be read: permission denied") from None
    except _DAMAGE as error:
        name, reason = str(path)[:200], str(error)[:200]
        raise InputError(
            f"{name} is cut short, altered or holds a pickle, and was not used ({reason}); make it again"
        ) from error


def _array_name(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(".npy")


def _check_sizes(path: Path, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> None:
    limit = max(_LEAST_LIMIT, _MOST_SHRINKING * path.stat().st_size)
    for name, info in members.items():
        if info.compress_type not in _METHODS:
            raise ValueError(f"{name} is compressed in an unusual way")
        with archive.open(info) as stream:
            shape, dtype = _header(stream)
            there = info.file_size - stream.tell()
        count = math.prod(shape)
        if dtype.hasobject:
            raise ValueError(f"{name} holds Python objects")
        if count * dtype.itemsize != there:
            raise ValueError(f"{name} says it has {count} entries, but there are {there} bytes")
        limit -= count * max(dtype.itemsize, 8)
        if limit < 0:
            raise InputError(
                f"{path} is not read: its arrays would take more than {_MOST_SHRINKING} times the memory that the "
                f"file takes on disk, which no graph needs ({name} alone has {count} entries)"
            )


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"an array of version {version}")
    if any(side < 0 for side in shape):
        raise ValueError(f"an array of shape {shape}")
    return shape, dtype


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    with archive.open(info) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # to the very end, where the checksum is compared
            raise ValueError(f"{_array_name(info)} has bytes beyond its end")
    return array
