"""The vector instructions that torch computes with: they decide the last digits of a sum."""

from __future__ import annotations

import os
from pathlib import Path

#: torch's own setting; it is read when torch first computes, and importing torch_geometric computes.
_SETTING = "ATEN_CPU_CAPABILITY"


def use_common_instructions(cpu: Path = Path("/proc/cpuinfo")) -> None:
    """Have torch compute with AVX2 also where a CPU has AVX-512, so that a seed gives the same digits on both.

    AVX-512 adds numbers up in another order, and a training turns that into other predictions. What is set in the
    environment stays as it is. Where the system does not tell what its CPU has, nothing is set.

    Args:
        cpu: The file in which Linux describes the CPU.
    """
    if _SETTING not in os.environ and "avx512f" in _flags(cpu):
        os.environ[_SETTING] = "avx2"


def _flags(cpu: Path) -> set[str]:
    try:
        with cpu.open(encoding="utf-8") as lines:
            return next((set(line.split()) for line in lines if line.startswith("flags")), set())
    except OSError:
        return set()
