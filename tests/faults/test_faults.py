"""Every command that writes, under a full disk, without rights, and ended at random moments."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A folder that every user can reach, since one fault is to have no rights; pytest's are the owner's alone."""
    home = Path(tempfile.mkdtemp(prefix="postel-faults-"))
    home.chmod(0o755)
    yield home
    shutil.rmtree(home, ignore_errors=True)


def test_no_fault_loses_anything_or_ends_in_a_traceback(open_home: Path) -> None:
    pytest.importorskip("duckdb")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    environment.pop("POSTEL_DATA", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), str(open_home), "1"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == []
    assert found["tried"]["full disk"] == found["tried"]["SIGKILL"] == found["tried"]["no fault"] >= 15


def test_every_command_that_writes_is_among_them() -> None:
    """A new command has to be put on one of the two lists."""
    from faults.program import COMMANDS
    from postel.cli.app import app

    commands = {str(command.callback.__name__) for command in app.registered_commands if command.callback}
    assert commands - {command.arguments[0] for command in COMMANDS.values()} == {"datasets", "doctor"}
