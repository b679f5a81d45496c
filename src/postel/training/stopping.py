"""When to stop training: pure functions of the validation losses so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from postel.errors import InputError
from postel.registry import STOP_RULES


def window_mean(losses: Sequence[float], window: int) -> bool:
    """Say whether the last loss exceeds the mean of the ``window`` before it, as the field's code has it.

    Counting epochs from 0, the rule is silent until epoch ``window`` + 1.

    Args:
        losses: The validation losses so far.
        window: Number of losses to look back on.

    Returns:
        Whether to stop.

    Example:
        >>> window_mean([3.0, 2.0, 1.0, 1.6], window=2), window_mean([3.0, 2.0, 1.0, 1.4], window=2)
        (True, False)
    """
    if len(losses) <= window + 1:
        return False
    return losses[-1] > sum(losses[-window - 1 : -1]) / window


def patience(losses: Sequence[float], window: int) -> bool:
    """Say whether the last ``window`` losses brought no new minimum, as the paper's text has it.

    Args:
        losses: The validation losses so far.
        window: Number of losses to look back on.

    Returns:
        Whether to stop.

    Example:
        >>> patience([3.0, 1.0, 2.0, 1.0], window=2), patience([3.0, 2.0, 1.0, 2.0], window=2)
        (True, False)
    """
    if len(losses) <= window:
        return False
    return min(losses[-window:]) >= min(losses[:-window])


def stop_rule(name: str) -> Callable[[Sequence[float], int], bool]:
    """Return a stop rule.

    Args:
        name: Its name, one of ``STOP_RULES``.

    Returns:
        A function of the losses so far and the window.

    Raises:
        InputError: If there is no such rule.

    Example:
        >>> stop_rule("patience").__name__
        'patience'
    """
    if name not in STOP_RULES:
        raise InputError(f"unknown stopping rule {name!r}; choose one of {', '.join(STOP_RULES)}")
    return window_mean if name == "window-mean" else patience
