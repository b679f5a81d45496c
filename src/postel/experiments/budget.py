"""How much may be tried for each method: the same for all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from postel.errors import InputError


@dataclass(frozen=True)
class Budget:
    """A number of trials, of minutes, the full grid, or none at all: the defaults as they are.

    >>> Budget.parse("16"), Budget.parse("1.5m").text(40, 3)
    (Budget(kind='trials', amount=16), '40 trials in 1.5 minutes, 3 search splits')
    """

    kind: Literal["fixed", "grid", "trials", "minutes"]
    amount: float = 0

    @classmethod
    def parse(cls, text: str) -> Budget:
        """From ``16`` (trials), ``30m`` (minutes), ``grid`` or ``fixed``."""
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)(m?)", text.strip())
        if text in ("grid", "fixed"):
            return cls("grid" if text == "grid" else "fixed")
        if found is None or float(found[1]) == 0 or not (found[2] or float(found[1]).is_integer()):
            raise InputError(f"a budget is a number of trials (16), of minutes (30m), grid or fixed, got {text!r}")
        return cls("minutes", float(found[1])) if found[2] else cls("trials", int(found[1]))

    def text(
        self,
        trials: int,
        search_splits: int,
        size: int | None = None,
        given: Mapping[str, object] = MappingProxyType({}),
    ) -> str:
        """The budget in words, to be printed beside every number that it led to.

        ``trials`` is how many were run and ``size`` how many settings there are; ``given`` was set by hand.

        >>> Budget("trials", 16).text(8, 3, size=8), Budget("fixed").text(0, 0, given={"lr": 0.05})
        ('all 8 settings within 16 trials, 3 search splits', 'no search: defaults but lr=0.05')
        """
        over = f"{search_splits} search split{'s' if search_splits != 1 else ''}"
        if self.kind == "fixed":
            told = " ".join(f"{name}={value}" for name, value in given.items())
            return f"no search: defaults but {told}" if told else "no search: default settings"
        if self.kind == "grid":
            return f"the full grid of {trials} settings, {over}"
        limit = f"{self.amount:g} minutes" if self.kind == "minutes" else f"{self.amount:g} trials"
        if trials == size:
            return f"all {trials} settings within {limit}, {over}"
        if self.kind == "minutes":
            return f"{trials} trials in {limit}, {over}"
        return f"{trials} trials, {over}"
