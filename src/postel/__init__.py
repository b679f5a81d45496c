"""Soft labels for node classification on graphs.

Public names are imported on first use, so that the command line answers without waiting for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from postel import functional as functional
    from postel.datasets import diagnose as diagnose
    from postel.datasets import load_dataset as load_dataset
    from postel.experiments.search.tune import tune as tune
    from postel.labels import KnownLabels as KnownLabels
    from postel.settings import PosteLSettings as PosteLSettings
    from postel.smoothers import ALS as ALS
    from postel.smoothers import SALS as SALS
    from postel.smoothers import CalibratedPosteL as CalibratedPosteL
    from postel.smoothers import Distillation as Distillation
    from postel.smoothers import OneHot as OneHot
    from postel.smoothers import PosteL as PosteL
    from postel.smoothers import UniformSmoothing as UniformSmoothing
    from postel.training import NodeClassifier as NodeClassifier

_HOMES = {
    "ALS": "postel.smoothers",
    "CalibratedPosteL": "postel.smoothers",
    "Distillation": "postel.smoothers",
    "KnownLabels": "postel.labels",
    "NodeClassifier": "postel.training",
    "OneHot": "postel.smoothers",
    "PosteL": "postel.smoothers",
    "PosteLSettings": "postel.settings",
    "SALS": "postel.smoothers",
    "UniformSmoothing": "postel.smoothers",
    "diagnose": "postel.datasets",
    "functional": "postel.functional",
    "load_dataset": "postel.datasets",
    "tune": "postel.experiments.search.tune",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'postel' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    return home if home.__name__ == f"postel.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    return __all__
