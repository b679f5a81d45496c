"""What one run is: everything that decides its result, with a hash that stays the same."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from postel.errors import InputError
from postel.smoothers import PosteL, Smoother, make_smoother

#: Names in commands for settings of a method that have a name of their own.
ALIASES: dict[str, tuple[str, dict[str, Any]]] = {
    "ls": ("uniform", {}),
    "kd": ("distillation", {}),
}

#: Forms of a method that are methods of their own wherever settings are searched and results are shown.
FORMS: dict[str, Callable[..., Smoother]] = {"postel_as_released": PosteL.as_released}


class MethodSpec(BaseModel):
    """A soft-label method and its hyper-parameters.

    >>> MethodSpec.parse("postel:alpha=0.6,beta=0.8").label
    'postel alpha=0.6 beta=0.8'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    params: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> MethodSpec:
        """From ``name`` or ``name:key=value,key=value``; values are JSON where they can be, text where not."""
        name, _, rest = text.strip().partition(":")
        name, params = ALIASES.get(name, (name, {}))
        params = dict(params)
        for pair in filter(None, rest.split(",")):
            key, equals, value = pair.partition("=")
            if not equals:
                raise InputError(f"a method is written name:key=value,key=value, got {text!r}")
            params[key.strip()] = parse_value(value)
        method = cls(name=name, params=params)
        method.make()
        return method

    def make(self) -> Smoother:
        """The method as an object; refused with a sentence if a name or value does not fit."""
        form = FORMS.get(self.name)
        if form is None:
            return make_smoother(self.name, **self.params)
        known = list(inspect.signature(form).parameters)
        for name in self.params:
            if name not in known:
                raise InputError(f"{self.name} takes {', '.join(known)}, not {name!r}")
        return form(**self.params)

    @property
    def label(self) -> str:
        """How the method is called in tables."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.params.items())])


class RunSpec(BaseModel):
    """One run: a graph and split, a backbone, a method, and how it is trained."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str
    fingerprint: str
    protocol: str = "paper"
    split: int = 0
    recipe: str = "paper"
    backbone: str = "gcn"
    backbone_args: dict[str, Any] = Field(default_factory=dict)
    method: MethodSpec
    pseudo_labels: bool | int = False
    lr: float = 0.01
    weight_decay: float = 5e-4
    max_epochs: int = 1000
    stopping: str = "window-mean"
    window: int = 200
    seed: int = 0

    @property
    def key(self) -> str:
        """A hash of all of it: equal specs have equal keys, in every process and release."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def parse_value(text: str) -> Any:
    """``text`` as JSON where it is JSON, else as it is.

    >>> parse_value("0.5"), parse_value("true"), parse_value("one-hot")
    (0.5, True, 'one-hot')
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text.strip()
