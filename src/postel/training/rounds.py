"""How a soft-label method wants its rounds: what the first model learns from, who is better, what is evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from postel.labels import KnownLabels, empty_table
from postel.settings import Accept, EvidenceKind
from postel.smoothers.base import Smoother
from postel.training.pseudo_labels import Judgement, by_loss, most_probable
from postel.training.temperature import fit_temperature, scaled_loss
from postel.training.tracking import TrainingOutcome

Judge = Callable[[TrainingOutcome], Judgement]
Relabel = Callable[[KnownLabels, TrainingOutcome, Judgement], KnownLabels]


@dataclass(frozen=True)
class RoundPlan:
    """The rounds of one fit.

    Attributes:
        one_hot_first: Whether round 0 is the model trained on one-hot labels, against which others are measured.
        rounds: How many rounds follow it: True without limit, a number, or False for none.
        judge: What models are ranked by.
        relabel: What the best model says of other nodes.
    """

    one_hot_first: bool
    rounds: bool | int
    judge: Judge
    relabel: Relabel


def plan_rounds(smoother: Smoother, pseudo_labels: bool | int, validation: tuple[Tensor, Tensor]) -> RoundPlan:
    """Plan the rounds that a method wants.

    The paper's rule (``accept="loss"``) has a first round without pseudo-labels and compares plain validation
    losses. Every other rule has the model trained on one-hot labels as its round 0, and at least one round after
    it, without pseudo-labels if none are allowed.

    Args:
        smoother: The soft-label method.
        pseudo_labels: True, False or a number of rounds, as :class:`~postel.NodeClassifier` takes it.
        validation: Ids of the validation nodes and their classes; they choose, and enter no soft label.

    Returns:
        The plan.
    """
    evidence: EvidenceKind = smoother.evidence if smoother.uses_pseudo_labels and pseudo_labels else "none"
    relabel = {"soft": scaled_probabilities, "hard": most_probable, "none": _training_labels}[evidence]
    if smoother.accept == "loss":
        rounds = False if evidence == "none" else pseudo_labels
        return RoundPlan(False, rounds, _judge("loss", validation), relabel)
    # Without pseudo-labels a second round would have the labels of the first; if all are kept, none is the last.
    once = evidence == "none" or smoother.accept == "always"
    return RoundPlan(True, 1 if once else pseudo_labels, _judge(smoother.accept, validation), relabel)


def scaled_probabilities(known: KnownLabels, outcome: TrainingOutcome, judgement: Judgement) -> KnownLabels:
    """Take the model's probabilities, scaled by its temperature, as evidence about all other nodes.

    Args:
        known: The training labels.
        outcome: The best model so far.
        judgement: How good it is, with its temperature (1 if none was fitted).

    Returns:
        The labels of the next round.
    """
    logits = outcome.logits.detach().to(known.index.device)
    scaled = logits / (judgement.temperature or 1.0)
    probabilities = torch.softmax(scaled, dim=1, out=empty_table(scaled.size(0), scaled.size(1), scaled))
    return known.with_evidence(probabilities, copy=False)


def _training_labels(known: KnownLabels, outcome: TrainingOutcome, judgement: Judgement) -> KnownLabels:
    return known


def _judge(accept: Accept, validation: tuple[Tensor, Tensor]) -> Judge:
    index, classes = validation

    def judge(outcome: TrainingOutcome) -> Judgement:
        logits = outcome.logits[index]
        temperature = fit_temperature(logits, classes)
        loss = scaled_loss(logits, classes, temperature)
        wrong = (logits.argmax(1) != classes).double().mean().item()
        scores = {
            "loss": by_loss(outcome).score,
            "scaled": (loss,),
            "both": (loss,),
            "accuracy": (wrong, loss),
            # Ever lower: one after the other is kept.
            "always": (-float(next(order)),),
        }
        return Judgement(scores[accept], wrong if accept == "both" else 0.0, temperature, loss)

    order = iter(range(1 << 30))
    return judge
