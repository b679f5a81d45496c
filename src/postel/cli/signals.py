"""Termination signals: a command ends as after Ctrl-C, tidies up, and its exit code says what ended it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from postel.interrupts import wait_for_steps

#: What ends a command: Ctrl-C, kill, a batch system's time limit, and a terminal that is closed.
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
#: What these do to a process that leaves them alone.
_AS_USUAL = (signal.SIG_DFL, signal.default_int_handler)


class Ending:
    """Which signal ended the command, if one did."""

    def __init__(self) -> None:
        self.number = 0

    @property
    def exit_code(self) -> int:
        """The code that shells give to a process ended by that signal, Ctrl-C's without any."""
        return 128 + (self.number or signal.SIGINT)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, once: what tidies up must not be disturbed by a second signal but Ctrl-C."""
        if wait_for_steps(number):
            return
        if not self.number or number == signal.SIGINT:
            self.number = self.number or number
            raise KeyboardInterrupt

    def swallowed(self) -> None:
        """Send the signal again in a moment, after its KeyboardInterrupt came where Python drops exceptions."""
        number, self.number = self.number or signal.SIGINT, 0
        again = threading.Timer(0.02, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()


@contextmanager
def tidy_ending() -> Iterator[Ending]:
    """Give what tells how a command ended; inside the block signals that end it raise KeyboardInterrupt.

    A signal that the caller has set to be ignored, as nohup does, stays ignored.
    """
    ending = Ending()
    before = {}
    hook = sys.unraisablehook

    def unraisable(dropped: Any) -> None:
        # A signal may come while an object is taken down, where no exception can be raised.
        if dropped.exc_type is KeyboardInterrupt:
            ending.swallowed()
        else:
            hook(dropped)

    if threading.current_thread() is threading.main_thread():
        for number in _ENDING:
            if signal.getsignal(number) in _AS_USUAL:
                before[number] = signal.signal(number, ending)
    sys.unraisablehook = unraisable
    try:
        yield ending
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
