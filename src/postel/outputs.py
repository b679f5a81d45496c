"""How commands write their output: one rule for files and folders.

- Nothing that exists is replaced unless ``overwrite`` is asked for, and never an input.
- ``overwrite`` replaces only what the command itself could have written there.
- Whether the place can be written to, and whether another job is writing to it, is found out before the work.
- Output is under its final name whole or not at all; of two jobs that write to one place the later is told.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from postel.errors import InputError
from postel.files import folder_for, unwritable
from postel.interrupts import interruptible, uninterrupted
from postel.owners import remove, scratch_name, scratch_names

#: How files of each kind begin; a kind without an entry cannot be told from others.
_BEGINNINGS: Mapping[str, tuple[bytes, ...]] = {
    "Parquet": (b"PAR1",),
    "graph": (b"PK\x03\x04",),
    "HTML": (b"<!doctype html",),
    "PNG": (b"\x89png",),
    "SVG": (b"<?xml", b"<svg"),
    "JSON": (b"{", b"["),
}
_ASIDE = ".replaced"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Target:
    """Something that a command is about to write.

    Attributes:
        path: Where it goes.
        kind: What it is, in a word; ``overwrite`` replaces only a file that could be one.
        ours: Tells whether what is at a path could have been written by the command, where the first bytes of a
            file do not say enough.
        folder: Whether it may be a folder of files of that kind, as Spark writes them.
    """

    path: Path
    kind: str = "text"
    ours: Callable[[Path], bool] | None = None
    folder: bool = False

    def could_be_ours(self) -> bool:
        """Return whether what is there could have been written by the command."""
        if self.path.is_dir():
            return self.folder and all(_is_part(entry, self.kind) for entry in self.path.iterdir())
        return begins_as(self.path, self.kind) and (self.ours is None or self.ours(self.path))


@contextlib.contextmanager
def writing(
    targets: Target | Sequence[Target], *, overwrite: bool = False, inputs: Iterable[str | os.PathLike[str]] = ()
) -> Iterator[Path]:
    """Give a folder to write into, whose files get their final names when the block ends well.

    The block may take hours: all that can be known is checked before it. Files and folders that it leaves under
    the targets' names are moved to their places together; a target that it leaves out stays as it was. Whatever
    happens, nothing else is left behind.

    Args:
        targets: What will be written, all in one folder; it is made if it is not there.
        overwrite: Whether what is there may be replaced, provided that the command could have written it.
        inputs: Files and folders that are read; none of them is ever replaced.

    Raises:
        InputError: If the rule forbids it, the place cannot be written to, or its disk is full.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with writing(Target(Path(folder) / "deep" / "a.txt")) as work:
        ...         _ = (work / "a.txt").write_text("whole")
        ...     (Path(folder) / "deep" / "a.txt").read_text()
        'whole'
    """
    wanted = [targets] if isinstance(targets, Target) else list(targets)
    names = [target.path.name for target in wanted]
    # What a link names is what is meant: it is not the link that is replaced.
    wanted = [replace(target, path=_followed(target.path)) for target in wanted]
    read = [Path(name) for name in inputs]
    try:
        _clear(wanted[0].path)
    except OSError as error:
        raise unwritable(wanted[0].path, error) from error
    before = {target.path: _check(target, overwrite, read) for target in wanted}
    parent, first = wanted[0].path.parent, wanted[0].path
    with uninterrupted(), folder_for(first):
        if scratch_names(parent, first.name)[1]:
            raise InputError(f"another job is writing {first} just now: wait for it, or name another output")
        work = parent / scratch_name(first.name)
        try:
            _make_work_folder(work, first)
            with interruptible():
                yield work
            _place(dict(zip(names, wanted, strict=True)), work, before)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise _full(first, error) from error
        finally:
            remove(work)


def begins_as(path: Path, kind: str) -> bool:
    """Return whether a regular file begins as files of a kind do, or is empty.

    Args:
        path: The file.
        kind: What it should be, in a word; a kind that is not known is never refused.

    Returns:
        Whether it could be one.

    Example:
        >>> begins_as(Path(__file__), "Parquet"), begins_as(Path(__file__), "text")
        (False, True)
    """
    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            start = stream.read(64).lstrip().lower()
    except OSError:
        return False
    beginnings = [beginning.lower() for beginning in _BEGINNINGS.get(kind, ())]
    return not start or not beginnings or any(start.startswith(beginning) for beginning in beginnings)


def _full(path: Path, error: OSError) -> InputError:
    where = f" ({error.filename})" if error.filename else ""
    return InputError(f"{path} was not written: {error.strerror}{where}; make room and run the same command again")


def _followed(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path)) if path.is_symlink() else path
    except OSError as error:
        raise unwritable(path, error) from error


def _check(target: Target, overwrite: bool, inputs: Iterable[Path]) -> tuple[int, ...] | None:
    """What is at the target now, once it may be written to."""
    path = target.path
    try:
        for name in inputs:
            if _same(path, name) or (target.folder and path.is_dir() and _inside(name, path)):
                raise InputError(f"{path} is an input of this command and is never replaced; name another output")
        there = _identity(path)
        if there is None:
            return None
        if not overwrite:
            raise InputError(f"{path} is there already: remove it, name another, or set overwrite (--overwrite)")
        if not target.could_be_ours():
            what = (
                "a folder with other things in it" if path.is_dir() else f"no {target.kind} file of this command"
            )
            raise InputError(f"{path} is {what} and is not replaced, overwrite or not; name another output")
    except OSError as error:
        raise unwritable(path, error) from error
    return there


def _identity(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _clear(path: Path) -> None:
    """Remove what jobs that were killed left of ``path``."""
    for name in scratch_names(path.parent, path.name)[0]:
        if (name / f"{_ASIDE}0").exists() and not path.exists():
            (name / f"{_ASIDE}0").rename(path)  # the job was killed between the two steps of a replacement
        remove(name)


def _make_work_folder(work: Path, path: Path) -> None:
    try:
        work.mkdir()
        # A name that is too long should be known of before the work, too.
        (work / path.name).touch()
        (work / path.name).unlink()
    except OSError as error:
        raise unwritable(path, error) from error


def _place(targets: Mapping[str, Target], work: Path, before: Mapping[Path, tuple[int, ...] | None]) -> None:
    """Give what was made its names, all of it or, whatever comes between, nothing."""
    path = next(iter(targets.values())).path
    undo: list[Callable[[], None]] = []
    try:
        for name, target in targets.items():
            made, path = work / name, target.path
            if not made.exists():
                continue
            _flush(made)
            there = before[path]
            if there != _identity(path):
                raise FileExistsError(errno.EEXIST, "changed meanwhile", str(path))
            # An interruption may come between any two steps: the way back is noted before each.
            if there is None:
                undo.append(partial(_remove_if, path, made.lstat().st_ino))
                _move_to_free_name(made, path)
            else:
                aside = work / f"{_ASIDE}{len(undo)}"
                undo.append(partial(_put_back, aside, path))
                _replace(made, path, aside)
    except BaseException as error:
        for step in reversed(undo):
            step()
        if isinstance(error, FileExistsError):
            raise InputError(
                f"{path} was written by something else while this command ran: that is kept, and what this "
                "command made is dropped; name another output"
            ) from error
        if isinstance(error, OSError) and error.errno not in _FULL:
            raise unwritable(path, error) from error
        raise


def _remove_if(path: Path, inode: int) -> None:
    """Take back a name that was given, unless it is somebody else's by now."""
    if path.exists() and path.lstat().st_ino == inode:
        remove(path)


def _put_back(aside: Path, path: Path) -> None:
    if aside.is_dir():
        remove(path)
        aside.rename(path)
    elif aside.exists():
        aside.replace(path)


def _replace(made: Path, path: Path, aside: Path) -> None:
    """Put ``made`` in the place of ``path``, which stays at hand as ``aside``."""
    if made.is_dir() or path.is_dir():
        path.rename(aside)  # a folder is not replaced in one step
        made.rename(path)
    else:
        try:
            os.link(path, aside)
        except OSError:
            shutil.copy2(path, aside)  # a file system without links
        made.replace(path)


def _move_to_free_name(made: Path, path: Path) -> None:
    """Give ``made`` the name ``path``, unless something has it: then FileExistsError."""
    try:
        if made.is_dir():
            # Renaming a folder takes the place of an empty one at most.
            made.rename(path)
        else:
            os.link(made, path)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR):
            raise FileExistsError(errno.EEXIST, "is there", str(path)) from error
        if made.is_dir() or error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # A file system without links: the name is taken first, then filled.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        made.replace(path)


def _flush(path: Path) -> None:
    """Bring a file to the disk, so that a name never stands for less than the whole after a power cut."""
    if path.is_file():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _is_part(entry: Path, kind: str) -> bool:
    """Whether ``entry`` of a folder is what a job of many processes leaves: parts, their checksums, a mark."""
    if not entry.is_file() or entry.is_symlink():
        return False
    if entry.name.endswith(".crc") or entry.name == "_SUCCESS":
        return True
    return entry.name.startswith("part-") and begins_as(entry, kind)
