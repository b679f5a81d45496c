"""Soft labels for node classification on graphs.

Public names are imported on first use, so that the command line answers without waiting for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from postel.labels import KnownLabels as KnownLabels
    from postel.smoothers.postel import PosteL as PosteL

_HOMES = {
    "KnownLabels": "postel.labels",
    "PosteL": "postel.smoothers.postel",
}

__all__ = ["KnownLabels", "PosteL", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'postel' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
