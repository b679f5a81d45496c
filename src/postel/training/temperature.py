"""Temperature scaling: the one number that makes a model's confidence fit its accuracy on some nodes.

Soft labels make a model less sure of itself and so raise its plain loss, whatever they do to its ranking of
classes. After scaling, losses of models that were trained on different labels can be compared.
"""

from __future__ import annotations

import torch
from torch import Tensor

from postel.errors import InputError

#: The smallest and the largest temperature that is ever fitted.
BOUNDS = (0.01, 100.0)

_STEPS = 200
_PRECISION = 1e-12


def fit_temperature(logits: Tensor, classes: Tensor) -> float:
    """Return the temperature that minimizes the mean loss of ``logits / temperature``.

    The loss is convex in the inverse temperature, so Newton's method inside a shrinking bracket finds the one
    minimum; where there is none (every node right, or no logit tells anything) the answer is a bound or 1.

    Args:
        logits: Scores of ``M`` nodes, float [M, K].
        classes: The classes of these nodes, integers [M].

    Returns:
        A number within :data:`BOUNDS`; below 1 the model was not sure enough of itself, above 1 too sure.

    Raises:
        InputError: If there is no node, or a logit is not finite.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
        >>> round(fit_temperature(logits, torch.tensor([0, 0, 1, 1])), 4)
        1.8205
    """
    scores, own = _checked(logits, classes)
    middle = scores.mean(1, keepdim=True)
    largest = (scores - middle).abs().max().item()
    if largest == 0.0:
        return 1.0
    # In the scale of the logits, so that the stop rule means the same for tiny and for huge ones.
    scores, own = (scores - middle) / largest, (own - middle.squeeze(1)) / largest
    low, high = largest / BOUNDS[1], largest / BOUNDS[0]
    if _slope(scores, own, high)[0] <= 0:
        return BOUNDS[0]
    if _slope(scores, own, low)[0] >= 0:
        return BOUNDS[1]
    inverse = min(max(largest, low), high)
    for _ in range(_STEPS):
        slope, curvature = _slope(scores, own, inverse)
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0 else low
        if not low < step < high:
            step = (low * high) ** 0.5
        if abs(step - inverse) <= _PRECISION * inverse:
            break
        inverse = step
    return min(max(largest / step, BOUNDS[0]), BOUNDS[1])


def scaled_loss(logits: Tensor, classes: Tensor, temperature: float) -> float:
    """Return the mean negative log-likelihood of ``classes`` under ``logits / temperature``, in float64.

    Args:
        logits: Scores of ``M`` nodes, float [M, K].
        classes: The classes of these nodes, integers [M].
        temperature: A number above 0, for instance from :func:`fit_temperature`.

    Returns:
        The loss.

    Raises:
        InputError: If there is no node, a logit is not finite, or the temperature is not above 0.

    Example:
        >>> round(scaled_loss(torch.tensor([[3.0, 0.0]]), torch.tensor([1]), temperature=1e9), 4)
        0.6931
    """
    if not temperature > 0:
        raise InputError(f"a temperature must be above 0, got {temperature}")
    scores, own = _checked(logits, classes)
    return (torch.logsumexp(scores / temperature, 1) - own / temperature).mean().item()


def _checked(logits: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """The logits in float64 on the CPU, and those of each node's own class."""
    if logits.shape[0] == 0:
        raise InputError("a temperature needs at least one node with a known class, got none")
    scores = logits.detach().to("cpu", torch.float64)
    if not bool(torch.isfinite(scores).all()):
        raise InputError("a temperature needs finite logits, got some that are infinite or not a number")
    return scores, scores.gather(1, classes.to("cpu", torch.int64).unsqueeze(1)).squeeze(1)


def _slope(scores: Tensor, own: Tensor, inverse: float) -> tuple[float, float]:
    """First and second derivative of the mean loss by the inverse temperature."""
    p = torch.softmax(scores * inverse, 1)
    mean = (p * scores).sum(1)
    return (mean - own).mean().item(), (p * (scores - mean.unsqueeze(1)).square()).sum(1).mean().item()
