"""Things that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return items by what they share, groups and items in order of appearance.

    Args:
        items: The items.
        key: What the items of a group share.

    Example:
        >>> grouped(["cora", "texas", "citeseer"], lambda name: name[0])
        {'c': ['cora', 'citeseer'], 't': ['texas']}
    """
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
