"""How good the logits are on a set of nodes: the numbers that are reported, and the cheap ones of every epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from postel.errors import InputError
from postel.training.ranking import ranking_scores

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class Scores:
    """Metrics over one set of nodes, all in [0, 1] but ``nll``.

    Attributes:
        accuracy: The share of nodes whose class is predicted right.
        macro_f1: The mean of F1 over the classes present.
        balanced_accuracy: The mean of recall over the classes present.
        nll: The mean negative log-likelihood.
        ece: The expected calibration error over 15 bins.
        majority: The share of the most frequent class: the accuracy of a constant prediction, which a model has to
            beat.
        count: Number of nodes.
        roc_auc: Area under the ROC curve: of class 1 where there are two classes, else the mean over the classes
            present, each against all others. None where all nodes are of one class, in results of version 0.1, and
            for more than 20 million probabilities.
        average_precision: Average precision, of the same classes.
    """

    accuracy: float
    macro_f1: float
    balanced_accuracy: float
    nll: float
    ece: float
    majority: float
    count: int
    roc_auc: float | None = None
    average_precision: float | None = None

    def as_dict(self) -> dict[str, float]:
        """Return the numbers that there are by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


def evaluate(logits: Tensor, index: Tensor, classes: Tensor) -> Scores:
    """Score logits on a set of nodes.

    Args:
        logits: Logits [N, K] of all nodes.
        index: The nodes to score [M].
        classes: Their classes [M].

    Returns:
        The scores.

    Raises:
        InputError: If there is no node to score.

    Example:
        >>> scores = evaluate(torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1]), torch.tensor([0, 1]))
        >>> scores.accuracy, scores.balanced_accuracy, scores.majority
        (0.5, 0.5, 0.5)
    """
    if index.numel() == 0:
        raise InputError("there is no node to score: the mask selects none")
    num_classes = logits.shape[1]
    rows = logits.detach().index_select(0, index).to("cpu", torch.float64)
    classes = classes.cpu()
    log_p = torch.log_softmax(rows, 1)
    confidence, predicted = log_p.exp().max(1)
    hits = predicted == classes
    present = torch.bincount(classes, minlength=num_classes).double()
    named = torch.bincount(predicted, minlength=num_classes).double()
    right = torch.bincount(classes[hits], minlength=num_classes).double()
    kept = present > 0
    roc_auc, average_precision = ranking_scores(log_p.exp(), classes)
    return Scores(
        accuracy=hits.double().mean().item(),
        macro_f1=(2 * right / (present + named))[kept].mean().item(),
        balanced_accuracy=(right / present)[kept].mean().item(),
        nll=-log_p.gather(1, classes.unsqueeze(1)).mean().item(),
        ece=calibration_error(confidence, hits),
        majority=int(present.max()) / index.numel(),
        count=index.numel(),
        roc_auc=roc_auc,
        average_precision=average_precision,
    )


def calibration_error(confidence: Tensor, hits: Tensor) -> float:
    """Return the expected calibration error of some predictions.

    The bins are 15 of equal width, closed on the left, and full certainty is one of its own, as in torchmetrics;
    that package is what the tests compare with, for importing it takes longer than a small run.

    Args:
        confidence: The probability of each predicted class [M].
        hits: Which predictions are right [M].

    Returns:
        The error, in [0, 1].

    Example:
        >>> calibration_error(torch.tensor([0.75, 0.75]), torch.tensor([True, False]))
        0.25
    """
    edges = torch.linspace(0, 1, CALIBRATION_BINS + 1)
    bins = torch.bucketize(confidence.float(), edges, right=True)
    gaps = torch.zeros(CALIBRATION_BINS + 2, dtype=torch.float64)
    gaps.index_add_(0, bins, hits.double() - confidence.double())
    return gaps.abs().sum().item() / len(confidence)


class Watch:
    """Mean hard-label loss and accuracy of several node sets at once, cheap enough for every epoch.

    A node counts as right when no class scores above its own.

    Args:
        sets: Node ids [M] and their classes [M] by the set's name.
        num_nodes: Number of nodes N.

    Example:
        >>> watch = Watch({"val": (torch.tensor([1]), torch.tensor([0]))}, num_nodes=2)
        >>> losses, accuracies = watch(torch.tensor([[0.0, 0.0], [0.0, 0.0]]))
        >>> round(losses["val"], 4), accuracies["val"]
        (0.6931, 1.0)
    """

    def __init__(self, sets: Mapping[str, tuple[Tensor, Tensor]], num_nodes: int) -> None:
        self.names = list(sets)
        indices = [index for index, _ in sets.values()]
        self.index = torch.cat(indices)
        # Where the node's own class lies in logits that are stored classes first, [K, N].
        self.places = torch.cat([classes * num_nodes + index for index, classes in sets.values()])
        columns = [torch.full((i.numel(),), 1.0 / max(i.numel(), 1), dtype=torch.float64) for i in indices]
        self.weights = torch.block_diag(*(column.unsqueeze(1) for column in columns)).to(self.index.device)
        # Written anew in every epoch: the log-probability of each node's own class, and whether it is right.
        self._both = torch.empty((2, self.index.numel()), dtype=torch.float64, device=self.index.device)
        self._own, self._hits = self._both[0], self._both[1]

    def values(self, logits: Tensor) -> list[list[float]]:
        """Return the losses and the accuracies, each in the order of ``names``.

        Args:
            logits: Logits [N, K].

        Returns:
            A list of losses and a list of accuracies.
        """
        log_p = torch.log_softmax(logits.detach().t().contiguous(), 0)
        own = log_p.view(-1).index_select(0, self.places)
        self._own.copy_(own)
        torch.ge(own, log_p.amax(0).index_select(0, self.index), out=self._hits)
        losses, accuracies = torch.mm(self._both, self.weights).tolist()
        return [[-loss for loss in losses], accuracies]

    def __call__(self, logits: Tensor) -> tuple[dict[str, float], dict[str, float]]:
        """Return losses and accuracies by set name.

        Args:
            logits: Logits [N, K].

        Returns:
            The losses by name, and the accuracies by name.
        """
        losses, accuracies = self.values(logits)
        return dict(zip(self.names, losses, strict=True)), dict(zip(self.names, accuracies, strict=True))
