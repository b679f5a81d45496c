"""Names of classes and features: a model that knows them refuses a graph that numbers them otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from postel.errors import InputError

if TYPE_CHECKING:
    from postel.training.classifier import NodeClassifier

NAMES = ("class_names", "feature_names")


def names_of(data: Any) -> dict[str, list[str] | None]:
    """Read the names of classes and features that a graph brings along.

    Args:
        data: A graph; :func:`postel.load_dataset` sets both where the graph file has them.

    Returns:
        ``class_names`` and ``feature_names``, None where the graph has none.

    Example:
        >>> from types import SimpleNamespace
        >>> names_of(SimpleNamespace(class_names=["cat", "dog"]))
        {'class_names': ['cat', 'dog'], 'feature_names': None}
    """
    found: dict[str, Any] = {name: getattr(data, name, None) for name in NAMES}
    return {name: list(map(str, value)) if _is_list(value) else None for name, value in found.items()}


def check_names(model: NodeClassifier, data: Any) -> None:
    """Check that a graph numbers classes and features as the one does that a model was fitted on.

    Args:
        model: The fitted model.
        data: The graph.

    Raises:
        InputError: If a number stands for another class or feature.
    """
    known, given = getattr(model, "names_", {}), names_of(data)
    for what in NAMES:
        ours, theirs = known.get(what), given[what]
        if ours is None or theirs is None or ours == theirs:
            continue
        for number, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                kind, kinds = ("class", "classes") if what == "class_names" else ("feature", "features")
                raise InputError(
                    f"{kind} {number} is {one[:60]!r} for the model and {other[:60]!r} in the graph, which "
                    f"numbers its {kinds} otherwise: make it from a table with the same {kinds}"
                )


def checked_card_names(card: dict[str, Any], sizes: dict[str, int]) -> dict[str, list[str] | None]:
    """Read the names that a model's card keeps.

    Args:
        card: The card.
        sizes: How many there must be, by name.

    Returns:
        The names, None where the card has none, as those written by version 0.1 have.

    Raises:
        InputError: If they are no list of so many texts.
    """
    names: dict[str, list[str] | None] = {}
    for what in NAMES:
        value = card.get(what)
        if value is not None and not (
            isinstance(value, list) and len(value) == sizes[what] and all(isinstance(name, str) for name in value)
        ):
            raise InputError(f"{what} must be a list of {sizes[what]} texts")
        names[what] = value
    return names


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
