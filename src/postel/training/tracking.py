"""What a run keeps of its epochs: the curves, the weights at the lowest validation loss, and when to stop."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from postel.backbones import Backbone
from postel.errors import InputError
from postel.training.metrics import Watch
from postel.training.settings import Settings
from postel.training.stopping import stop_rule

VALIDATION = "val"


@dataclass
class Curves:
    """Values of every epoch.

    Attributes:
        objective: What was minimized.
        loss: The hard-label loss of each watched set, by its name.
        accuracy: The accuracy of each watched set, by its name.
    """

    objective: list[float] = field(default_factory=list)
    loss: dict[str, list[float]] = field(default_factory=dict)
    accuracy: dict[str, list[float]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain lists, for JSON."""
        return {"objective": self.objective, "loss": self.loss, "accuracy": self.accuracy}


@dataclass(frozen=True)
class TrainingOutcome:
    """What a training run returns.

    Attributes:
        backbone: The network with its best weights.
        logits: Its evaluation-mode logits [N, K].
        val_loss: Its validation loss, the lowest of all epochs.
        best_epoch: The first epoch with that loss, counted from 1.
        epochs: Number of epochs run.
        seconds: How long they took.
        curves: Values of every epoch.
    """

    backbone: Backbone
    logits: Tensor
    val_loss: float
    best_epoch: int
    epochs: int
    seconds: float
    curves: Curves

    @property
    def predictions(self) -> Tensor:
        """Return the most probable class of every node [N]."""
        return self.logits.argmax(1)


class Tracker:
    """Follows one run; only the validation loss decides about the kept weights and the stop.

    Args:
        backbone: The network in training.
        watch: The sets to evaluate, one of them called "val".
        settings: The stop rule and its window.

    Raises:
        InputError: If no set is called "val".
    """

    def __init__(self, backbone: Backbone, watch: Watch, settings: Settings) -> None:
        if VALIDATION not in watch.names:
            raise InputError(f"a set called {VALIDATION!r} is needed to choose the epoch, got {watch.names}")
        self.backbone = backbone
        self.watch = watch
        self.settings = settings
        self._started = time.perf_counter()
        self._stop = stop_rule(settings.stopping)
        self._place = watch.names.index(VALIDATION)
        self._objective: list[float] = []
        self._values: list[list[list[float]]] = []
        self._history: list[float] = []
        # Every tensor that a forward may change, so that running statistics are kept with the weights.
        self._live = [*backbone.parameters(), *backbone.buffers()]
        self._kept = [tensor.detach().clone() for tensor in self._live]
        self._best: tuple[float, int, Tensor | None] = (math.inf, 0, None)

    def record(self, objective: float, logits: Tensor) -> bool:
        """Take note of one epoch.

        Args:
            objective: What was minimized.
            logits: The evaluation-mode logits [N, K] after the epoch's step.

        Returns:
            Whether to stop after this epoch.
        """
        values = self.watch.values(logits)
        loss = values[0][self._place]
        self._objective.append(objective)
        self._values.append(values)
        self._history.append(loss)
        if loss < self._best[0]:
            self._best = (loss, len(self._history), logits)
            self._keep()
        return not math.isfinite(loss) or self._stop(self._history, self.settings.window)

    def _keep(self) -> None:
        if torch.is_grad_enabled():  # the loop has switched it off for all epochs; doing so costs time
            with torch.no_grad():
                self._keep()
            return
        torch._foreach_copy_(self._kept, self._live)

    def outcome(self) -> TrainingOutcome:
        """Give the backbone its best weights back and return the run's outcome.

        Returns:
            The outcome.

        Raises:
            InputError: If no epoch had a finite validation loss.
        """
        loss, epoch, logits = self._best
        if logits is None:
            raise InputError(
                f"the validation loss is {self._history[-1]} after the first step; lower lr or check data.x"
            )
        with torch.no_grad():
            torch._foreach_copy_(self._live, self._kept)
        self.backbone.switch(False)
        seconds = time.perf_counter() - self._started
        # A copy is an ordinary tensor even where the epochs ran in inference mode.
        logits, epochs = logits.clone(), len(self._history)
        return TrainingOutcome(self.backbone, logits, loss, epoch, epochs, seconds, self._curves())

    def _curves(self) -> Curves:
        def by_name(kind: int) -> dict[str, list[float]]:
            columns = zip(*(values[kind] for values in self._values), strict=True)
            return {name: list(column) for name, column in zip(self.watch.names, columns, strict=True)}

        return Curves(self._objective, by_name(0), by_name(1))
