"""Soft labels past memory and past one machine: the same numbers in memory, on DuckDB and on Spark.

Names are imported on first use: counting needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postel.scale.join import join_soft_labels as join_soft_labels
    from postel.scale.request import Columns as Columns
    from postel.scale.smooth import Smoothed as Smoothed
    from postel.scale.smooth import smooth_tables as smooth_tables

_HOMES = {
    "Columns": "postel.scale.request",
    "Smoothed": "postel.scale.smooth",
    "join_soft_labels": "postel.scale.join",
    "smooth_tables": "postel.scale.smooth",
}

__all__ = ["Columns", "Smoothed", "join_soft_labels", "smooth_tables"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'postel.scale' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
