"""How good the logits are on a set of nodes: the numbers that are reported, and the cheap ones of every epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from postel.errors import InputError, require_extra

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class Scores:
    """Metrics over one set of nodes, all in [0, 1] but ``nll``.

    ``majority`` is the share of the set's most frequent class: the accuracy of a constant prediction, which a
    model has to beat. ``macro_f1`` and ``balanced_accuracy`` are means of F1 and recall over the classes present;
    ``ece`` is the expected calibration error over 15 bins.
    """

    accuracy: float
    macro_f1: float
    balanced_accuracy: float
    nll: float
    ece: float
    majority: float
    count: int

    def as_dict(self) -> dict[str, float]:
        """The same numbers by name."""
        return asdict(self)


def evaluate(logits: Tensor, index: Tensor, classes: Tensor) -> Scores:
    """Scores of ``logits`` [N, K] at the nodes ``index`` [M] whose classes are ``classes`` [M].

    >>> scores = evaluate(torch.tensor([[2.0, 0.0], [2.0, 0.0]]), torch.tensor([0, 1]), torch.tensor([0, 1]))
    >>> scores.accuracy, scores.balanced_accuracy, scores.majority
    (0.5, 0.5, 0.5)
    """
    if index.numel() == 0:
        raise InputError("there is no node to score: the mask selects none")
    functional = require_extra("torchmetrics.functional.classification", "training")
    num_classes = logits.shape[1]
    rows = logits.detach().index_select(0, index).to("cpu", torch.float64)
    classes = classes.cpu()
    log_p = torch.log_softmax(rows, 1)
    hits = rows.argmax(1) == classes
    sizes = torch.bincount(classes, minlength=num_classes)
    recalls = torch.bincount(classes[hits], minlength=num_classes)[sizes > 0] / sizes[sizes > 0]
    f1 = functional.multiclass_f1_score(rows.argmax(1), classes, num_classes, average="none")[sizes > 0].mean()
    ece = functional.multiclass_calibration_error(log_p.exp(), classes, num_classes, n_bins=CALIBRATION_BINS)
    return Scores(
        accuracy=hits.double().mean().item(),
        macro_f1=float(f1),
        balanced_accuracy=recalls.double().mean().item(),
        nll=-log_p.gather(1, classes.unsqueeze(1)).mean().item(),
        ece=float(ece),
        majority=int(sizes.max()) / index.numel(),
        count=index.numel(),
    )


class Watch:
    """Mean hard-label loss and accuracy of several node sets at once, cheap enough for every epoch.

    A node counts as right when no class scores above its own.

    >>> watch = Watch({"val": (torch.tensor([1]), torch.tensor([0]))}, num_nodes=2)
    >>> losses, accuracies = watch(torch.tensor([[0.0, 0.0], [0.0, 0.0]]))
    >>> round(losses["val"], 4), accuracies["val"]
    (0.6931, 1.0)
    """

    def __init__(self, sets: Mapping[str, tuple[Tensor, Tensor]], num_nodes: int) -> None:
        """``sets`` maps a name to node ids [M] and their classes [M]."""
        self.names = list(sets)
        indices = [index for index, _ in sets.values()]
        self.index = torch.cat(indices)
        # Where the node's own class lies in logits that are stored classes first, [K, N].
        self.places = torch.cat([classes * num_nodes + index for index, classes in sets.values()])
        columns = [torch.full((i.numel(),), 1.0 / max(i.numel(), 1), dtype=torch.float64) for i in indices]
        self.weights = torch.block_diag(*(column.unsqueeze(1) for column in columns)).to(self.index.device)

    def __call__(self, logits: Tensor) -> tuple[dict[str, float], dict[str, float]]:
        """Losses and accuracies by set name, for logits [N, K]."""
        log_p = torch.log_softmax(logits.t().contiguous(), 0)
        own = log_p.view(-1).index_select(0, self.places)
        hits = own >= log_p.amax(0).index_select(0, self.index)
        losses, accuracies = (torch.stack([own, hits]).double() @ self.weights).tolist()
        return (
            {name: -loss for name, loss in zip(self.names, losses, strict=True)},
            dict(zip(self.names, accuracies, strict=True)),
        )
