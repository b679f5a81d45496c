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
    """What the algorithm needs to know of a trained model."""

    @property
    def val_loss(self) -> float:
        """Its lowest validation loss."""

    @property
    def predictions(self) -> Tensor:
        """The most probable class of every node [N]."""


F = TypeVar("F", bound=Fitted)


@dataclass(frozen=True)
class Judgement:
    """How good a model is on validation nodes.

    Attributes:
        score: What rounds are ranked by: lower is better, the first number that differs decides.
        wrong: The share of validation nodes that it gets wrong, if no round may have a larger one than round 0.
        temperature: The temperature that fits its confidence to validation nodes, if it was fitted.
        scaled_loss: Its validation loss after that scaling.
    """

    score: tuple[float, ...]
    wrong: float = 0.0
    temperature: float | None = None
    scaled_loss: float | None = None


def by_loss(outcome: Fitted) -> Judgement:
    """Rank a model by its validation loss, as the paper does.

    Args:
        outcome: A trained model.

    Returns:
        Its judgement.
    """
    return Judgement((outcome.val_loss,))


def most_probable(known: KnownLabels, outcome: Fitted, judgement: Judgement) -> KnownLabels:
    """Label all other nodes with the model's most probable classes, as the paper does.

    Args:
        known: The training labels.
        outcome: The best model so far.
        judgement: How good it is.

    Returns:
        The labels of the next round.
    """
    hidden = torch.ones(known.num_nodes, dtype=torch.bool, device=known.index.device)
    hidden[known.index] = False
    index = hidden.nonzero().view(-1)
    return known.with_pseudo(index, outcome.predictions.to(index.device)[index])


@dataclass(frozen=True)
class Round(Generic[F]):
    """One round: a training and the labels that it had.

    Attributes:
        number: The number of the round, from 0.
        known: The labels it was trained with, pseudo-labels included.
        outcome: The trained model.
        improved: Whether the model was better than those of all rounds before.
        agreement: The share of its pseudo-labels that are right, by the name of each set whose truth was given;
            it is only reported.
        judgement: How good the model is on validation nodes.
    """

    number: int
    known: KnownLabels
    outcome: F
    improved: bool
    agreement: dict[str, float]
    judgement: Judgement


@dataclass(frozen=True)
class PseudoLabelling(Generic[F]):
    """The rounds of one fit.

    Attributes:
        rounds: All rounds in order; round 0 is the training without pseudo-labels, or on one-hot labels.
    """

    rounds: list[Round[F]]

    @property
    def best(self) -> Round[F]:
        """The last round that improved: the best of all."""
        return next(entry for entry in reversed(self.rounds) if entry.improved)

    @property
    def improved_rounds(self) -> int:
        """Number of rounds after the first one that were better than all before; the paper reports this count."""
        return sum(entry.improved for entry in self.rounds) - 1

    @property
    def trainings(self) -> int:
        """Number of models trained, the first one and a last one without improvement included."""
        return len(self.rounds)


def iterate_pseudo_labels(
    fit_once: Callable[[KnownLabels, int], F],
    known: KnownLabels,
    rounds: bool | int = True,
    truth: Mapping[str, tuple[Tensor, Tensor]] | None = None,
    *,
    judge: Callable[[F], Judgement] = by_loss,
    relabel: Callable[[KnownLabels, F, Judgement], KnownLabels] = most_probable,
) -> PseudoLabelling[F]:
    """Train, label all other nodes with the best model so far, and train again, while that makes models better.

    Args:
        fit_once: ``fit_once(known, number)`` trains from fresh weights on the labels in ``known``.
        known: The training labels.
        rounds: True for as long as models get better, a number for at most that many rounds with pseudo-labels,
            False for none.
        truth: Node ids and their classes by the name of a set; agreement with it is reported and never used.
        judge: Judges models; a round has to be strictly better than the best before it, and no more often wrong
            than round 0.
        relabel: Makes the labels of the next round from the best model.

    Returns:
        All rounds, in order.

    Raises:
        InputError: If ``rounds`` is none of True, False and a number.

    Example:
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
    outcome = fit_once(known, 0)
    best = judge(outcome)
    done = [Round(0, known, outcome, True, {}, best)]
    while limit is None or len(done) <= limit:
        predictions = outcome.predictions.to(known.index.device)
        agreement = {name: _share(predictions, *pair) for name, pair in (truth or {}).items()}
        labels = relabel(known, outcome, best)
        candidate = fit_once(labels, len(done))
        judgement = judge(candidate)
        improved = judgement.score < best.score and judgement.wrong <= done[0].judgement.wrong
        done.append(Round(len(done), labels, candidate, improved, agreement, judgement))
        if not improved:
            break
        outcome, best = candidate, judgement
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
