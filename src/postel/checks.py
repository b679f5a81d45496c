"""Checks of single values that users give: each returns the value, or raises one clear sentence.

Nothing here needs torch, so the command line can check its options before it loads anything.
"""

from __future__ import annotations

import difflib
import functools
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from postel.errors import InputError

#: More classes than anybody has; a number beyond it is a slip, such as an id in the place of a label.
MAX_CLASSES = 10_000


def check_number(name: str, value: Any, low: float = 0.0, high: float = math.inf) -> float:
    """Check that a value is a finite number within limits.

    Args:
        name: What the value is called, for the error.
        value: The value.
        low: The least that is allowed.
        high: The most that is allowed.

    Returns:
        ``value``, unchanged.

    Raises:
        InputError: If it is no number, not finite, or outside ``[low, high]``.

    Example:
        >>> check_number("alpha", 1.5, 0, 1)
        Traceback (most recent call last):
            ...
        postel.errors.InputError: alpha must lie in [0, 1], got 1.5
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} must be a number, got {value!r}")
    if not low <= value <= high or math.isinf(value):
        limits = f"lie in [{low:g}, {high:g}]" if math.isfinite(high) else f"be a number of at least {low:g}"
        raise InputError(f"{name} must {limits}, got {value}")
    return value


def check_positive(name: str, value: Any) -> float:
    """Check that a value is a finite number above 0.

    Args:
        name: What the value is called, for the error.
        value: The value.

    Returns:
        ``value``, unchanged.

    Raises:
        InputError: If it is no number, not finite, or not above 0.

    Example:
        >>> check_positive("temperature", 0.5)
        0.5
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise InputError(f"{name} must be a number above 0, got {value!r}")
    return float(value)


def check_rate(name: str, value: Any, *, closed: bool = False) -> float:
    """Check that a value is a share that leaves something over, as a dropout rate does.

    Args:
        name: What the value is called, for the error.
        value: The value.
        closed: Whether 1 is allowed too.

    Returns:
        ``value`` as a float.

    Raises:
        InputError: If it is no number in ``[0, 1)``, or in ``[0, 1]`` if ``closed``.

    Example:
        >>> check_rate("dropout", 0.5)
        0.5
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (0.0 <= value < 1.0 or (closed and value == 1.0)):
        raise InputError(f"{name} must lie in [0, 1{']' if closed else ')'}, got {value!r}")
    return float(value)


def check_count(name: str, value: Any, low: int = 1) -> int:
    """Check that a value is a whole number of at least ``low``.

    Args:
        name: What the value is called, for the error.
        value: The value.
        low: The least that is allowed.

    Returns:
        ``value``, unchanged.

    Raises:
        InputError: If it is no whole number, or less than ``low``.

    Example:
        >>> check_count("hidden", 64)
        64
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        limit = "above 0" if low == 1 else f"of at least {low}"
        raise InputError(f"{name} must be a whole number {limit}, got {value!r}")
    return value


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Check that a value is one of a few words.

    Args:
        name: What the value is called, for the error.
        value: The value.
        choices: The words that are allowed.

    Returns:
        ``value``, unchanged.

    Raises:
        InputError: If it is none of ``choices``.

    Example:
        >>> check_choice("noise", "uniform", ("uniform", "off-target"))
        'uniform'
    """
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)


def check_largest_label(largest: int) -> None:
    """Check the largest label where the number of classes is to be found out from it.

    Args:
        largest: The largest label.

    Raises:
        InputError: If it would make more classes than is sane: tables have a row and a column for each.

    Example:
        >>> check_largest_label(2**31 - 2)
        Traceback (most recent call last):
            ...
        postel.errors.InputError: the label 2147483646 would make 2147483647 classes: number them from 0, or give
        num_classes if there are more than 10000
    """
    if largest >= MAX_CLASSES:
        raise InputError(
            f"the label {largest} would make {largest + 1} classes: number them from 0, or give num_classes if "
            f"there are more than {MAX_CLASSES}"
        )


def check_separator(separator: str) -> str:
    r"""Check what stands between the fields of a table.

    Args:
        separator: One character; a tab can be written as ``\t`` or ``tab``.

    Returns:
        The character.

    Raises:
        InputError: If it is no single character, or one that tables need for something else.

    Example:
        >>> check_separator(";"), check_separator("tab")
        (';', '\t')
    """
    if separator in ("\\t", "tab"):
        return "\t"
    if len(separator) != 1 or not (separator == "\t" or " " <= separator <= "~") or separator == '"':
        raise InputError(
            f"separator must be a single character that is no quote and no line end, got {separator[:40]!r}"
        )
    return separator


def check_fields(cls: type, values: Mapping[str, Any]) -> None:
    """Check values read from a file against the annotated fields of the dataclass that they are for.

    Args:
        cls: The dataclass; its annotations are plain types, and dictionaries, lists and unions of them.
        values: The values by name; a field that is missing is not looked at.

    Raises:
        InputError: If a value is of another kind than its field.

    Example:
        >>> import dataclasses
        >>> Point = dataclasses.make_dataclass("Point", [("x", int), ("y", float | None)])
        >>> check_fields(Point, {"x": 1, "y": None})
        >>> check_fields(Point, {"x": "1"})
        Traceback (most recent call last):
            ...
        postel.errors.InputError: x must be int, got '1'
    """
    for name, (kind, fits) in _fields(cls).items():
        if name in values and not fits(values[name]):
            expected = kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)
            raise InputError(f"{name} must be {expected}, got {repr(values[name])[:60]}")


@functools.cache
def _fields(cls: type) -> dict[str, tuple[Any, Callable[[Any], bool]]]:
    return {name: (kind, _fitting(kind)) for name, kind in typing.get_type_hints(cls).items()}


def _fitting(kind: Any) -> Callable[[Any], bool]:
    """Return what tells whether a value is of a kind: a study is read as a million of them."""
    if kind is Any:
        return lambda value: True
    if kind is float:
        return lambda value: (
            isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
        )
    if kind is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    home, inner = typing.get_origin(kind), [_fitting(one) for one in typing.get_args(kind)]
    if home in (typing.Union, types.UnionType):
        return lambda value: any(fits(value) for fits in inner)
    if home is list:
        return lambda value: isinstance(value, list) and all(map(inner[0], value))
    if home is dict:
        return lambda value: isinstance(value, dict) and all(map(inner[1], value.values()))
    return lambda value: isinstance(value, home or kind)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint for a misspelled name, ready to stand in front of the list of names.

    Args:
        name: What was given.
        names: What there is.

    Returns:
        A question and a space, or nothing where no name is near.

    Example:
        >>> did_you_mean("postle", ["postel", "uniform"]), did_you_mean("xyz", ["postel"])
        ('did you mean postel? ', '')
    """
    near = difflib.get_close_matches(name.lower(), names, n=2)
    return f"did you mean {' or '.join(near)}? " if near else ""
