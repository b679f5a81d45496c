"""How a run is optimized and when it stops."""

from __future__ import annotations

from dataclasses import dataclass

from postel.checks import check_count, check_number, check_positive
from postel.training.stopping import stop_rule


@dataclass(frozen=True)
class Settings:
    """How one training is optimized and when it stops; the values are checked when the object is made.

    Args:
        lr: Adam's learning rate.
        weight_decay: Adam's weight decay.
        max_epochs: Number of epochs at most.
        stopping: The stop rule, one of ``STOP_RULES`` of ``postel/registry.py``.
        window: Number of epochs that the stop rule looks back on.

    Raises:
        InputError: If a value is out of its range.

    Example:
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
