"""A seed gives the same digits on every CPU: torch computes with the instructions that all of them have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from postel.experiments.store import Store
from postel.instructions import use_common_instructions

SETTING = "ATEN_CPU_CAPABILITY"


@pytest.mark.parametrize(
    ("flags", "before", "after"),
    [
        ("fpu avx avx2 avx512f avx512bw", None, "avx2"),
        ("fpu avx avx2", None, None),  # nothing to lower; a CPU without AVX2 would not know what is asked of it
        ("fpu avx2 avx512f", "default", "default"),
        ("", None, None),
    ],
)
def test_only_avx512_is_given_up(
    flags: str, before: str | None, after: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu = tmp_path / "cpuinfo"
    cpu.write_text(f"processor\t: 0\nmodel name\t: any\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
    monkeypatch.delenv(SETTING, raising=False)
    if before:
        monkeypatch.setenv(SETTING, before)
    use_common_instructions(cpu)
    assert os.environ.get(SETTING) == after


def test_a_system_that_tells_nothing_of_its_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    use_common_instructions(tmp_path / "nothing")
    assert SETTING not in os.environ


def test_commands_compute_with_them_and_their_rows_say_so(tmp_path: Path) -> None:
    asked = ("compare", "karate", "-m", "one_hot", "--splits", "1", "--max-epochs", "3", "--json")
    environment = {name: value for name, value in os.environ.items() if name != SETTING}
    for workers in ("1", "2"):
        store = tmp_path / f"{workers}.sqlite"
        command = [sys.executable, "-c", "from postel.cli import main; main()", *asked, "-w", workers]
        subprocess.run([*command, "--store", str(store)], env=environment, capture_output=True, check=True)
        (row,) = Store(store).rows(list(Store(store).keys()))
        assert row.made_by["instructions"] not in ("", "AVX512")
