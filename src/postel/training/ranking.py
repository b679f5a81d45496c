"""How well probabilities rank nodes: ROC-AUC and average precision, for classes of very different sizes."""

from __future__ import annotations

import torch
from torch import Tensor

#: Above this many probabilities sorting them would take longer than all other metrics together by far.
LARGEST = 20_000_000


def ranking_scores(probabilities: Tensor, classes: Tensor) -> tuple[float | None, float | None]:
    """Compute ROC-AUC and average precision.

    With two classes they are those of class 1 against class 0. With more, they are means over the classes present,
    each against all others.

    Args:
        probabilities: One distribution per node, [M, K].
        classes: The true classes, int64 [M].

    Returns:
        ROC-AUC and average precision; None where they are not defined, as all nodes are of one class, or where
        there are more than 20 million probabilities.

    Example:
        >>> scores = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]], dtype=torch.float64)
        >>> ranking_scores(scores, torch.tensor([0, 0, 1, 1]))
        (0.75, 0.8333333333333333)
    """
    size, num_classes = probabilities.shape
    if probabilities.numel() > LARGEST:
        return None, None
    counts = torch.bincount(classes, minlength=num_classes)
    candidates = [1] if num_classes == 2 else range(num_classes)
    found = [
        binary_ranking(probabilities[:, number], classes == number)
        for number in candidates
        if 0 < int(counts[number]) < size
    ]
    if not found:
        return None, None
    areas, precisions = zip(*found, strict=True)
    return sum(areas) / len(areas), sum(precisions) / len(precisions)


def binary_ranking(scores: Tensor, positive: Tensor) -> tuple[float, float]:
    """Compute ROC-AUC and average precision of one score.

    Nodes of equal score are told apart by neither: they pass the threshold together.

    Args:
        scores: A higher one for nodes that are more likely positive, float [M].
        positive: Which nodes are, bool [M]; some are and some are not.

    Returns:
        The area under the ROC curve, and the mean precision over the recall.

    Example:
        >>> binary_ranking(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([False, False, True, True]))
        (0.875, 0.8333333333333333)
    """
    ordered, order = scores.sort(descending=True, stable=True)
    last = torch.cat([ordered[1:] != ordered[:-1], torch.ones(1, dtype=torch.bool)]).nonzero().view(-1)
    hits = positive[order].to(torch.float64).cumsum(0)[last]
    passed = (last + 1).to(torch.float64)
    wrong = passed - hits
    zero = torch.zeros(1, dtype=torch.float64)
    more_hits = hits - torch.cat([zero, hits[:-1]])
    more_wrong = wrong - torch.cat([zero, wrong[:-1]])
    # A step of nodes with equal scores runs straight from its first corner to its last.
    area = (more_wrong * (hits - more_hits / 2)).sum() / (hits[-1] * wrong[-1])
    precision = (more_hits / hits[-1] * (hits / passed)).sum()
    return area.item(), precision.item()
