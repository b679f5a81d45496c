"""Named, seeded splits of the labelled nodes into training, validation and test nodes.

``paper`` is the split of the paper's line of work, bit for bit; ``stratified`` a true 60/20/20 of each class;
``limited`` keeps a tenth of the paper's training nodes; ``geom-gcn`` and ``public`` are the published ones and
come with the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from postel.datasets.storage.stored_graph import UNLABELLED, Bools, StoredGraph
from postel.errors import InputError
from postel.registry import PROTOCOLS

SEEDS = (
    1941488137,
    4198936517,
    983997847,
    4023022221,
    4019585660,
    2108550661,
    1648766618,
    629014539,
    3212139042,
    2424918363,
)
_LIMITED_SHARE = 0.1


def make_split(graph: StoredGraph, split: int = 0, protocol: str = "paper") -> Bools:
    """Split the labelled nodes of a graph.

    Args:
        graph: The graph.
        split: Number of the split.
        protocol: How nodes are split; one of ``PROTOCOLS``.

    Returns:
        Masks of training, validation and test nodes, boolean [3, N].

    Raises:
        InputError: If there is no such protocol or split.

    Example:
        >>> graph = StoredGraph.checked(np.eye(10), [[0], [1]], [0, 1] * 5)
        >>> make_split(graph, protocol="stratified").sum(axis=1).tolist()
        [6, 2, 2]
    """
    check_protocol(protocol)
    if isinstance(split, bool) or not isinstance(split, int | np.integer):
        raise InputError(f"split must be a whole number, got {split!r}")
    if protocol in ("geom-gcn", "public"):
        return _published(graph, int(split), protocol)
    if not 0 <= split < len(SEEDS):
        raise InputError(f"protocol {protocol} has the splits 0..{len(SEEDS) - 1}, got {split}")
    makers = {"paper": paper_split, "stratified": stratified_split, "limited": limited_split}
    return makers[protocol](graph.y, graph.num_classes, SEEDS[split])


def check_protocol(protocol: str) -> None:
    """Check that there is a protocol.

    Args:
        protocol: Its name.

    Raises:
        InputError: If there is none; the message lists them.
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")


def paper_split(y: NDArray[np.int64], num_classes: int, seed: int) -> Bools:
    """Make the class-balanced split of the paper: as many training nodes from each class, as far as it goes.

    A class takes ``round(0.6 N / K)`` nodes at random, or all it has; ``round(0.2 N)`` of the rest are for
    validation. Training is therefore often less than 60 %, and a small class has no validation or test node.

    Args:
        y: The class of each node, [N]; -1 without one.
        num_classes: Number of classes.
        seed: Seed of the random choice.

    Returns:
        Masks, boolean [3, N].

    Example:
        >>> paper_split(np.array([0] * 7 + [1] * 3), 2, seed=0).sum(axis=1).tolist()
        [6, 2, 2]
    """
    # RandomState and the order of its calls are part of the protocol.
    rng = np.random.RandomState(seed)
    num_labelled = int((y != UNLABELLED).sum())
    per_class, num_validation = round(0.6 * num_labelled / num_classes), round(0.2 * num_labelled)
    train = []
    for k in range(num_classes):
        members = np.flatnonzero(y == k)
        if members.size < per_class:
            train.append(members)
        else:
            train.append(rng.choice(members, per_class, replace=False))
    rest = np.setdiff1d(np.flatnonzero(y != UNLABELLED), np.concatenate(train))
    validation = rng.choice(rest, min(num_validation, rest.size), replace=False)
    return _masks(y.size, np.concatenate(train), validation, np.setdiff1d(rest, validation))


def stratified_split(y: NDArray[np.int64], num_classes: int, seed: int) -> Bools:
    """Make a split that gives 60 % of every class to training, 20 % to validation and the rest to test.

    Args:
        y: The class of each node, [N]; -1 without one.
        num_classes: Number of classes.
        seed: Seed of the random choice.

    Returns:
        Masks, boolean [3, N].

    Example:
        >>> stratified_split(np.array([0] * 50 + [1] * 5), 2, seed=0)[:, 50:].sum(axis=1).tolist()
        [3, 1, 1]
    """
    rng = np.random.RandomState(seed)
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    for k in range(num_classes):
        members = rng.permutation(np.flatnonzero(y == k))
        # Halves go up: a class of one node is a training class.
        first = int(0.6 * members.size + 0.5)
        second = first + int(0.2 * members.size + 0.5)
        for part, chosen in zip(parts, np.split(members, [first, second]), strict=True):
            part.append(chosen)
    return _masks(y.size, *(np.concatenate(part) for part in parts))


def limited_split(y: NDArray[np.int64], num_classes: int, seed: int) -> Bools:
    """Make the paper's split with a tenth of its training nodes, at least one per class.

    The other training nodes then belong to no part.

    Args:
        y: The class of each node, [N]; -1 without one.
        num_classes: Number of classes.
        seed: Seed of the random choice.

    Returns:
        Masks, boolean [3, N].

    Example:
        >>> y = np.arange(200) % 4
        >>> limited_split(y, 4, seed=0).sum(axis=1).tolist(), paper_split(y, 4, seed=0).sum(axis=1).tolist()
        ([12, 40, 40], [120, 40, 40])
    """
    masks = paper_split(y, num_classes, seed)
    rng = np.random.RandomState(seed)
    order = rng.permutation(np.flatnonzero(masks[0]))
    _, first = np.unique(y[order], return_index=True)
    # One node a class comes first, the rest of the tenth is drawn from all others.
    order = np.concatenate([order[np.sort(first)], np.delete(order, first)])
    kept = order[: max(round(_LIMITED_SHARE * order.size), first.size)]
    masks[0] = False
    masks[0, kept] = True
    return masks


def _published(graph: StoredGraph, split: int, protocol: str) -> Bools:
    if protocol not in graph.splits:
        there = f"it has {', '.join(sorted(graph.splits))}" if graph.splits else "it has none"
        raise InputError(
            f"the graph carries no {protocol} split ({there}); take protocol paper or stratified, or another copy"
        )
    masks = graph.splits[protocol]
    if not 0 <= split < masks.shape[1]:
        raise InputError(f"the graph carries the {protocol} splits 0..{masks.shape[1] - 1}, got {split}")
    return masks[:, split].copy()


def _masks(num_nodes: int, *parts: Any) -> Bools:
    masks = np.zeros((3, num_nodes), dtype=np.bool_)
    for mask, part in zip(masks, parts, strict=True):
        mask[part] = True
    return masks
