"""Which process something belongs to, and whether it still runs: for claims in a store and temporary files."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
import uuid
from pathlib import Path

_SUFFIX = ".part"
_UNKNOWN = "x"


def this_process() -> str:
    """Return a name for this process that no other one has: machine, process namespace, number and start."""
    return f"{_place()} {os.getpid()} {_started(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Return whether the process ``owner`` was on this machine and is gone.

    Args:
        owner: What :func:`this_process` said; anything after its four words is left out of account.

    Example:
        >>> is_dead(this_process()), is_dead("elsewhere - 1 0")
        (False, False)
    """
    return _state(owner) == "dead"


def scratch_name(name: str) -> str:
    """Return a hidden name for what becomes ``name`` later; it says which process it belongs to.

    Args:
        name: The final name, of any length: what is made of it always fits into a folder.

    Example:
        >>> scratch_name("soft.parquet").startswith(".soft.parquet."), len(scratch_name("x" * 250)) < 255
        (True, True)
    """
    return f"{_prefix(name)}{_tag()}-{uuid.uuid4().hex[:8]}{_SUFFIX}"


def scratch_names(folder: Path, name: str) -> tuple[list[Path], list[Path]]:
    """Return what earlier processes left for ``name`` in ``folder``, and what running ones have there.

    Args:
        folder: Where to look.
        name: The final name that was given to :func:`scratch_name`.

    Returns:
        Two lists: those whose process on this machine is gone, and those whose process still runs. What belongs
        to a process elsewhere, or to another user, is in neither.
    """
    states: dict[str, list[Path]] = {"dead": [], "alive": [], "elsewhere": []}
    try:
        entries = [entry for entry in folder.iterdir() if entry.name.startswith(_prefix(name))]
    except OSError:
        entries = []
    for entry in entries:
        owner = entry.name.removeprefix(_prefix(name)).removesuffix(_SUFFIX).split("-")
        if len(owner) == 4 and entry.name.endswith(_SUFFIX) and _is_ours(entry):
            states[_state_of_tag(owner)].append(entry)
    return states["dead"], states["alive"]


def temporary_folder(name: str, parent: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """Make a temporary folder that goes with its object, and remove those of ``name`` that killed processes left.

    Args:
        name: What it is for, in a word.
        parent: Where to make it; the system's place for temporary files without it.

    Returns:
        The folder, as the standard library's class.

    Example:
        >>> with temporary_folder("postel-doctest") as folder:
        ...     Path(folder).is_dir()
        True
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    for left in scratch_names(place, name)[0]:
        remove(left)
    return tempfile.TemporaryDirectory(prefix=f"{_prefix(name)}{_tag()}-", suffix=_SUFFIX, dir=place)


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there and can be removed; a signal in between ends it when all is gone.

    Args:
        path: The file or folder.
    """
    try:
        _remove(path)
    except KeyboardInterrupt:
        _remove(path)
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _prefix(name: str) -> str:
    # A folder takes names of 255 bytes: a long one is cut and told from others by its hash.
    whole = os.fsencode(name)
    if len(whole) > 120:
        name = whole[:100].decode(errors="ignore") + hashlib.sha256(whole).hexdigest()[:12]
    return f".{name}."


def _tag() -> str:
    host, space, number, started = this_process().split(" ")
    return f"{_place_tag(f'{host} {space}')}-{number}-{_UNKNOWN if started == '-' else started}"


def _place_tag(place: str) -> str:
    return hashlib.sha256(place.encode()).hexdigest()[:8]


def _state_of_tag(tag: list[str]) -> str:
    place, number, started, _ = tag
    if place != _place_tag(_place()) or not number.isdigit():
        return "elsewhere"
    return _state(f"{_place()} {number} {'-' if started == _UNKNOWN else started}")


def _state(owner: str) -> str:
    host, space, number, started, *_ = owner.split(" ")
    if f"{host} {space}" != _place():
        return "elsewhere"
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return "dead"
    except PermissionError:
        pass
    return "alive" if _started(int(number)) == started else "dead"


def _is_ours(path: Path) -> bool:
    try:
        return not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()
    except OSError:
        return False


def _place() -> str:
    # Containers may share a host's name but not its processes.
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = "-"
    return f"{platform.node().replace(' ', '_') or '-'} {space}"


def _started(number: int) -> str:
    """When a process started, in the system's ticks; numbers are used again, this is not. Elsewhere a dash."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "-"
    return "dead" if fields[0] in ("Z", "X") else fields[19]
