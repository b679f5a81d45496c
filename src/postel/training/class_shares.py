"""Weights for models that are used where classes have other shares than among their training nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from postel.errors import InputError


def class_weights(known: Tensor, wanted: Tensor, num_classes: int) -> Tensor:
    """Return the shares of the classes among some labels over those among others, one added to every count.

    A model's probabilities times these weights are right for nodes with the wanted shares, if the model was right
    for the nodes that it was trained on. Scale its logits by :func:`~postel.training.fit_temperature` first: a
    model that is not sure of itself is moved too far.

    Args:
        known: Classes of the nodes that a model was trained on, integers [M].
        wanted: Classes of nodes with the shares that it should expect, such as validation nodes, integers [L].
        num_classes: Number of classes K.

    Returns:
        The weights, float64 [K].

    Raises:
        InputError: If a class is negative or no smaller than ``num_classes``.

    Example:
        >>> class_weights(torch.tensor([0, 1]), torch.tensor([0, 0, 0, 0]), 2)
        tensor([1.6667, 0.3333], dtype=torch.float64)
    """
    known_shares, shares = (_shares(classes, num_classes) for classes in (known, wanted))
    return shares / known_shares


def _shares(classes: Tensor, num_classes: int) -> Tensor:
    if classes.numel() and not 0 <= int(classes.min()) <= int(classes.max()) < num_classes:
        raise InputError(
            f"classes must lie in 0 to {num_classes - 1}, got {int(classes.min())} to {int(classes.max())}"
        )
    return (torch.bincount(classes, minlength=num_classes) + 1).double() / (len(classes) + num_classes)
