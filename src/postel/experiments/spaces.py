"""What is searched: the paper's values for networks and for PosteL, and values as many for the other methods.

The paper's appendix lists learning rates, weight decays, teleport probabilities, dropout of the propagation and
PosteL's alpha and beta. It is silent on uniform smoothing, distillation, SALS and ALS: theirs are chosen to match
(a share from 0.1 to 0.9 or 1, and the arguments that their descriptions leave open). It is silent on OrderedGNN,
too: its values are those of the settings that its authors published.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

from postel.backbones import backbone_class
from postel.errors import InputError
from postel.experiments.spec import MethodSpec, RunSpec
from postel.smoothers import SMOOTHERS

Space = dict[str, list[Any]]

_TENTHS = [round(0.1 * step, 1) for step in range(11)]

_COMMON: Space = {"lr": [0.001, 0.002, 0.01, 0.05], "weight_decay": [0.0, 0.0005]}
_TELEPORT: Space = {"backbone_args.teleport": [0.1, 0.2, 0.5, 0.9]}
_PROPAGATION: Space = {"backbone_args.propagation_dropout": _TENTHS[:10]}

#: What a backbone adds to, or has instead of, learning rate and weight decay.
BACKBONE_SPACES: dict[str, Space] = {
    "gcn": {},
    "gat": {},
    "appnp": _TELEPORT,
    "mlp": {},
    "chebnet": {},
    "gprgnn": {**_TELEPORT, **_PROPAGATION},
    "bernnet": _PROPAGATION,
    "ordered_gnn": {
        "lr": [0.001, 0.005, 0.01],
        "weight_decay": [5e-8, 5e-6, 5e-4, 5e-2, 5e-1],
        "backbone_args.linear_weight_decay": [None, 0.0, 5e-8, 5e-6, 5e-4, 5e-2],
        "backbone_args.dropout": _TENTHS[:6],
        "backbone_args.propagation_dropout": [0.0, 0.05, 0.1, 0.2, 0.3, 0.4],
        "backbone_args.input_layers": [1, 2, 3],
        "backbone_args.global_gate": [False, True],
    },
}

#: What a method has to be searched; one-hot labels have nothing, and the same budget for the rest.
METHOD_SPACES: dict[str, Space] = {
    "one_hot": {},
    "uniform": {"method.epsilon": _TENTHS[1:10]},
    "distillation": {"method.weight": _TENTHS[1:], "method.temperature": [1.0, 2.0, 4.0, 8.0]},
    "sals": {"method.smoothing": _TENTHS[1:10]},
    "als": {
        "method.smoothing": _TENTHS[1:10],
        "method.steps": [1, 2, 5, 10],
        "method.restart": [0.1, 0.5, 0.9],
        "method.warmup": [0, 50, 100, 200],
        "method.anchor": [0.1, 1.0, 10.0],
    },
    "postel": {"method.alpha": _TENTHS[1:], "method.beta": _TENTHS[:10]},
}


def space_of(backbone: str, method: str) -> Space:
    """The values to try of every hyper-parameter: ``lr``, ``weight_decay``, ``backbone_args.*`` and ``method.*``.

    ``method`` may carry settings, as in ``postel:likelihood=local``: those are not searched.

    >>> space_of("appnp", "uniform:epsilon=0.3")
    {'lr': [0.001, 0.002, 0.01, 0.05], 'weight_decay': [0.0, 0.0005],
     'backbone_args.teleport': [0.1, 0.2, 0.5, 0.9]}
    >>> size_of(space_of("gcn", "one_hot")), size_of(space_of("gcn", "postel"))
    (8, 800)
    """
    backbone_class(backbone)
    chosen = MethodSpec.parse(method)
    space = {**_COMMON, **BACKBONE_SPACES.get(backbone, {}), **METHOD_SPACES.get(chosen.name, {})}
    return {
        name: list(values) for name, values in space.items() if name.removeprefix("method.") not in chosen.params
    }


def size_of(space: Space) -> int:
    """How many settings the full grid of ``space`` has."""
    return math.prod(len(values) for values in space.values())


def start_of(space: Space, backbone: str, method: str) -> dict[str, Any]:
    """The setting to try first: defaults where the space has them, else a parameter's first value.

    >>> start_of(space_of("gcn", "postel"), "gcn", "postel")
    {'lr': 0.01, 'weight_decay': 0.0005, 'method.alpha': 0.8, 'method.beta': 0.4}
    """
    start = {}
    for name, values in space.items():
        default = _default(name, backbone, method)
        start[name] = default if default in values else values[0]
    return start


def flat(settings: dict[str, Any]) -> dict[str, Any]:
    """``settings`` with the names that a space has: mappings under ``backbone_args`` and ``method`` are unfolded.

    >>> flat({"lr": 0.05, "method": {"alpha": 0.6}})
    {'lr': 0.05, 'method.alpha': 0.6}
    """
    unfolded: dict[str, Any] = {}
    for name, value in settings.items():
        if name in ("backbone_args", "method"):
            unfolded.update({f"{name}.{key}": inner for key, inner in value.items()})
        elif name.partition(".")[0] in ("backbone_args", "method") or name in _SETTINGS:
            unfolded[name] = value
        else:
            raise InputError(f"{name!r} cannot be fixed in a search; choose from {', '.join(_SETTINGS)}, ...")
    return unfolded


_SETTINGS = ("lr", "weight_decay", "max_epochs", "stopping", "window")


def _default(name: str, backbone: str, method: str) -> Any:
    place, _, argument = name.partition(".")
    if not argument:
        return RunSpec.model_fields[place].default
    owner: Any = backbone_class(backbone) if place == "backbone_args" else SMOOTHERS[MethodSpec.parse(method).name]
    return inspect.signature(owner).parameters[argument].default
