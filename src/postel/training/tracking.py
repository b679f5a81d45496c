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
    """Values of every epoch: what was minimised, and hard-label loss and accuracy of each watched set."""

    objective: list[float] = field(default_factory=list)
    loss: dict[str, list[float]] = field(default_factory=dict)
    accuracy: dict[str, list[float]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The same as plain lists, for JSON."""
        return {"objective": self.objective, "loss": self.loss, "accuracy": self.accuracy}


@dataclass(frozen=True)
class TrainingOutcome:
    """The backbone with its best weights, its evaluation-mode logits [N, K], and how it got there.

    ``best_epoch`` counts from 1 and is the first with the lowest validation loss.
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
        """The most probable class of every node [N]."""
        return self.logits.argmax(1)


class Tracker:
    """Follows one run; only the validation loss decides about the kept weights and the stop."""

    def __init__(self, backbone: Backbone, watch: Watch, settings: Settings) -> None:
        if VALIDATION not in watch.names:
            raise InputError(f"a set called {VALIDATION!r} is needed to choose the epoch, got {watch.names}")
        self.backbone = backbone
        self.watch = watch
        self.settings = settings
        self.curves = Curves([], {name: [] for name in watch.names}, {name: [] for name in watch.names})
        self._started = time.perf_counter()
        self._stop = stop_rule(settings.stopping)
        # Every tensor that a forward may change, so that running statistics are kept with the weights.
        self._live = [*backbone.parameters(), *backbone.buffers()]
        self._kept = [tensor.detach().clone() for tensor in self._live]
        self._best: tuple[float, int, Tensor | None] = (math.inf, 0, None)

    def record(self, objective: float, logits: Tensor) -> bool:
        """Whether to stop after this epoch, whose evaluation-mode logits [N, K] are given."""
        losses, accuracies = self.watch(logits)
        self.curves.objective.append(objective)
        for name in self.watch.names:
            self.curves.loss[name].append(losses[name])
            self.curves.accuracy[name].append(accuracies[name])
        loss, history = losses[VALIDATION], self.curves.loss[VALIDATION]
        if loss < self._best[0]:
            self._best = (loss, len(history), logits)
            with torch.no_grad():
                torch._foreach_copy_(self._kept, self._live)
        return not math.isfinite(loss) or self._stop(history, self.settings.window)

    def outcome(self) -> TrainingOutcome:
        """The run's outcome; the backbone gets its best weights back."""
        loss, epoch, logits = self._best
        history = self.curves.loss[VALIDATION]
        if logits is None:
            raise InputError(
                f"the validation loss is {history[-1]} after the first step; lower lr or check data.x"
            )
        with torch.no_grad():
            torch._foreach_copy_(self._live, self._kept)
        self.backbone.switch(False)
        seconds = time.perf_counter() - self._started
        return TrainingOutcome(self.backbone, logits, loss, epoch, len(history), seconds, self.curves)
