"""The paper's main figure: one node of a toy graph relabelled step by step, before and after pseudo-labels.

The figure's own numbers are in no text, so the graph is ours: ten nodes in two classes that avoid each other, of
which seven are labelled.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from postel.labels import KnownLabels
from postel.posterior import add_uniform_noise, mix, posterior
from postel.statistics import class_counts, conditional, count_edges, prior

TARGET = 0
_EDGES = [
    (0, 3),
    (0, 4),
    (0, 5),
    (0, 7),
    (1, 4),
    (1, 6),
    (2, 3),
    (2, 7),
    (2, 9),
    (3, 4),
    (5, 8),
    (6, 8),
    (7, 9),
    (8, 9),
]
_CLASSES = [0, 0, 0, 1, 1, 1, 1, 1, 0, 0]
_TRAIN = [0, 1, 2, 3, 4, 7, 9]


@dataclass(frozen=True, eq=False)
class Step:
    """The method at one node: everything that is counted, and everything that is made of the counts.

    Args:
        class_counts: Labelled nodes of each class, [K].
        pair_counts: Entries by the classes of center and neighbor, [K, K].
        prior: Share of each class, [K].
        conditional: P(neighbor's class | class), [K, K].
        histogram: The node's labelled neighbors by class, [K].
        likelihood: Probability of those neighbors under each class, [K].
        posterior: P(class | neighbors), [K].
        noisy: The posterior with uniform noise, [K].
        soft_label: The noisy posterior mixed with the one-hot label, [K].
    """

    class_counts: Tensor
    pair_counts: Tensor
    prior: Tensor
    conditional: Tensor
    histogram: Tensor
    likelihood: Tensor
    posterior: Tensor
    noisy: Tensor
    soft_label: Tensor


def toy_graph() -> Data:
    """Make the toy graph.

    Returns:
        A ``Data`` with ``edge_index`` (both directions), ``y`` and ``train_mask``.

    Example:
        >>> toy_graph().num_nodes
        10
    """
    one_way = torch.tensor(_EDGES).T
    train_mask = torch.zeros(len(_CLASSES), dtype=torch.bool)
    train_mask[_TRAIN] = True
    return Data(
        edge_index=torch.cat([one_way, one_way.flip(0)], dim=1),
        y=torch.tensor(_CLASSES),
        train_mask=train_mask,
        num_nodes=len(_CLASSES),
    )


def work_through(alpha: float = 0.8, beta: float = 0.4, *, pseudo_labels: bool = False) -> Step:
    """Work through the steps from counts to the soft label of the toy graph's target node (Eq. 1 to 4).

    Args:
        alpha: Weight of the noisy posterior against the one-hot label.
        beta: Weight of the uniform noise.
        pseudo_labels: Whether nodes that are not in training carry the class that a perfect model would give.

    Returns:
        Every number on the way.

    Example:
        >>> step = work_through()
        >>> step.histogram.tolist(), step.pair_counts.tolist()
        ([0, 3], [[2, 7], [7, 2]])
        >>> step.posterior
        tensor([0.9828, 0.0172], dtype=torch.float64)
        >>> work_through(pseudo_labels=True).histogram.tolist()
        [0, 4]
    """
    data = toy_graph()
    known = KnownLabels.from_mask(data.y, data.train_mask)
    if pseudo_labels:
        others = (~data.train_mask).nonzero().view(-1)
        known = known.with_pseudo(others, data.y[others])
    target = torch.tensor([TARGET])
    counts = count_edges(data.edge_index, known, rows=target)
    shares, chances = prior(class_counts(known)), conditional(counts.pairs)
    row = posterior(counts.histograms, shares, chances)
    noisy = add_uniform_noise(row, beta)
    return Step(
        class_counts=class_counts(known),
        pair_counts=counts.pairs,
        prior=shares,
        conditional=chances,
        histogram=counts.histograms[0],
        likelihood=chances.pow(counts.histograms).prod(dim=1),
        posterior=row[0],
        noisy=noisy[0],
        soft_label=mix(noisy, data.y[target], alpha)[0],
    )
