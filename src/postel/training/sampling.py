"""Neighbor sampling in numpy: the sub-graph around some nodes, thinned to a few sources per node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from postel.errors import InputError
from postel.graph import Neighbors

Ints = np.ndarray[Any, np.dtype[np.int64]]


class NeighborSampler:
    """Samples sub-graphs around seed nodes.

    Args:
        neighbors: The edges of the whole graph, grouped by target.
        fanouts: How many sources are drawn for each node at each hop, without repetition; -1 for all.
        seed: Where the draws come from.

    Raises:
        InputError: If ``fanouts`` is empty or has an entry that is neither positive nor -1.

    Example:
        >>> neighbors = Neighbors.from_edge_index(torch.tensor([[1, 2, 3], [0, 0, 1]]), 4)
        >>> nodes, edges = NeighborSampler(neighbors, [-1], seed=0).sample(torch.tensor([0]))
        >>> nodes.tolist(), edges.tolist()
        ([0, 1, 2], [[1, 2], [0, 0]])
    """

    def __init__(self, neighbors: Neighbors, fanouts: Sequence[int], seed: int = 0) -> None:
        for fanout in fanouts:
            if isinstance(fanout, bool) or not isinstance(fanout, int) or (fanout < 1 and fanout != -1):
                raise InputError(f"num_neighbors must be whole numbers above 0 or -1 for all, got {list(fanouts)}")
        if not fanouts:
            raise InputError("num_neighbors must name a number of sources for at least one hop, got none")
        self.neighbors = neighbors
        self.fanouts = list(fanouts)
        self._random = np.random.default_rng(seed)
        self._place = np.full(neighbors.num_nodes, -1, dtype=np.int64)

    def sample(self, seeds: Tensor) -> tuple[Tensor, Tensor]:
        """Sample the sub-graph around some nodes.

        The sources of a node are drawn once, when the node is first reached.

        Args:
            seeds: Ids of the nodes to start from [m], each only once.

        Returns:
            The ids of all nodes of the sub-graph [n], the seeds first, and the sampled edge entries, int64 [2, e],
            which number nodes by their position in that list.
        """
        place = self._place
        nodes = [seeds.numpy().astype(np.int64)]
        place[nodes[0]] = np.arange(nodes[0].size)
        found, sources, targets = nodes[0].size, [], []
        for fanout in self.fanouts:
            drawn, owner = self._draw(nodes[-1], fanout)
            fresh = np.unique(drawn[place[drawn] < 0])
            targets.append(place[nodes[-1]][owner])
            place[fresh] = np.arange(found, found + fresh.size)
            found += fresh.size
            sources.append(place[drawn])
            nodes.append(fresh)
        every = np.concatenate(nodes)
        place[every] = -1
        edges = np.stack([np.concatenate(sources), np.concatenate(targets)])
        return torch.from_numpy(every), torch.from_numpy(edges)

    def _draw(self, nodes: Ints, fanout: int) -> tuple[Ints, Ints]:
        """Return sampled sources of ``nodes``, and the position in ``nodes`` of the node that each belongs to."""
        offsets = self.neighbors.offsets
        start, degree = offsets[nodes], offsets[nodes + 1] - offsets[nodes]
        whole = np.flatnonzero((degree <= fanout) if fanout >= 0 else (degree >= 0))
        counts = degree[whole]
        owner = np.repeat(whole, counts)
        within = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
        places = start[owner] + within
        if whole.size < nodes.size:
            rich = np.flatnonzero(degree > fanout)
            chosen = start[rich][:, None] + distinct_integers(degree[rich], fanout, self._random)
            places = np.concatenate([places, chosen.ravel()])
            owner = np.concatenate([owner, np.repeat(rich, fanout)])
        return self.neighbors.sources[places].astype(np.int64), owner


def distinct_integers(limits: Ints, count: int, random: np.random.Generator) -> Ints:
    """Draw different integers below each of some limits, every subset equally likely.

    This is Floyd's algorithm for all rows at once: its cost does not depend on the limits, so a hub costs no more
    than any other node.

    Args:
        limits: The limit of each row [n], at least ``count``.
        count: How many integers to draw per row.
        random: Where the draws come from.

    Returns:
        The integers, int64 [n, count].

    Example:
        >>> sorted(distinct_integers(np.array([3]), 3, np.random.default_rng(0))[0].tolist())
        [0, 1, 2]
    """
    chosen = np.empty((limits.size, count), dtype=np.int64)
    for place in range(count):
        highest = limits - count + place
        pick = random.integers(0, highest + 1)
        taken = (chosen[:, :place] == pick[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, highest, pick)
    return chosen
