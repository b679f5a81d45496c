"""The one place where networks and soft-label methods are registered, with the other words that users choose from.

Nothing here imports torch: commands show and complete these names at once, and a class is loaded when it is used.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal, get_args

#: The class of every network; its file in ``postel/backbones`` has the network's name.
BACKBONES = {
    "gcn": "GCN",
    "gat": "GAT",
    "appnp": "APPNP",
    "mlp": "MLP",
    "chebnet": "ChebNet",
    "gprgnn": "GPRGNN",
    "bernnet": "BernNet",
    "ordered_gnn": "OrderedGNN",
}

#: The class of every soft-label method, in the paper's order; its file in ``postel/smoothers`` has its name.
SMOOTHERS = {
    "one_hot": "OneHot",
    "uniform": "UniformSmoothing",
    "distillation": "Distillation",
    "sals": "SALS",
    "als": "ALS",
    "postel": "PosteL",
    "calibrated": "CalibratedPosteL",
}

#: Methods made by a function of a method's class: they count as methods of their own in searches and results.
FORMS = {"postel_as_released": ("postel", "as_released")}

#: Short names of methods in commands.
ALIASES = {"ls": "uniform", "kd": "distillation"}

Protocol = Literal["paper", "stratified", "geom-gcn", "public", "limited"]
#: How nodes can be split.
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

#: How graphs can be prepared: as in the paper, or soundly.
RECIPES = ("paper", "sound")

Stopping = Literal["window-mean", "patience"]
#: When a training can stop.
STOP_RULES: tuple[Stopping, ...] = get_args(Stopping)


def load_class(package: str, names: dict[str, str], name: str) -> Any:
    """Return the class that is registered under a name.

    Args:
        package: ``"backbones"`` or ``"smoothers"``, where the name is a file's.
        names: The registry, :data:`BACKBONES` or :data:`SMOOTHERS`.
        name: The name.

    Example:
        >>> load_class("smoothers", SMOOTHERS, "sals").__name__
        'SALS'
    """
    return getattr(importlib.import_module(f"postel.{package}.{name}"), names[name])
