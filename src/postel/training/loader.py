"""Batches of sampled sub-graphs, with soft labels as one more attribute of the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.utils.data import Sampler
from torch_geometric.data import Data

from postel.checks import check_count
from postel.graph import Neighbors
from postel.graph_input import check_graph, edges_of, node_index
from postel.training.sampling import NeighborSampler
from postel.training.seeding import derive_seed


class NeighborBatches:
    """Sampled sub-graphs around nodes, in a new random order each time they are iterated over.

    A batch is a ``Data`` whose first ``batch_size`` nodes are the chosen ones; ``n_id`` [n] are all its nodes in
    the whole graph. Attributes of ``data`` with one row per node (``x``, ``y``, ``soft_y``, masks) come along.

    Args:
        data: The graph.
        input_nodes: The nodes to sample around: ids, or a boolean mask [N], as torch_geometric takes them; all
            nodes if None.
        num_neighbors: How many sources are sampled at each hop; -1 for all.
        batch_size: Number of chosen nodes of a batch.
        shuffle: Whether their order is random.
        seed: Seed of order and sampling.
        neighbors: The graph's neighbors, where they are at hand; otherwise they come from ``data.edge_index``.

    Raises:
        InputError: If a value is out of its range, or ``input_nodes`` is neither ids nor a mask.

    Example:
        >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[1, 2], [0, 1]]), soft_y=torch.full((4, 2), 0.5))
        >>> batch = next(iter(NeighborBatches(data, torch.tensor([0]), num_neighbors=[-1, -1], batch_size=2)))
        >>> batch.n_id.tolist(), batch.batch_size, batch.soft_y.shape
        ([0, 1, 2], 1, torch.Size([3, 2]))
    """

    def __init__(
        self,
        data: Any,
        input_nodes: Tensor | None = None,
        *,
        num_neighbors: Sequence[int] = (15, 10),
        batch_size: int = 1024,
        shuffle: bool = True,
        seed: int = 0,
        neighbors: Neighbors | None = None,
    ) -> None:
        check_count("batch_size", batch_size)
        if neighbors is None:
            check_graph(data)
            neighbors = Neighbors.from_edge_index(edges_of(data), data.num_nodes)
        self.attributes = {
            name: value
            for name, value in data.to_dict().items()
            if name != "edge_index" and _rows(value) == neighbors.num_nodes
        }
        self.input_nodes = node_ids(input_nodes, neighbors.num_nodes)
        self.batch_size = batch_size
        self._sampler = NeighborSampler(neighbors, num_neighbors, derive_seed(seed, 0))
        self._order = SeedOrder(self.input_nodes.numel(), shuffle, seed)

    def __len__(self) -> int:
        """Return the number of batches."""
        return -(-self.input_nodes.numel() // self.batch_size)

    def __iter__(self) -> Iterator[Data]:
        """Yield the batches."""
        nodes = self.input_nodes[torch.tensor(list(self._order), dtype=torch.int64)]
        for seeds in nodes.split(min(self.batch_size, max(nodes.numel(), 1))):
            n_id, edge_index = self._sampler.sample(seeds)
            parts = {name: _take(value, n_id) for name, value in self.attributes.items()}
            yield Data(edge_index=edge_index, n_id=n_id, batch_size=seeds.numel(), num_nodes=n_id.numel(), **parts)


def neighbor_loader(
    data: Any,
    input_nodes: Tensor | None = None,
    *,
    num_neighbors: Sequence[int] = (15, 10),
    batch_size: int = 1024,
    shuffle: bool = True,
    seed: int = 0,
) -> Any:
    """Load sampled sub-graphs in batches, with soft labels as one more attribute of the nodes.

    It is torch_geometric's ``NeighborLoader`` where its compiled samplers are installed, else
    :class:`NeighborBatches`; both give batches of the same form.

    Args:
        data: The graph.
        input_nodes: The nodes to sample around: ids, or a boolean mask [N] such as ``data.train_mask``; all nodes
            if None.
        num_neighbors: How many sources are sampled at each hop; -1 for all.
        batch_size: Number of chosen nodes of a batch.
        shuffle: Whether their order is random.
        seed: Seed of order and sampling.

    Returns:
        An iterable of batches.

    Raises:
        InputError: If a value is out of its range, or ``input_nodes`` is neither ids nor a mask.

    Example:
        >>> mask = torch.tensor([True, False])
        >>> data = Data(x=torch.eye(2), edge_index=torch.tensor([[1], [0]]), train_mask=mask)
        >>> loader = neighbor_loader(data, data.train_mask, num_neighbors=[2], batch_size=1)
        >>> next(iter(loader)).x.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    if not compiled_sampler():
        return NeighborBatches(
            data, input_nodes, num_neighbors=num_neighbors, batch_size=batch_size, shuffle=shuffle, seed=seed
        )
    from torch_geometric.loader import NeighborLoader

    nodes = node_ids(input_nodes, data.num_nodes)
    return NeighborLoader(
        data,
        num_neighbors=list(num_neighbors),
        batch_size=check_count("batch_size", batch_size),
        input_nodes=nodes,
        sampler=SeedOrder(nodes.numel(), shuffle, seed),
    )


def training_batches(
    x: Any,
    soft_y: Tensor,
    nodes: Tensor,
    neighbors: Neighbors,
    *,
    num_neighbors: Sequence[int],
    batch_size: int,
    seed: int,
) -> Any:
    """Load what :class:`~postel.NodeClassifier` trains on in batches.

    Training nodes come in the same batches and the same order from either loader, and with all neighbors (-1) in
    the same sub-graphs, so that a model does not depend on what is installed.

    Args:
        x: Features [N, F], a tensor or a scipy sparse matrix.
        soft_y: Soft labels [N, K].
        nodes: The training nodes [M].
        neighbors: The graph's neighbors.
        num_neighbors: How many sources are sampled at each hop; -1 for all.
        batch_size: Number of training nodes of a batch.
        seed: Seed of order and sampling.

    Returns:
        torch_geometric's ``NeighborLoader`` where its compiled samplers are installed and the features are dense,
        else :class:`NeighborBatches`.
    """
    options: dict[str, Any] = {"num_neighbors": num_neighbors, "batch_size": batch_size, "seed": seed}
    if isinstance(x, Tensor) and compiled_sampler():
        # Self-loops are no neighbors here; torch_geometric would count them among those that are drawn.
        return neighbor_loader(Data(x=x, soft_y=soft_y, edge_index=neighbors.edge_index()), nodes, **options)
    return NeighborBatches(Data(x=x, soft_y=soft_y), nodes, neighbors=neighbors, **options)


class SeedOrder(Sampler[int]):
    """The order in which nodes come in batches: a new random one each time, or as they are listed.

    Args:
        count: How many nodes there are.
        shuffle: Whether their order is random.
        seed: Seed of the orders.

    Example:
        >>> list(SeedOrder(3, shuffle=False, seed=0)), sorted(SeedOrder(3, shuffle=True, seed=0))
        ([0, 1, 2], [0, 1, 2])
    """

    def __init__(self, count: int, shuffle: bool, seed: int) -> None:
        self.count, self.shuffle = count, shuffle
        self._random = np.random.default_rng(derive_seed(seed, 1))

    def __len__(self) -> int:
        """Return how many nodes there are."""
        return self.count

    def __iter__(self) -> Iterator[int]:
        """Yield places in the list of nodes."""
        yield from (self._random.permutation(self.count) if self.shuffle else np.arange(self.count)).tolist()


def node_ids(nodes: Tensor | None, num_nodes: int) -> Tensor:
    """Turn ids or a mask into ids, as torch_geometric's loaders do.

    Args:
        nodes: Ids, an integer tensor [M], or a boolean mask [N]; all nodes if None.
        num_nodes: Number of nodes, N.

    Returns:
        The ids, int64 [M].

    Raises:
        InputError: If it is neither, or names a node that does not exist.

    Example:
        >>> node_ids(torch.tensor([False, True, True]), 3).tolist(), node_ids(torch.tensor([2]), 3).tolist()
        ([1, 2], [2])
    """
    if nodes is None:
        return torch.arange(num_nodes)
    return node_index("input_nodes", nodes, num_nodes)


def compiled_sampler() -> bool:
    """Tell whether pyg-lib or torch-sparse is installed.

    Returns:
        Whether torch_geometric's own loader works.

    Example:
        >>> isinstance(compiled_sampler(), bool)
        True
    """
    from torch_geometric import typing

    return bool(getattr(typing, "WITH_PYG_LIB", False) or getattr(typing, "WITH_TORCH_SPARSE", False))


def _rows(value: Any) -> int:
    shaped = isinstance(value, Tensor) or scipy.sparse.issparse(value)
    return int(value.shape[0]) if shaped and len(value.shape) > 0 else -1


def _take(value: Any, rows: Tensor) -> Any:
    return value[rows] if isinstance(value, Tensor) else value[rows.numpy()]
