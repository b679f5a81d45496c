"""Eight networks, one file each, behind one call: ``make_backbone(name, in_channels, out_channels)``."""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from postel import registry
from postel.backbones.base import Backbone
from postel.backbones.custom import Custom
from postel.backbones.user_model import ModelFn, make_module
from postel.checks import did_you_mean
from postel.errors import InputError

#: The names of all networks; they are registered in ``postel/registry.py``.
BACKBONES = tuple(registry.BACKBONES)

__all__ = ["BACKBONES", "Backbone", "Custom", "ModelFn", "backbone_class", "make_backbone"]


def backbone_class(name: str) -> type[Backbone]:
    """Return the class of a backbone.

    Args:
        name: The backbone's name, one of ``BACKBONES``.

    Returns:
        The class.

    Raises:
        InputError: If there is no such backbone.

    Example:
        >>> backbone_class("gcn").__name__
        'GCN'
    """
    if name not in BACKBONES:
        hint = did_you_mean(name, BACKBONES)
        raise InputError(
            f"unknown backbone {name!r}; {hint}choose one of {', '.join(BACKBONES)}, or pass a class or a function"
        )
    found: type[Backbone] = registry.load_class("backbones", registry.BACKBONES, name)
    return found


def make_backbone(
    backbone: str | ModelFn | nn.Module, in_channels: int, out_channels: int, **arguments: Any
) -> Backbone:
    """Make a fresh backbone; its weights come from torch's global generator.

    Args:
        backbone: A name, or a user's own model: a class such as ``torch_geometric.nn.GCN``, a function
            ``model_fn(in_channels, out_channels)`` that returns a module, or an instance, which is copied and
            reset.
        in_channels: Number of features per node.
        out_channels: Number of classes.
        **arguments: Further arguments of the backbone, the class or the function.

    Returns:
        The backbone; a user's module is wrapped in one.

    Raises:
        InputError: If the name or an argument is unknown, or no module comes back.

    Example:
        >>> make_backbone("gcn", 4, 2, hidden=8).last
        Linear(8, 2)
    """
    if not isinstance(backbone, str):
        module = make_module(backbone, in_channels, out_channels, arguments)
        return module if isinstance(module, Backbone) else Custom(module, in_channels, out_channels)
    cls = backbone_class(backbone)
    known = [name for name in inspect.signature(cls).parameters if name not in ("in_channels", "out_channels")]
    for name in arguments:
        if name not in known:
            raise InputError(f"{backbone} has no argument {name!r}; it takes {', '.join(known)}")
    return cls(in_channels, out_channels, **arguments)
