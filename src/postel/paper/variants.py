"""Methods as the paper's tables tell them apart: a name, what is fixed of it, and how it takes pseudo-labels."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from postel.experiments.spec import MethodSpec


@dataclass(frozen=True)
class Variant:
    """A line of a table: ``slug`` names it in files, ``label`` in print; what ``params`` lack is searched."""

    slug: str
    label: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    pseudo_labels: bool | int = False

    def __post_init__(self) -> None:
        self.spec.make()

    @property
    def spec(self) -> MethodSpec:
        """The method with what is fixed of it."""
        return MethodSpec(name=self.method, params=self.params)

    @property
    def text(self) -> str:
        """The method as it is written in commands.

        >>> Variant("a", "A", "postel", {"likelihood": "local", "hops": 2}).text
        'postel:likelihood="local",hops=2'
        """
        fixed = ",".join(f"{name}={json.dumps(value)}" for name, value in self.params.items())
        return f"{self.method}:{fixed}" if fixed else self.method


ONE_HOT = Variant("one_hot", "one-hot", "one_hot")
LS = Variant("uniform", "LS", "uniform")
KD = Variant("distillation", "KD", "distillation")
SALS = Variant("sals", "SALS", "sals")
ALS = Variant("als", "ALS", "als")
POSTEL = Variant("postel", "PosteL", "postel", pseudo_labels=True)
POSTEL_WITHOUT_IPL = Variant("postel-without-ipl", "PosteL without IPL", "postel")
POSTEL_ONE_ROUND = Variant("postel-one-round", "PosteL, one round", "postel", pseudo_labels=1)

#: The six methods of the main table, in its order.
SIX = (ONE_HOT, LS, KD, SALS, ALS, POSTEL)


def parse_variant(text: str) -> Variant:
    """The variant that a user's ``--methods`` names: one of the six, or a method with something fixed.

    >>> parse_variant("ls").label, parse_variant("postel").pseudo_labels
    ('LS', True)
    >>> parse_variant("postel:likelihood=normalized").slug
    'postel likelihood=normalized'
    """
    method = MethodSpec.parse(text)
    for known in SIX:
        if method == known.spec:
            return known
    return Variant(
        method.label, method.label, method.name, method.params, pseudo_labels=method.make().uses_pseudo_labels
    )
