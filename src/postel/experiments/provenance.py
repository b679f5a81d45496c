"""Where a row was made: the versions and instructions that decide its digits, and the machine."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import version

import torch

_PACKAGES = ("postel", "torch", "torch_geometric", "numpy", "scipy")


def provenance() -> dict[str, str]:
    """Return the versions and instructions that decide a result's digits, and the machine's name, by name."""
    return dict(_provenance())


@functools.cache
def _provenance() -> dict[str, str]:
    versions = {name: version(name) for name in _PACKAGES}
    machine = {"instructions": torch.backends.cpu.get_cpu_capability(), "host": platform.node()}
    return {**versions, "python": platform.python_version(), **machine}
