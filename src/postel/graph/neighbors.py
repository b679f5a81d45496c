"""The edges of a large graph as one compressed array, and its operators without any stored weight.

Every operator here is ``left · A · right + diagonal`` with vectors left and right, so the weights of its entries
need no memory, and a product runs over blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from postel.graph.features import Features
from postel.graph.prepared import Graph, check_edges
from postel.graph.sparse import SparseMatrix, csr_like, csr_product

# Entries handled at once; a block's temporary memory is a few times this many numbers.
BLOCK_ENTRIES = 4_000_000


class Neighbors:
    """The incoming edge entries of every node in compressed rows, without self-loops.

    The sources of the entries into node i lie together, at ``sources[offsets[i]:offsets[i + 1]]``. Use
    :meth:`from_edge_index` to make one.

    Args:
        offsets: Where each node's sources start, int64 [N + 1].
        sources: The source of every entry [E], sorted by target.

    Example:
        >>> neighbors = Neighbors.from_edge_index(torch.tensor([[0, 2, 1], [1, 1, 1]]), 3)
        >>> neighbors.offsets.tolist(), neighbors.sources.tolist()
        ([0, 0, 2, 2], [0, 2])
    """

    def __init__(self, offsets: np.ndarray[Any, Any], sources: np.ndarray[Any, Any]) -> None:
        self.offsets = offsets
        self.sources = sources

    @classmethod
    def from_edge_index(cls, edge_index: Tensor, num_nodes: int) -> Neighbors:
        """Group edges by their target; repeated entries are kept.

        Args:
            edge_index: The entries, int64 [2, E].
            num_nodes: Number of nodes N.

        Returns:
            The neighbors of every node.

        Raises:
            InputError: If ``edge_index`` has the wrong shape or type, or names a node that does not exist.
        """
        check_edges(edge_index, num_nodes)
        index = np.int32 if num_nodes < 2**31 else np.int64
        source, target = (part.numpy().astype(index) for part in edge_index.cpu())
        loops = source == target
        if loops.any():
            source, target = source[~loops], target[~loops]
        # One row with the sources as values, turned to columns, is a counting sort by target: no merging, no
        # comparison.
        row = scipy.sparse.csr_array((source, target, [0, source.size]), shape=(1, num_nodes))
        columns = row.tocsc()
        return cls(columns.indptr.astype(np.int64), columns.data)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.offsets.size - 1

    def in_degrees(self) -> Tensor:
        """Return the number of incoming entries of every node, float32 [N]."""
        return torch.from_numpy(np.diff(self.offsets).astype(np.float32))

    def out_degrees(self) -> Tensor:
        """Return the number of outgoing entries of every node, float32 [N]."""
        return torch.from_numpy(np.bincount(self.sources, minlength=self.num_nodes).astype(np.float32))

    def edge_index(self) -> Tensor:
        """Return the entries as int64 [2, E]; on a large graph they take most of the memory."""
        targets = np.repeat(np.arange(self.num_nodes), np.diff(self.offsets))
        return torch.from_numpy(np.stack([self.sources.astype(np.int64), targets]))

    def blocks(self, entries: int = BLOCK_ENTRIES) -> Iterator[tuple[int, int]]:
        """Cut the rows into ranges with about the same number of entries, each with at least one row.

        Args:
            entries: How many entries a range should have.

        Yields:
            The first row of a range, and the row after its last.
        """
        first = 0
        while first < self.num_nodes:
            last = int(np.searchsorted(self.offsets, self.offsets[first] + entries, side="right")) - 1
            last = min(max(last, first + 1), self.num_nodes)
            yield first, last
            first = last


class ScaledNeighbors:
    """The operator ``left · A · right + diagonal`` [N, N], multiplied block by block; it has no gradient.

    Args:
        neighbors: The entries of the adjacency matrix A.
        left: A factor for every row [N].
        right: A factor for every column [N].
        diagonal: What is added on the diagonal [N].

    Example:
        >>> neighbors = Neighbors.from_edge_index(torch.tensor([[0, 1], [1, 0]]), 2)
        >>> half = torch.full((2,), 0.5)
        >>> ScaledNeighbors(neighbors, half, torch.ones(2), half).multiply(torch.eye(2)).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(self, neighbors: Neighbors, left: Tensor, right: Tensor, diagonal: Tensor) -> None:
        self.neighbors = neighbors
        self.left, self.right, self.diagonal = left, right, diagonal
        self.shape = (neighbors.num_nodes, neighbors.num_nodes)
        self._ones = torch.ones(0)

    def multiply(self, dense: Tensor, scale: float = 1.0) -> Tensor:
        """Return ``scale`` times the product with a dense matrix.

        Args:
            dense: A matrix [N, D].
            scale: A factor for the product.

        Returns:
            The product [N, D].
        """
        offsets, sources = self.neighbors.offsets, self.neighbors.sources
        scaled = dense * (self.right * scale).unsqueeze(1)
        out = torch.empty_like(dense)
        for first, last in self.neighbors.blocks():
            low, high = int(offsets[first]), int(offsets[last])
            if self._ones.numel() < high - low:
                self._ones = torch.ones(high - low)
            local = torch.from_numpy((offsets[first : last + 1] - low).astype(sources.dtype))
            columns = torch.from_numpy(sources[low:high])
            block = csr_like(local, columns, self._ones[: high - low], (last - first, self.shape[1]))
            torch.mul(csr_product(block, scaled), self.left[first:last].unsqueeze(1), out=out[first:last])
        return out.addcmul_(dense, self.diagonal.unsqueeze(1), value=scale)


class LargeGraph(Graph):
    """A graph for evaluation without gradients: every layer is computed for all nodes before the next.

    Operators cost a few vectors; nothing is stored per edge but the number of its source.

    Args:
        features: The features of all nodes.
        neighbors: The edges, grouped by target.

    Example:
        >>> neighbors = Neighbors.from_edge_index(torch.tensor([[0, 1], [1, 0]]), 2)
        >>> graph = LargeGraph(Features.from_dense(torch.eye(2)), neighbors)
        >>> (graph.mean @ torch.eye(2)).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """

    def __init__(self, features: Features, neighbors: Neighbors) -> None:
        super().__init__(features, torch.empty((2, 0), dtype=torch.int64))
        self.neighbors = neighbors

    @property
    def edge_index(self) -> Tensor:
        """The edge entries, int64 [2, E]; they are written out only if a user's own module asks for them."""
        return self.made("edges", self.neighbors.edge_index)

    @property
    def gcn(self) -> SparseMatrix:
        """The operator D^-1/2 (A + I) D^-1/2."""
        degree = self.neighbors.in_degrees() + 1.0
        return self._operator("gcn", degree.rsqrt(), degree.rsqrt(), degree.reciprocal())

    @property
    def adjacency(self) -> SparseMatrix:
        """The operator D^-1/2 A D^-1/2 without self-loops."""
        scale = self._outgoing_scale()
        return self._operator("adjacency", scale, scale, torch.zeros_like(scale))

    @property
    def bernstein(self) -> tuple[SparseMatrix, SparseMatrix]:
        """The Laplacian L, and 2I - L."""
        scale = self._outgoing_scale()
        ones = torch.ones_like(scale)
        return self._operator("low", -scale, scale, ones), self._operator("high", scale, scale, ones)

    @property
    def mean(self) -> SparseMatrix:
        """The operator D^-1 A without self-loops: the mean over neighbors."""
        degree = self.neighbors.in_degrees()
        return self._operator("mean", degree.clamp_min(1.0).reciprocal(), torch.ones_like(degree), 0.0 * degree)

    def spread_features(self, name: str) -> None:
        """Return None: a second copy of the features would cost more than it saves in one evaluation.

        Args:
            name: The name of an operator of this class.
        """
        return

    def _outgoing_scale(self) -> Tensor:
        degree = self.made("out-degrees", self.neighbors.out_degrees)
        return degree.clamp_min(1.0).rsqrt() * (degree > 0)

    def _operator(self, name: str, left: Tensor, right: Tensor, diagonal: Tensor) -> SparseMatrix:
        def make() -> SparseMatrix:
            rows: Any = ScaledNeighbors(self.neighbors, left, right, diagonal)
            return SparseMatrix(rows, rows)

        return self.made(name, make)
