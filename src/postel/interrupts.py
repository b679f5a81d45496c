"""Steps on disk that belong together: a signal that comes between them counts when they are done."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class _Gate:
    """Whether signals wait just now, and the one that does."""

    shut = False
    waiting: int | None = None


def wait_for_steps(number: int) -> bool:
    """Keep a signal that came inside :func:`uninterrupted` until that block ends; called by handlers of signals.

    Args:
        number: The signal's number.

    Returns:
        Whether it has to wait: the handler then does nothing, and is called again.
    """
    if _Gate.shut:
        _Gate.waiting = number
    return _Gate.shut


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals of a command wait for the end of the block; only the main thread can hold them back."""
    with _set(shut=True):
        yield


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let signals through again, for a part of :func:`uninterrupted` that may take long."""
    with _set(shut=False):
        yield


@contextlib.contextmanager
def _set(*, shut: bool) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _Gate.shut
    try:
        _Gate.shut = shut
        _let_through()
        yield
    finally:
        _Gate.shut = before
        _let_through()


def _let_through() -> None:
    if _Gate.waiting is not None and not _Gate.shut:
        number, _Gate.waiting = _Gate.waiting, None
        signal.raise_signal(number)
