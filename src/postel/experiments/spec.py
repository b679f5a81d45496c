"""What one run is: everything that decides its result, with a hash that is the same in every release."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from postel.checks import did_you_mean
from postel.errors import InputError
from postel.registry import ALIASES, FORMS
from postel.smoothers import SMOOTHERS, Smoother, make_smoother

# How runs are computed if nobody says otherwise.
_USUAL = {"batch_size": None, "device": "cpu"}

#: What a spec means that does not say it: the values of the published code, which were the defaults when the first
#: rows were stored and are what the paper's tables have without a search.
_UNSAID: dict[str, dict[str, Any]] = {"postel": {"alpha": 0.8, "beta": 0.4}}


class MethodSpec(BaseModel):
    """A soft-label method and its hyper-parameters.

    Args:
        name: The method's name, a key of ``SMOOTHERS`` or ``FORMS`` in ``postel/registry.py``.
        params: Hyper-parameters by name; those that are left out are at their defaults, PosteL's alpha and beta at
            those of the published code. :meth:`as_typed` gives them the values that ``PosteL()`` has.

    Example:
        >>> MethodSpec.parse("postel:alpha=0.6,beta=0.8").label
        'postel alpha=0.6 beta=0.8'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    params: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> MethodSpec:
        """Read a method as commands write it.

        Args:
            text: ``name`` or ``name:key=value,key=value``; a value is read as JSON if it is JSON, else as text.

        Returns:
            The method.

        Raises:
            InputError: If the text has another form, or the method does not take a name or value.
        """
        name, _, rest = text.strip().partition(":")
        if name not in (*SMOOTHERS, *FORMS, *ALIASES):
            short = {full: alias for alias, full in ALIASES.items()}
            every = [f"{full} ({short[full]})" if full in short else full for full in (*SMOOTHERS, *FORMS)]
            hint = did_you_mean(name, [*SMOOTHERS, *FORMS, *ALIASES])
            raise InputError(f"there is no method {name!r}; {hint}choose from {', '.join(every)}")
        params: dict[str, Any] = {}
        for pair in filter(None, rest.split(",")):
            key, equals, value = pair.partition("=")
            if not equals:
                raise InputError(f"a method is written name:key=value,key=value, got {text!r}")
            params[key.strip()] = parse_value(value)
        method = cls(name=ALIASES.get(name, name), params=params)
        method.make()
        return method

    def make(self) -> Smoother:
        """Make the method.

        Returns:
            The method as an object.

        Raises:
            InputError: If there is no such method, or it does not take a name or value.
        """
        if self.name not in FORMS:
            return make_smoother(self.name, **self.as_stored().params)
        base, function = FORMS[self.name]
        form: Callable[..., Smoother] = getattr(SMOOTHERS[base], function)
        known = list(inspect.signature(form).parameters)
        for name in self.params:
            if name not in known:
                raise InputError(f"{self.name} takes {', '.join(known)}, not {name!r}")
        return form(**self.params)

    def as_stored(self) -> MethodSpec:
        """Return the same with what it leaves unsaid, as rows and the paper's tables mean it.

        Example:
            >>> MethodSpec.parse("postel:beta=0.6").as_stored().label
            'postel alpha=0.8 beta=0.6'
        """
        return MethodSpec(name=self.name, params={**_UNSAID.get(self.name, {}), **self.params})

    def as_typed(self) -> MethodSpec:
        """Return the same with what it leaves unsaid, as a user means it who types the name for ``PosteL()``.

        Example:
            >>> MethodSpec.parse("postel:beta=0.6").as_typed().label
            'postel alpha=0.5 beta=0.6'
        """
        if self.name not in _UNSAID:
            return self
        every = make_smoother(self.name).params()
        defaults = {name: every[name] for name in _UNSAID[self.name]}
        return MethodSpec(name=self.name, params={**defaults, **self.params})

    def rounds(self, wanted: bool | int) -> bool | int:
        """Return the rounds of pseudo-labels that a run has: none for a method that does not use them.

        Args:
            wanted: Whether, or for how many rounds, the user wants them.
        """
        return wanted if self.make().uses_pseudo_labels else False

    @property
    def label(self) -> str:
        """How the method is called in tables."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.params.items())])

    @property
    def text(self) -> str:
        """The method as it is written in commands.

        Example:
            >>> MethodSpec(name="postel", params={"likelihood": "local", "hops": 2}).text
            'postel:likelihood="local",hops=2'
        """
        given = ",".join(f"{key}={json.dumps(value)}" for key, value in self.params.items())
        return f"{self.name}:{given}" if given else self.name


class RunSpec(BaseModel):
    """One run: a graph and split, a backbone, a method, and how it is trained.

    Args:
        dataset: A name of the catalog, or the path of a graph file.
        fingerprint: The fingerprint of the graph, and of its splits where they come from the user's file.
        protocol: How nodes are split, one of ``postel.datasets.PROTOCOLS``.
        split: The number of the split, from 0.
        recipe: How the graph is prepared, ``"paper"`` or ``"sound"``.
        backbone: The backbone's name.
        backbone_args: Arguments of the backbone that differ from the defaults.
        method: The soft-label method.
        pseudo_labels: Whether, or for how many rounds, pseudo-labels are used.
        lr: The learning rate.
        weight_decay: The weight decay.
        max_epochs: Number of epochs at most.
        stopping: The stop rule.
        window: Number of epochs that the stop rule looks back on.
        seed: Where weights and dropout come from.
        batch_size: Training nodes in a step; None for the whole graph at once.
        device: The torch device. It and ``batch_size`` are no part of a spec that leaves them as they are.

    Example:
        >>> spec = RunSpec(dataset="cora", fingerprint="f", method=MethodSpec(name="postel"))
        >>> spec.key == spec.model_copy().key, spec.key == spec.model_copy(update={"split": 1}).key
        (True, False)
    """

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
    batch_size: int | None = None
    device: str = "cpu"

    @model_serializer(mode="wrap")
    def _without_usual_ways(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Specs, and with them keys, are the same as before these fields were there.
        return {name: value for name, value in dump(self).items() if name not in _USUAL or value != _USUAL[name]}

    def with_labels(self, method: MethodSpec, pseudo_labels: bool | int = False) -> RunSpec:
        """Return the same run, trained on other labels.

        Args:
            method: The soft-label method.
            pseudo_labels: Whether, or for how many rounds, pseudo-labels are used.
        """
        return self.model_copy(update={"method": method, "pseudo_labels": pseudo_labels})

    @property
    def key(self) -> str:
        """A hash of all fields: equal specs have equal keys, in every process and release."""
        return content_key(self.model_dump(mode="json"))


def content_key(values: Mapping[str, Any]) -> str:
    """Return a short hash of plain values: equal ones have equal hashes, in every process and release.

    Args:
        values: Plain values by name; their order makes no difference.

    Returns:
        The hash, 24 hexadecimal digits.

    Example:
        >>> content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1}) != content_key({"a": True, "b": 2})
        True
    """
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def parse_value(text: str) -> Any:
    """Read a value as JSON if it is JSON, else as text.

    Args:
        text: The value as it was written.

    Returns:
        The value.

    Example:
        >>> parse_value("0.5"), parse_value("true"), parse_value("one-hot")
        (0.5, True, 'one-hot')
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text.strip()
