"""What a fit reports: the metrics of the best model, and the history of every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from postel.checks import check_fields
from postel.training.metrics import Scores
from postel.training.tracking import Curves


@dataclass(frozen=True)
class Result:
    """The metrics of the best round on validation and test nodes, and what the fit took.

    Attributes:
        val: The scores on the validation nodes.
        test: The scores on the test nodes, or None without test nodes.
        val_loss: The lowest validation loss of the best round.
        best_epoch: The epoch of the best round at which that loss was reached, counted from 1.
        best_round: The number of the best round.
        improved_rounds: Number of rounds with pseudo-labels that were better than all before.
        trainings: Number of models trained, a teacher included.
        epochs: Number of epochs of all trainings together.
        seconds: How long all trainings took.
        val_loss_scaled: The validation loss after temperature scaling, by which models that were trained on
            different labels can be compared; None in results of version 0.1.
        one_class_val: Whether every validation node was given the same class; None in results of version 0.1.
    """

    val: Scores
    test: Scores | None
    val_loss: float
    best_epoch: int
    best_round: int
    improved_rounds: int
    trainings: int
    epochs: int
    seconds: float
    val_loss_scaled: float | None = None
    one_class_val: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain values, for JSON."""
        scores = {"val": self.val.as_dict(), "test": None if self.test is None else self.test.as_dict()}
        return {**self.__dict__, **scores}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Result:
        """Make a result from the plain values of :meth:`as_dict`.

        Args:
            values: The plain values.

        Returns:
            The result.

        Raises:
            InputError: If a value is of the wrong kind.
        """
        test = values["test"]
        for stored in (values["val"],) if test is None else (values["val"], test):
            check_fields(Scores, stored)
        scores = {"val": Scores(**values["val"]), "test": None if test is None else Scores(**test)}
        check_fields(cls, {**values, **scores})
        return cls(**{**values, **scores})


@dataclass(frozen=True)
class RoundHistory:
    """One training of a fit.

    Args:
        round: Its number; round 0 has no pseudo-labels, and one-hot labels where the method starts from these.
        val_loss: Its lowest validation loss.
        improved: Whether it was accepted: better than all rounds before by the method's rule.
        best_epoch: The epoch of the lowest validation loss, counted from 1.
        epochs: How many epochs it had.
        seconds: How long they took.
        curves: Losses and accuracies of every epoch.
        statistics: What the soft-label method estimated for this round, by name; empty if it estimates nothing.
        agreement: Share of its pseudo-labels that are right, by set of nodes; it is reported and never used.
        temperature: The temperature that fits its confidence to the validation nodes.
        val_loss_scaled: Its validation loss after scaling by that temperature.
    """

    round: int
    val_loss: float
    improved: bool
    best_epoch: int
    epochs: int
    seconds: float
    curves: Curves
    statistics: Mapping[str, Any]
    agreement: dict[str, float]
    temperature: float | None = None
    val_loss_scaled: float | None = None

    @property
    def conditional(self) -> Tensor | None:
        """The conditional [K, K] that the soft labels rest on, where the method has one."""
        return self.statistics.get("conditional")
