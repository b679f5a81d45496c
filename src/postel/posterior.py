"""Bayes' rule over a node's class given its neighbors' classes, and the soft label made of it.

All of it is float64 and in log space, one row at a time, so that a hub with hundreds of thousands of neighbors
is as exact as a leaf.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

# Stands for log 0 in sums: a finite number, so that 0 neighbors of an impossible class give 0 and not NaN, yet
# so low that a single one puts the class out.
_LOG_ZERO = -1e300
_OUT = -1e200


def log_joint(histograms: Tensor, prior: Tensor, conditional: Tensor) -> Tensor:
    """Compute the logarithm of prior times likelihood (Eq. 2: the product over neighbors is a sum here).

    Args:
        histograms: Labelled neighbors by class, [R, K].
        prior: The prior [K], or one per row, [R, K].
        conditional: P(neighbor's class | class) [K, K], or one per row, [R, K, K].

    Returns:
        One row per node, float64 [R, K]; -inf for a class that the prior or a neighbor rules out.

    Example:
        >>> prior, conditional = torch.tensor([0.5, 0.5]), torch.tensor([[0.5, 0.5], [0.0, 1.0]])
        >>> log_joint(torch.tensor([[2, 0]]), prior, conditional).exp()
        tensor([[0.1250, 0.0000]], dtype=torch.float64)
    """
    logs = conditional.to(torch.float64).log().clamp_(min=_LOG_ZERO)
    counts = histograms.to(torch.float64)
    sums = counts @ logs.T if logs.dim() == 2 else torch.einsum("rm,rkm->rk", counts, logs)
    if bool((logs == _LOG_ZERO).any()):
        sums.masked_fill_(sums < _OUT, -torch.inf)
    return sums.add_(prior.to(torch.float64).log())


def posterior(histograms: Tensor, prior: Tensor, conditional: Tensor) -> Tensor:
    """Compute the posterior P(class k | neighbors' classes) of each node (Eq. 1).

    A row without labelled neighbors is the prior, and so is a row for which every class has probability 0.

    Args:
        histograms: Labelled neighbors by class, [R, K].
        prior: The prior [K], or one per row, [R, K].
        conditional: P(neighbor's class | class) [K, K], or one per row, [R, K, K].

    Returns:
        One distribution per node, float64 [R, K].

    Example:
        >>> prior = torch.tensor([0.5, 0.5])
        >>> heterophilic = torch.tensor([[0.2, 0.8], [0.8, 0.2]])
        >>> posterior(torch.tensor([[0, 1], [0, 0], [200_000, 0]]), prior, heterophilic)
        tensor([[0.8000, 0.2000],
                [0.5000, 0.5000],
                [0.0000, 1.0000]], dtype=torch.float64)
    """
    weights = log_joint(histograms, prior, conditional)
    best = weights.amax(dim=1, keepdim=True)
    impossible = torch.isneginf(best)
    some_impossible = bool(impossible.any())
    if some_impossible:
        best = best.masked_fill(impossible, 0.0)
    weights.sub_(best).exp_()
    weights.div_(weights.sum(dim=1, keepdim=True))
    return torch.where(impossible, prior.to(torch.float64), weights) if some_impossible else weights


def without_evidence(histograms: Tensor, prior: Tensor, conditional: Tensor) -> Tensor:
    """Find the rows that fall back to the prior: no labelled neighbor, or none that any class allows.

    Args:
        histograms: Labelled neighbors by class, [R, K].
        prior: The prior [K], or one per row, [R, K].
        conditional: P(neighbor's class | class) [K, K], or one per row, [R, K, K].

    Returns:
        True for those rows, bool [R].

    Example:
        >>> prior, conditional = torch.tensor([0.5, 0.5]), torch.full((2, 2), 0.5)
        >>> without_evidence(torch.tensor([[0, 0], [1, 0]]), prior, conditional).tolist()
        [True, False]
    """
    best = log_joint(histograms, prior, conditional).amax(dim=1)
    return (histograms.sum(dim=1) == 0) | torch.isneginf(best)


def add_uniform_noise(distribution: Tensor, beta: float) -> Tensor:
    """Add uniform noise and rescale to sum to 1: ``(P + beta / K) / (1 + beta)`` (under Eq. 4).

    Args:
        distribution: One distribution per row, [R, K].
        beta: Weight of the noise.

    Returns:
        The noisy distributions, [R, K].

    Example:
        >>> add_uniform_noise(torch.tensor([[1.0, 0.0]]), 1.0).tolist()
        [[0.75, 0.25]]
    """
    return (distribution + beta / distribution.size(-1)).div_(1 + beta)


def add_off_target_noise(distribution: Tensor, beta: float, classes: Tensor) -> Tensor:
    """Add noise to every class but the node's own, as the published code does: ``(1 - beta) P + beta / (K - 1)``.

    Args:
        distribution: One distribution per row, [R, K].
        beta: Weight of the noise, in [0, 1].
        classes: The own class of each row, int64 [R].

    Returns:
        The noisy distributions, [R, K].

    Example:
        >>> add_off_target_noise(torch.tensor([[1.0, 0.0, 0.0]]), 0.5, torch.tensor([0])).tolist()
        [[0.5, 0.25, 0.25]]
    """
    k = distribution.size(-1)
    return (1 - beta) * distribution + beta / (k - 1) * (1 - one_hot(classes, k).to(distribution.dtype))


def mix(noisy: Tensor, classes: Tensor, alpha: float) -> Tensor:
    """Mix distributions with one-hot labels: ``alpha * noisy + (1 - alpha) * one_hot`` (Eq. 4).

    Args:
        noisy: One distribution per row, [R, K].
        classes: The own class of each row, int64 [R].
        alpha: Weight of the distributions, in [0, 1].

    Returns:
        The soft labels, [R, K].

    Example:
        >>> mix(torch.tensor([[0.5, 0.5]]), torch.tensor([0]), 0.5).tolist()
        [[0.75, 0.25]]
    """
    return alpha * noisy + (1 - alpha) * one_hot(classes, noisy.size(-1)).to(noisy.dtype)
