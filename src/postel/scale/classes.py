"""From the labels that were found to class numbers 0..K-1."""

from __future__ import annotations

from collections.abc import Sequence

from postel.checks import MAX_CLASSES
from postel.errors import InputError


def class_names(labels: Sequence[int | str], num_classes: int | None = None) -> list[int] | list[str]:
    """List the label that each class number stands for.

    Integer labels are class numbers already, as everywhere in postel: the largest says how many classes there are.
    Strings are numbered in sorted order.

    Args:
        labels: The distinct labels that were found, all integers or all strings.
        num_classes: Number of classes, where the last ones have no label.

    Returns:
        The label of class 0, 1, ...

    Raises:
        InputError: If there are too few or too many classes, or a label is out of range.

    Example:
        >>> class_names([2, 0]), class_names(["b", "a"]), class_names([0, 1], num_classes=3)
        ([0, 1, 2], ['a', 'b'], [0, 1, 2])
    """
    if not labels:
        raise InputError("there is no labelled node: the label table has no row with a node and a label")
    texts = [label for label in labels if isinstance(label, str)]
    if texts:
        names = sorted(texts)
        if num_classes is not None and num_classes != len(names):
            raise InputError(
                f"num_classes is {num_classes}, but {len(names)} labels were found: with labels that are strings "
                "leave num_classes out"
            )
        _check_number(len(names))
        return names
    numbers = [int(label) for label in labels]
    if min(numbers) < 0:
        raise InputError(f"labels must not be negative, got {min(numbers)}: leave out nodes without a label")
    if num_classes is not None and max(numbers) >= num_classes:
        raise InputError(f"labels must lie in [0, {num_classes - 1}], got {max(numbers)}")
    k = num_classes or max(numbers) + 1
    _check_number(k)
    return list(range(k))


def _check_number(k: int) -> None:
    if k < 2:
        raise InputError(f"at least 2 classes are needed, got {k}: set num_classes if some have no labelled node")
    if k > MAX_CLASSES:
        raise InputError(
            f"{k} classes are more than the {MAX_CLASSES} that are possible: integer labels are class numbers "
            "from 0, so write other codes as strings"
        )


def conflict(what: str, node: object, labels: tuple[object, object]) -> InputError:
    """Make the error for a node with two labels.

    Args:
        what: The table.
        node: The node's id.
        labels: Its two labels.

    Returns:
        The error.

    Example:
        >>> str(conflict("labels", 7, ("a", "b")))
        "labels: node 7 has two labels, 'a' and 'b'; keep one row of it"
    """
    return InputError(f"{what}: node {node!r} has two labels, {labels[0]!r} and {labels[1]!r}; keep one row of it")
