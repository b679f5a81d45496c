"""The paper's toy comparison of SALS and PosteL: three target nodes in a homophilic and a heterophilic graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from postel.posterior import posterior
from postel.statistics import normalize_rows

#: Neighbors of class 0 and class 1 of the three targets: the first two show Lemma 3, the first and third Lemma 4.
NEIGHBORS = ((1, 2), (2, 1), (1, 3))


@dataclass(frozen=True, eq=False)
class SalsComparison:
    """Soft labels of the three targets before any mixing with one-hot labels.

    Args:
        neighbors: Neighbors of each target by class, [3, 2].
        sals: What SALS makes of them, [3, 2].
        posterior_homophilic: The posterior in the homophilic graph, [3, 2].
        posterior_heterophilic: The posterior in the heterophilic graph, [3, 2].
        homophily: Share of neighbors of the same class in the homophilic graph.
        heterophily: The same in the heterophilic graph.
    """

    neighbors: Tensor
    sals: Tensor
    posterior_homophilic: Tensor
    posterior_heterophilic: Tensor
    homophily: float
    heterophily: float


def compare_with_sals(homophily: float = 0.8, heterophily: float = 0.2) -> SalsComparison:
    """Compare what both methods make of the same neighbors, with balanced classes.

    SALS gives a node the average of its neighbors' labels, whatever the graph. The posterior agrees with it where
    like links to like, and turns round where like avoids like.

    Args:
        homophily: Share of neighbors of the same class in the homophilic graph.
        heterophily: The same in the heterophilic graph.

    Returns:
        The soft labels of three targets.

    Example:
        >>> comparison = compare_with_sals()
        >>> comparison.sals
        tensor([[0.3333, 0.6667],
                [0.6667, 0.3333],
                [0.2500, 0.7500]], dtype=torch.float64)
        >>> comparison.posterior_homophilic[:, 0]
        tensor([0.2000, 0.8000, 0.0588], dtype=torch.float64)
        >>> comparison.posterior_heterophilic[:, 0]
        tensor([0.8000, 0.2000, 0.9412], dtype=torch.float64)
    """
    neighbors = torch.tensor(NEIGHBORS)
    balanced = torch.full((2,), 0.5, dtype=torch.float64)

    def of(c: float) -> Tensor:
        conditional = torch.tensor([[c, 1 - c], [1 - c, c]], dtype=torch.float64)
        return posterior(neighbors, balanced, conditional)

    return SalsComparison(
        neighbors, normalize_rows(neighbors), of(homophily), of(heterophily), homophily, heterophily
    )
