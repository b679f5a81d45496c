"""What is searched: the paper's values for networks and for PosteL, and values that reach as far for the others.

The paper's appendix lists learning rates, weight decays, teleport probabilities, dropout of the propagation and
PosteL's alpha and beta. It is silent on uniform smoothing, distillation, SALS and ALS: theirs are chosen to match
(a share from 0.1 to 0.9 or 1, and the arguments that their descriptions leave open). The noise of PosteL as the
text has it is a share ``beta / (1 + beta)``: the paper's values end at 0.47, and four more let it go to 0.9, as
far as uniform smoothing goes. OrderedGNN has the learning rates, weight decays and dropout of the other networks;
what only it has stays at the values that its authors published.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

from postel.backbones import backbone_class
from postel.errors import InputError
from postel.experiments.spec import MethodSpec, RunSpec

#: The values of every hyper-parameter, by flat name: ``lr``, ``backbone_args.teleport``, ``method.alpha``.
Space = dict[str, list[Any]]
#: A value for every name of a space.
Values = dict[str, Any]

_TENTHS = [round(0.1 * step, 1) for step in range(11)]

_COMMON: Space = {"lr": [0.001, 0.002, 0.01, 0.05], "weight_decay": [0.0, 0.0005]}
_TELEPORT: Space = {"backbone_args.teleport": [0.1, 0.2, 0.5, 0.9]}
_PROPAGATION: Space = {"backbone_args.propagation_dropout": _TENTHS[:10]}

#: What a backbone adds to learning rate and weight decay.
BACKBONE_SPACES: dict[str, Space] = {
    "gcn": {},
    "gat": {},
    "appnp": _TELEPORT,
    "mlp": {},
    "chebnet": {},
    "gprgnn": {**_TELEPORT, **_PROPAGATION},
    "bernnet": _PROPAGATION,
    "ordered_gnn": {},
}

#: What a method has to be searched; one-hot labels and the calibrated posterior have nothing.
METHOD_SPACES: dict[str, Space] = {
    "one_hot": {},
    "uniform": {"method.epsilon": _TENTHS[1:10]},
    "distillation": {"method.weight": _TENTHS[1:], "method.temperature": [1.0, 2.0, 4.0, 8.0]},
    "sals": {"method.smoothing": _TENTHS[1:]},
    "als": {
        "method.smoothing": _TENTHS[1:10],
        "method.steps": [1, 2, 5, 10],
        "method.restart": [0.1, 0.5, 0.9],
        "method.warmup": [0, 50, 100, 200],
        "method.anchor": [0.1, 1.0, 10.0],
    },
    "postel": {"method.alpha": _TENTHS[1:], "method.beta": [*_TENTHS[:10], 1.5, 2.5, 4.0, 9.0]},
    "postel_as_released": {"method.alpha": _TENTHS[1:], "method.beta": _TENTHS[:10]},
    "calibrated": {},
}

#: PosteL's values as the paper's appendix lists them: with a network of eight settings, 800 in all.
PAPER_POSTEL: Space = {"method.alpha": _TENTHS[1:], "method.beta": _TENTHS[:10]}

# Dropout of messages, layers of the input, and whether gates are shared, from the authors' settings.
_ORDERED_GNN: dict[str, tuple[float, int, bool]] = {
    "cora": (0.2, 1, False),
    "citeseer": (0.0, 2, False),
    "pubmed": (0.0, 3, True),
    "chameleon": (0.1, 1, False),
    "squirrel": (0.1, 1, False),
    "actor": (0.0, 2, False),
    "texas": (0.1, 1, True),
    "cornell": (0.1, 1, False),
}
_ORDERED_GNN_ELSEWHERE = (0.1, 1, False)


def space_of(backbone: str, method: str | MethodSpec, fixed: Mapping[str, Any] | None = None) -> Space:
    """Return the values to try of every hyper-parameter that is searched.

    Args:
        backbone: A network's name; one that is not in :data:`BACKBONE_SPACES`, for instance a user's own model,
            has learning rate and weight decay.
        method: A method, which may carry settings, as in ``postel:likelihood=local``: those are not searched.
        fixed: More settings that are not searched, by flat name.

    Returns:
        ``lr``, ``weight_decay``, ``backbone_args.*`` and ``method.*``, each with its values in order.

    Example:
        >>> space_of("appnp", "uniform:epsilon=0.3", {"lr": 0.01})
        {'weight_decay': [0.0, 0.0005], 'backbone_args.teleport': [0.1, 0.2, 0.5, 0.9]}
        >>> size_of(space_of("gcn", "one_hot")), size_of(space_of("gcn", "postel"))
        (8, 1120)
    """
    chosen = MethodSpec.parse(method) if isinstance(method, str) else method
    given = {*(fixed or {}), *(f"method.{name}" for name in chosen.params)}
    space = {**_COMMON, **BACKBONE_SPACES.get(backbone, {}), **METHOD_SPACES.get(chosen.name, {})}
    return {name: list(values) for name, values in space.items() if name not in given}


def published_values(backbone: str, dataset: str) -> Values:
    """Return what is fixed of a network at values that its authors published for a dataset.

    Args:
        backbone: A network's name.
        dataset: A dataset's name; one without published values has those that most others have.

    Returns:
        The values by flat name; empty for most networks.

    Example:
        >>> published_values("ordered_gnn", "citeseer")["backbone_args.input_layers"]
        2
    """
    if backbone != "ordered_gnn":
        return {}
    dropout, layers, shared = _ORDERED_GNN.get(dataset, _ORDERED_GNN_ELSEWHERE)
    return {
        "backbone_args.propagation_dropout": dropout,
        "backbone_args.input_layers": layers,
        "backbone_args.global_gate": shared,
    }


def size_of(space: Space) -> int:
    """Return how many settings the full grid of a space has.

    Args:
        space: The values of every hyper-parameter.

    Returns:
        The number of settings.
    """
    return math.prod(len(values) for values in space.values())


def start_of(space: Space, backbone: str, method: str | MethodSpec) -> Values:
    """Return the default setting of a space.

    Args:
        space: The values of every hyper-parameter.
        backbone: The network's name.
        method: The method.

    Returns:
        The default of every hyper-parameter if the space has it, else the first value.

    Example:
        >>> start_of(space_of("gcn", "postel"), "gcn", "postel")
        {'lr': 0.01, 'weight_decay': 0.0005, 'method.alpha': 0.8, 'method.beta': 0.4}
    """
    chosen = MethodSpec.parse(method) if isinstance(method, str) else method
    start = {}
    for name, values in space.items():
        default = _default(name, backbone, chosen)
        start[name] = default if default in values else values[0]
    return start


def values_at(space: Space, place: tuple[int, ...]) -> Values:
    """Return the setting at a place of the grid.

    Args:
        space: The values of every hyper-parameter.
        place: One index per name of the space.

    Returns:
        The value of every name.

    Example:
        >>> values_at({"lr": [0.01, 0.05], "weight_decay": [0.0]}, (1, 0))
        {'lr': 0.05, 'weight_decay': 0.0}
    """
    return {name: values[index] for (name, values), index in zip(space.items(), place, strict=True)}


def flat(settings: Mapping[str, Any]) -> Values:
    """Return settings by flat name, as a space has them.

    Args:
        settings: Settings by name; ``backbone_args`` and ``method`` may be mappings, which are unfolded.

    Returns:
        The settings by flat name.

    Raises:
        InputError: If a search does not know a name.

    Example:
        >>> flat({"lr": 0.05, "method": {"alpha": 0.6}})
        {'lr': 0.05, 'method.alpha': 0.6}
    """
    unfolded: Values = {}
    for name, value in settings.items():
        if name in ("backbone_args", "method"):
            unfolded.update({f"{name}.{key}": inner for key, inner in value.items()})
        elif name.partition(".")[0] in ("backbone_args", "method") or name in _SETTINGS:
            unfolded[name] = value
        else:
            raise InputError(f"{name!r} cannot be fixed in a search; choose from {', '.join(_SETTINGS)}, ...")
    return unfolded


_SETTINGS = ("lr", "weight_decay", "max_epochs", "stopping", "window", "batch_size", "device")


def _default(name: str, backbone: str, method: MethodSpec) -> Any:
    place, _, argument = name.partition(".")
    if not argument:
        return RunSpec.model_fields[place].default
    if place == "method":
        return getattr(method.make(), argument)
    return inspect.signature(backbone_class(backbone)).parameters[argument].default
