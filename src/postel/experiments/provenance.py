"""Where a row was made: the versions of the packages that decide its digits, and the machine."""

from __future__ import annotations

import functools
import platform
from importlib.metadata import version

_PACKAGES = ("postel", "torch", "torch_geometric", "numpy", "scipy")


def provenance() -> dict[str, str]:
    """Return the versions that decide a result's digits, and the machine's name, by name."""
    return dict(_provenance())


@functools.cache
def _provenance() -> dict[str, str]:
    versions = {name: version(name) for name in _PACKAGES}
    return {**versions, "python": platform.python_version(), "host": platform.node()}
