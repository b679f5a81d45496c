"""Signals that end a command, wherever they find it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import weakref

import pytest

from postel.cli import main
from postel.cli.signals import tidy_ending


class Thing:
    """Something that can be referred to weakly."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_an_object_is_taken_down_is_not_lost(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    hook, before = sys.unraisablehook, signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    thing, reached = Thing(), False
    reference = weakref.ref(thing, lambda _: signal.raise_signal(number))
    try:
        with tidy_ending() as ending:
            del thing  # Python drops what is raised in the call of a reference's callback
            reached = True
            with pytest.raises(KeyboardInterrupt):
                time.sleep(5)
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached and reference() is None and ending.exit_code == 128 + number
    assert sys.unraisablehook is hook and capsys.readouterr().err == ""


def test_ctrl_c_before_a_command_has_begun_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("postel.cli.signals.tidy_ending", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130 and capsys.readouterr().err == "postel: interrupted\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_turns_into_an_error_of_its_own_still_ends_the_command(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def converting(prog_name: str) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        raise ValueError("invalid matrix")

    monkeypatch.setattr("postel.cli.app.app", converting)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 128 + number and capsys.readouterr().err == "postel: interrupted\n"


def test_a_second_ctrl_c_is_heard_and_a_second_kill_is_not() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with tidy_ending() as ending:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ending.exit_code == 128 + signal.SIGTERM


def test_other_exceptions_that_python_drops_are_still_shown(capsys: pytest.CaptureFixture[str]) -> None:
    thing = Thing()
    reference = weakref.ref(thing, lambda _: os.stat("/no/such/place"))  # noqa: PTH116
    shown: list[object] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda dropped: shown.append(dropped.exc_type)
    try:
        with tidy_ending():
            del thing
    finally:
        sys.unraisablehook = before
    assert reference() is None and shown == [FileNotFoundError]
