"""How a run is optimised and when it stops."""

from __future__ import annotations

import math
from dataclasses import dataclass

from postel.errors import InputError
from postel.training.stopping import stop_rule


@dataclass(frozen=True)
class Settings:
    """Adam's rate and weight decay, the limit on epochs and the stop rule; checked when made.

    >>> Settings(lr=0.05).max_epochs
    1000
    """

    lr: float = 0.01
    weight_decay: float = 5e-4
    max_epochs: int = 1000
    stopping: str = "window-mean"
    window: int = 200

    def __post_init__(self) -> None:
        if not (_is_number(self.lr) and 0 < self.lr < math.inf):
            raise InputError(f"lr must be a number above 0, got {self.lr!r}")
        if not (_is_number(self.weight_decay) and 0 <= self.weight_decay < math.inf):
            raise InputError(f"weight_decay must be a number of at least 0, got {self.weight_decay!r}")
        for name in ("max_epochs", "window"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a whole number above 0, got {value!r}")
        stop_rule(self.stopping)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
