"""How a run is optimised and when it stops."""

from __future__ import annotations

from dataclasses import dataclass

from postel.checks import check_count, check_number, check_positive
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
        check_positive("lr", self.lr)
        check_number("weight_decay", self.weight_decay)
        check_count("max_epochs", self.max_epochs)
        check_count("window", self.window)
        stop_rule(self.stopping)
