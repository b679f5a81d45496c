"""The budget of a search: what may be spent on each method, the same for all methods of a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from postel.errors import InputError


@dataclass(frozen=True)
class Budget:
    """What the search of one method may spend: trainings, minutes, the standard rungs, the full grid, or nothing.

    Args:
        kind: ``"trainings"``, ``"minutes"``, ``"standard"``, ``"grid"`` or ``"fixed"`` (no search, defaults as
            they are). Cells of version 0.1 have ``"trials"``.
        amount: How many trainings or minutes; 0 for the other kinds.

    Example:
        >>> Budget.parse("400"), Budget.parse("1.5m")
        (Budget(kind='trainings', amount=400), Budget(kind='minutes', amount=1.5))
        >>> Budget.parse("16t")
        Budget(kind='trials', amount=16)
    """

    kind: Literal["fixed", "grid", "standard", "trainings", "minutes", "trials"]
    amount: float = 0

    @classmethod
    def parse(cls, text: str | int) -> Budget:
        """Read a budget as commands write it.

        Args:
            text: ``400`` (trainings), ``30m`` (minutes), ``standard``, ``grid`` or ``fixed``; ``16t`` (trials)
                names cells of version 0.1, which can be shown and not run.

        Returns:
            The budget.

        Raises:
            InputError: If it is none of these, or 0.
        """
        written = str(text).strip()
        if written in ("standard", "grid", "fixed"):
            return cls(written)  # type: ignore[arg-type]
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)([mt]?)", written)
        if found is None or float(found[1]) == 0 or not (found[2] == "m" or float(found[1]).is_integer()):
            raise InputError(
                f"a budget is a number of trainings above 0 (400), of minutes (30m), standard, grid or fixed, "
                f"got {written!r}"
            )
        if found[2] == "m":
            return cls("minutes", float(found[1]))
        return cls("trials" if found[2] else "trainings", int(found[1]))

    @property
    def limit(self) -> str:
        """The budget in a few words.

        Example:
            >>> Budget("minutes", 30).limit, Budget("standard").limit
            ('30 minutes', 'standard rungs')
        """
        if self.kind in ("trainings", "minutes", "trials"):
            return f"{self.amount:g} {self.kind[:-1] if self.amount == 1 else self.kind}"
        return {"fixed": "no search", "grid": "the full grid", "standard": "standard rungs"}[self.kind]

    def text(self, spent: str, given: Mapping[str, object]) -> str:
        """Return the budget and what was spent of it, to be printed beside every number that it led to.

        Args:
            spent: What the rungs did, in words; empty without a search.
            given: Settings that were set by hand.

        Returns:
            One phrase.

        Example:
            >>> Budget("trainings", 400).text("72 of 72 settings on 3 splits", {})
            '400 trainings: 72 of 72 settings on 3 splits'
            >>> Budget("fixed").text("", {"lr": 1})
            'no search: defaults but lr=1'
        """
        if self.kind == "fixed":
            settings = " ".join(f"{name}={value}" for name, value in given.items())
            return f"no search: defaults but {settings}" if settings else "no search: default settings"
        return f"{self.limit}: {spent}"
