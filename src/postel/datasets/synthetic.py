"""Synthetic graphs: a contextual stochastic block model with any compatibility matrix, made from a seed."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from postel.datasets.storage.stored_graph import StoredGraph
from postel.errors import InputError

DegreeLaw = Literal["poisson", "power-law"]

# Features are rounded to this step, so that the last bit of a machine's logarithm cannot change a fingerprint.
_STEP = 1.0 / 1024
_POWER_LAW_EXPONENT = 2.5


def csbm(
    num_nodes: int = 1500,
    compatibility: ArrayLike | None = None,
    *,
    num_classes: int = 5,
    mean_degree: float = 6.0,
    degree_law: DegreeLaw = "poisson",
    num_features: int = 64,
    signal: float = 1.5,
    label_noise: float = 0.0,
    class_weights: ArrayLike | None = None,
    directed: bool = False,
    seed: int = 0,
) -> StoredGraph:
    """Draw a graph from a contextual stochastic block model.

    Each of ``num_nodes * mean_degree / 2`` links starts at a random node i, draws the class of its other end from
    row y[i] of the compatibility matrix and a node of that class; loops and repeated links are dropped. Classes
    have unit vectors in random directions as centers, and features are drawn around them.

    Args:
        num_nodes: Number of nodes.
        compatibility: Chances of a neighbor's class given a node's class, [K, K]; rows are scaled to sum to 1.
            Without it a neighbor shares the class with chance 0.7.
        num_classes: Number of classes, where ``compatibility`` does not say it.
        mean_degree: Mean degree, before repeated links are dropped.
        degree_law: ``"poisson"``, or ``"power-law"`` to draw nodes with heavy-tailed weights.
        num_features: Number of features.
        signal: Distance of the classes' centers from 0, in units of the features' standard normal noise.
        label_noise: Share of nodes whose label is replaced by another class at last.
        class_weights: Relative sizes of the classes; equal without it.
        directed: Whether links are kept one way. With both directions, a symmetric matrix with equal class weights
            is what a node sees around it.
        seed: Seed of everything random.

    Returns:
        The graph.

    Raises:
        InputError: If a value is out of its range.

    Example:
        >>> graph = csbm(100, [[0.1, 0.9], [0.9, 0.1]], mean_degree=4, seed=1)
        >>> same = (graph.y[graph.edge_index[0]] == graph.y[graph.edge_index[1]]).mean()
        >>> graph.num_classes, bool(same < 0.2)
        (2, True)
    """
    matrix = _checked_matrix(compatibility, num_classes)
    weights = _checked_weights(class_weights, matrix.shape[0])
    _check_numbers(num_nodes, matrix.shape[0], mean_degree, num_features, signal, label_noise, seed)
    if degree_law not in get_args(DegreeLaw):
        raise InputError(f"degree_law must be poisson or power-law, got {degree_law!r}")

    # RandomState's streams are frozen for good; those of the newer generators may change between numpy versions.
    rng = np.random.RandomState(seed)
    y = _draw_classes(rng, num_nodes, weights)
    edges = _draw_edges(rng, y, matrix, round(num_nodes * mean_degree / (1 if directed else 2)), degree_law)
    if not directed:
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    keys = np.unique(edges[0] * num_nodes + edges[1])
    centers = rng.standard_normal((weights.size, num_features))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    x = signal * centers[y] + rng.standard_normal((num_nodes, num_features))
    x = np.round(x / _STEP) * _STEP
    wrong = np.flatnonzero(rng.random_sample(num_nodes) < label_noise)
    shift = rng.randint(1, weights.size, size=num_nodes)
    y[wrong] = (y[wrong] + shift[wrong]) % weights.size
    return StoredGraph.checked(x, np.stack(np.divmod(keys, num_nodes)), y)


def homophilic() -> StoredGraph:
    """Make the catalog's ``csbm-homophilic``: seven in ten neighbors share a node's class."""
    return csbm(1500, np.full((5, 5), 0.075) + 0.625 * np.eye(5), mean_degree=5.0, signal=1.5, seed=1)


def heterophilic() -> StoredGraph:
    """Make the catalog's ``csbm-heterophilic``: classes on a ring, eight in ten neighbors from the two beside.

    Neighbors tell a node's class well, and yet almost none shares it: averaging their labels misleads.
    """
    return csbm(1500, ring(5, beside=0.4, own=0.04), mean_degree=8.0, signal=1.5, seed=2)


def no_signal() -> StoredGraph:
    """Make the catalog's ``csbm-no-signal``: whatever a node's class, its neighbors are of every class alike.

    Only features tell a class, and a method that listens to neighbors can but lose.
    """
    return csbm(1500, np.full((5, 5), 0.2), mean_degree=6.0, signal=1.5, seed=3)


def ring(num_classes: int, beside: float, own: float) -> NDArray[np.float64]:
    """Make the compatibility of classes on a ring.

    Args:
        num_classes: Number of classes.
        beside: Chance of each of the two classes next to a node's own.
        own: Chance of a node's own class.

    Returns:
        The matrix, [K, K].

    Example:
        >>> ring(5, beside=0.4, own=0.04).round(2)[0].tolist()
        [0.04, 0.4, 0.08, 0.08, 0.4]
    """
    rest = (1.0 - own - 2 * beside) / (num_classes - 3)
    row = np.full(num_classes, rest)
    row[[0, 1, -1]] = own, beside, beside
    return np.stack([np.roll(row, k) for k in range(num_classes)])


def _draw_classes(rng: Any, num_nodes: int, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    # One node of each class first, so that none is empty.
    rest = rng.choice(weights.size, size=num_nodes - weights.size, p=weights)
    return np.concatenate([np.arange(weights.size), rest]).astype(np.int64)


def _draw_edges(
    rng: Any, y: NDArray[np.int64], matrix: NDArray[np.float64], count: int, degree_law: DegreeLaw
) -> NDArray[np.int64]:
    weight = np.ones(y.size)
    if degree_law == "power-law":
        weight = (1.0 - rng.random_sample(y.size)) ** (-1.0 / (_POWER_LAW_EXPONENT - 1.0))
        # No node may take more than about sqrt(N) times the usual share, or most of its links would repeat.
        weight = np.minimum(weight, np.sqrt(y.size))
    source = rng.choice(y.size, size=count, p=weight / weight.sum())
    wanted = (rng.random_sample(count)[:, None] > matrix.cumsum(axis=1)[y[source], :-1]).sum(axis=1)
    target = np.empty(count, dtype=np.int64)
    for k in range(matrix.shape[0]):
        members, places = np.flatnonzero(y == k), np.flatnonzero(wanted == k)
        share = weight[members] / weight[members].sum()
        target[places] = members[rng.choice(members.size, size=places.size, p=share)]
    edges = np.stack([source.astype(np.int64), target])
    return edges[:, edges[0] != edges[1]]


def _checked_matrix(compatibility: ArrayLike | None, num_classes: int) -> NDArray[np.float64]:
    if compatibility is None:
        if num_classes < 2:
            raise InputError(f"num_classes must be 2 or more, got {num_classes}")
        compatibility = np.full((num_classes, num_classes), 0.3 / (num_classes - 1))
        np.fill_diagonal(compatibility, 0.7)
    matrix = np.asarray(compatibility, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise InputError(f"compatibility must be square, two classes at least, got shape {list(matrix.shape)}")
    if not np.isfinite(matrix).all() or matrix.min() < 0 or (matrix.sum(axis=1) == 0).any():
        raise InputError("compatibility must hold numbers of 0 or more, and no row of zeros only")
    return matrix / matrix.sum(axis=1, keepdims=True)


def _checked_weights(class_weights: ArrayLike | None, num_classes: int) -> NDArray[np.float64]:
    weights = np.ones(num_classes) if class_weights is None else np.asarray(class_weights, dtype=np.float64)
    if weights.shape != (num_classes,) or not np.isfinite(weights).all() or weights.min() <= 0:
        raise InputError(f"class_weights must hold {num_classes} positive numbers, got {weights.tolist()}")
    return weights / weights.sum()


def _check_numbers(
    num_nodes: int,
    num_classes: int,
    mean_degree: float,
    num_features: int,
    signal: float,
    label_noise: float,
    seed: int,
) -> None:
    if num_nodes < 2 * num_classes:
        raise InputError(f"num_nodes must be at least two per class ({2 * num_classes}), got {num_nodes}")
    if not 0 <= mean_degree < num_nodes:
        raise InputError(f"mean_degree must lie in [0, {num_nodes}), got {mean_degree}")
    if num_features < 1:
        raise InputError(f"num_features must be 1 or more, got {num_features}")
    if not 0 <= signal < float("inf"):
        raise InputError(f"signal must be 0 or more, got {signal}")
    if not 0 <= label_noise <= 1:
        raise InputError(f"label_noise must lie in [0, 1], got {label_noise}")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed must lie in [0, 2**32), got {seed}")
