"""Signals at every instruction of what writes files: all of the output is there afterwards, or nothing."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from postel import files, interrupts, outputs
from postel.cli.signals import tidy_ending
from postel.files import replacing
from postel.interrupts import interruptible, uninterrupted
from postel.outputs import Target, writing

OURS = {module.__file__ for module in (files, interrupts, outputs)}


@pytest.fixture(autouse=True)
def _python_s_own_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def replaced(path: Path) -> None:
    with replacing(path) as stream:
        stream.write(b"new")


def written(path: Path) -> None:
    with writing([Target(path), Target(path.with_name("b.txt"))], overwrite=True) as work:
        for name in (path.name, "b.txt"):
            (work / name).write_text("new")


def signalled(work: Callable[[], None], moment: int) -> tuple[bool, bool]:
    """Whether the signal came, at that instruction of the modules, and whether it ended the work."""
    count = 0

    def tracer(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in OURS:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        if count == moment:
            sys.settrace(None)
            signal.raise_signal(signal.SIGTERM)
        return tracer

    before = sys.gettrace()
    try:
        with tidy_ending():
            sys.settrace(tracer)
            work()
    except KeyboardInterrupt:
        return True, True
    finally:
        sys.settrace(before)
    return count >= moment, False


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("write", [replaced, written])
def test_a_signal_at_any_instruction_leaves_all_or_nothing(
    write: Callable[[Path], None], there: bool, tmp_path: Path
) -> None:
    names = ["a.txt", "b.txt"] if write is written else ["a.txt"]
    ended, moment, came = set(), 0, True
    while came:
        moment += 1
        place = tmp_path / str(moment) / "deep"
        if there:
            place.mkdir(parents=True)
            for name in names:
                (place / name).write_text("old")
        came, over = signalled(lambda place=place: write(place / "a.txt"), moment)  # type: ignore[misc]
        found = {path.name: path.read_text() for path in place.iterdir()} if place.exists() else {}
        whole, before = dict.fromkeys(names, "new"), dict.fromkeys(names, "old" if there else "new")
        assert found == whole or (over and found == (before if there else {})), (moment, found)
        assert there or place.exists() == bool(found) == place.parent.exists()
        assert (interrupts._Gate.shut, interrupts._Gate.waiting) == (False, None)
        ended.add((over, found == whole))
    # It came before the work, after it, and in the block itself, which it ends without a trace.
    assert moment > 100 and ended == {(True, False), (True, True), (False, True)}


def test_a_signal_waits_for_the_end_of_the_steps_and_no_longer() -> None:
    done = []

    def steps() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            done.append("steps")
            with interruptible():
                done.append("never")

    with tidy_ending() as ending, pytest.raises(KeyboardInterrupt):
        steps()
    assert done == ["steps"] and ending.exit_code == 128 + signal.SIGTERM
    assert not interrupts._Gate.shut


def test_other_threads_hold_nothing_back() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def steps() -> None:
        with uninterrupted():
            begun.set()
            go_on.wait(10)

    thread = threading.Thread(target=steps)
    with tidy_ending():
        thread.start()
        begun.wait(10)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    go_on.set()
    thread.join()
