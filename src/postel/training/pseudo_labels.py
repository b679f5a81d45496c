"""Iterative pseudo-labelling (the paper's Algorithm 2), over any function that trains one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from postel.errors import InputError
from postel.labels import KnownLabels


class Fitted(Protocol):
    """What the algorithm needs of a trained model."""

    @property
    def val_loss(self) -> float:
        """Its lowest validation loss."""

    @property
    def predictions(self) -> Tensor:
        """The most probable class of every node [N]."""


F = TypeVar("F", bound=Fitted)


@dataclass(frozen=True)
class Round(Generic[F]):
    """One training: the labels it had, what came out, and whether it was better than all before.

    ``agreement`` is the share of its pseudo-labels that are right, for each set whose truth was given; it is only
    reported.
    """

    number: int
    known: KnownLabels
    outcome: F
    improved: bool
    agreement: dict[str, float]


@dataclass(frozen=True)
class PseudoLabelling(Generic[F]):
    """All rounds; round 0 is the training without pseudo-labels."""

    rounds: list[Round[F]]

    @property
    def best(self) -> Round[F]:
        """The last round that improved: the one with the lowest validation loss."""
        return next(entry for entry in reversed(self.rounds) if entry.improved)

    @property
    def improved_rounds(self) -> int:
        """How many rounds with pseudo-labels lowered the validation loss; the count that the paper reports."""
        return sum(entry.improved for entry in self.rounds) - 1

    @property
    def trainings(self) -> int:
        """How many models were trained, the first one and a failing last one included."""
        return len(self.rounds)


def iterate_pseudo_labels(
    fit_once: Callable[[KnownLabels, int], F],
    known: KnownLabels,
    rounds: bool | int = True,
    truth: Mapping[str, tuple[Tensor, Tensor]] | None = None,
) -> PseudoLabelling[F]:
    """The rounds of training, labelling all other nodes with the best model's classes, and training again.

    ``fit_once(known, number)`` trains from fresh weights on the labels in ``known``. It goes on while the lowest
    validation loss falls strictly: without limit if ``rounds`` is True, for at most that many rounds with
    pseudo-labels if it is a number, for none if it is False. ``truth`` maps a set's name to node ids and their
    classes; agreement with it is reported and never used.

    >>> class Model:
    ...     def __init__(self, loss):
    ...         self.val_loss, self.predictions = loss, torch.tensor([0, 1, 1])
    >>> losses = [3.0, 2.0, 2.5]
    >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=3)
    >>> run = iterate_pseudo_labels(lambda known, number: Model(losses[number]), known)
    >>> run.best.number, run.improved_rounds, run.trainings, run.best.known.dense().tolist()
    (1, 1, 3, [0, 1, 1])
    """
    limit = _limit(rounds)
    known = known.train_only()
    hidden = torch.ones(known.num_nodes, dtype=torch.bool, device=known.index.device)
    hidden[known.index] = False
    index = hidden.nonzero().view(-1)
    outcome = fit_once(known, 0)
    done = [Round(0, known, outcome, True, {})]
    while limit is None or len(done) <= limit:
        predictions = outcome.predictions.to(index.device)
        pseudo = known.with_pseudo(index, predictions[index])
        agreement = {name: _share(predictions, *pair) for name, pair in (truth or {}).items()}
        candidate = fit_once(pseudo, len(done))
        improved = candidate.val_loss < outcome.val_loss
        done.append(Round(len(done), pseudo, candidate, improved, agreement))
        if not improved:
            break
        outcome = candidate
    return PseudoLabelling(done)


def _share(predictions: Tensor, index: Tensor, classes: Tensor) -> float:
    return (predictions[index] == classes).double().mean().item()


def _limit(rounds: bool | int) -> int | None:
    if rounds is True:
        return None
    if rounds is False:
        return 0
    if not isinstance(rounds, int) or rounds < 0:
        raise InputError(f"pseudo_labels must be True, False or a number of rounds, got {rounds!r}")
    return rounds
