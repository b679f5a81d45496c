"""Batches of sampled sub-graphs, with soft labels as one more attribute of the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Data

from postel.checks import check_count
from postel.graph import Neighbors
from postel.training.sampling import NeighborSampler
from postel.training.seeding import derive_seed


class NeighborBatches:
    """Iterates over sub-graphs around the nodes of ``input_nodes``, in a new random order each time.

    A batch is a ``Data`` whose first ``batch_size`` nodes are the chosen ones; ``n_id`` [n] are all its nodes in
    the whole graph. Attributes of ``data`` with one row a node (``x``, ``y``, ``soft_y``, masks) come along.

    >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[1, 2], [0, 1]]), soft_y=torch.full((4, 2), 0.5))
    >>> batch = next(iter(NeighborBatches(data, torch.tensor([0]), num_neighbors=[-1, -1], batch_size=2)))
    >>> batch.n_id.tolist(), batch.batch_size, batch.soft_y.shape
    ([0, 1, 2], 1, torch.Size([3, 2]))
    """

    def __init__(
        self,
        data: Any,
        input_nodes: Tensor,
        *,
        num_neighbors: Sequence[int] = (15, 10),
        batch_size: int = 1024,
        shuffle: bool = True,
        seed: int = 0,
        neighbors: Neighbors | None = None,
    ) -> None:
        """``neighbors`` may be given where they are at hand; otherwise they come from ``data.edge_index``."""
        check_count("batch_size", batch_size)
        if neighbors is None:
            neighbors = Neighbors.from_edge_index(data.edge_index, data.num_nodes)
        self.attributes = {
            name: value
            for name, value in data.to_dict().items()
            if name != "edge_index" and _rows(value) == neighbors.num_nodes
        }
        self.input_nodes = input_nodes.view(-1)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self._sampler = NeighborSampler(neighbors, num_neighbors, derive_seed(seed, 0))
        self._random = np.random.default_rng(derive_seed(seed, 1))

    def __len__(self) -> int:
        """Number of batches."""
        return -(-self.input_nodes.numel() // self.batch_size)

    def __iter__(self) -> Iterator[Data]:
        """The batches."""
        nodes = self.input_nodes
        if self.shuffle:
            nodes = nodes[torch.from_numpy(self._random.permutation(nodes.numel()))]
        for seeds in nodes.split(self.batch_size):
            n_id, edge_index = self._sampler.sample(seeds)
            parts = {name: _take(value, n_id) for name, value in self.attributes.items()}
            yield Data(edge_index=edge_index, n_id=n_id, batch_size=seeds.numel(), num_nodes=n_id.numel(), **parts)


def neighbor_loader(data: Any, input_nodes: Tensor, *, seed: int = 0, **options: Any) -> Any:
    """torch_geometric's ``NeighborLoader`` where its compiled samplers are, else :class:`NeighborBatches`.

    ``options`` are ``num_neighbors``, ``batch_size`` and ``shuffle``; both give batches of the same form.

    >>> data = Data(x=torch.eye(2), edge_index=torch.tensor([[1], [0]]))
    >>> loader = neighbor_loader(data, torch.tensor([0]), num_neighbors=[2], batch_size=1)
    >>> next(iter(loader)).x.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not compiled_sampler() or options.get("neighbors") is not None:
        return NeighborBatches(data, input_nodes, seed=seed, **options)
    from torch_geometric.loader import NeighborLoader

    return NeighborLoader(
        data,
        num_neighbors=list(options.get("num_neighbors", (15, 10))),
        batch_size=options.get("batch_size", 1024),
        shuffle=options.get("shuffle", True),
        input_nodes=input_nodes,
        generator=torch.Generator().manual_seed(derive_seed(seed, 1)),
    )


def compiled_sampler() -> bool:
    """Whether pyg-lib or torch-sparse is installed.

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
