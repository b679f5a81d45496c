"""Running ``postel`` as a user does: in a process of its own, or here where that is enough and quicker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from postel.cli import main
from postel.experiments.store import Store

RUN = [sys.executable, "-W", "ignore", "-c", "from postel.cli import main; main()"]


def environment(**changes: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "POSTEL_DATA"}
    return {**kept, "OMP_NUM_THREADS": "1", "COLUMNS": "100", **changes}


def postel(*arguments: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """The finished command; nothing may be asked, so standard input is closed."""
    return subprocess.run(
        [*RUN, *arguments],
        cwd=cwd,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def interrupt(*arguments: str, cwd: Path, ready: Path | None) -> tuple[int, str]:
    """Exit code and standard error of a command that gets Ctrl-C once it is at work.

    It is when the store ``ready`` holds a row, or without one when the bar of epochs shows.
    """
    process = subprocess.Popen(
        [*RUN, *arguments],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that run in the background ignore Ctrl-C, and what they start would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if ready is not None and ready.exists() and len(Store(ready)) > 0:
            break
        if ready is None and "epoch" in process.stderr.read(200):
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    return process.wait(60), process.stderr.read()


@dataclass(frozen=True)
class Done:
    """What a command that ran here left behind."""

    returncode: int
    stdout: str
    stderr: str


class Here:
    """``postel`` in this process, with ``cwd`` and arguments as a shell would give them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: str, cwd: Path) -> Done:
        self.monkeypatch.chdir(cwd)
        self.monkeypatch.delenv("POSTEL_DATA", raising=False)
        self.monkeypatch.setenv("COLUMNS", "100")
        self.monkeypatch.setattr(sys, "argv", ["postel", *arguments])
        self.capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as exit:
            code = int(exit.code or 0)
        said = self.capsys.readouterr()
        return Done(code, said.out, said.err)
