"""Soft-label methods, one file each; a method's name in commands and results is its file's name."""

from __future__ import annotations

from inspect import signature
from typing import Any

from postel import registry
from postel.checks import did_you_mean
from postel.errors import InputError
from postel.smoothers.als import ALS
from postel.smoothers.base import Smoother, TrainTargets
from postel.smoothers.calibrated import CalibratedPosteL, calibrated_soft_labels
from postel.smoothers.distillation import Distillation
from postel.smoothers.one_hot import OneHot
from postel.smoothers.postel import PosteL, posterior_soft_labels
from postel.smoothers.sals import SALS
from postel.smoothers.uniform import UniformSmoothing

__all__ = [
    "ALS",
    "SALS",
    "SMOOTHERS",
    "CalibratedPosteL",
    "Distillation",
    "OneHot",
    "PosteL",
    "Smoother",
    "TrainTargets",
    "UniformSmoothing",
    "calibrated_soft_labels",
    "make_smoother",
    "posterior_soft_labels",
]

#: The methods by name, in the paper's order; the last one is ours. They are registered in ``postel/registry.py``.
SMOOTHERS: dict[str, type[Smoother]] = {
    name: registry.load_class("smoothers", registry.SMOOTHERS, name) for name in registry.SMOOTHERS
}


def make_smoother(name: str, **params: Any) -> Smoother:
    """Make a soft-label method from its name.

    Args:
        name: The method's name, as commands and results spell it.
        **params: Its hyper-parameters.

    Returns:
        The method.

    Raises:
        InputError: If there is no such method, or it has no such hyper-parameter.

    Example:
        >>> make_smoother("uniform", epsilon=0.3)
        UniformSmoothing(epsilon=0.3, spread='all', num_classes=None)
        >>> make_smoother("sals", epsilon=0.3)
        Traceback (most recent call last):
            ...
        postel.errors.InputError: sals takes smoothing, weight, isolated, ...; got epsilon
    """
    if name not in SMOOTHERS:
        hint = did_you_mean(name, SMOOTHERS)
        raise InputError(f"there is no method {name!r}; {hint}choose from {', '.join(SMOOTHERS)}")
    takes = signature(SMOOTHERS[name]).parameters
    unknown = params.keys() - takes.keys()
    if unknown:
        raise InputError(f"{name} takes {', '.join(takes)}; got {', '.join(sorted(unknown))}")
    return SMOOTHERS[name](**params)
