"""``prepare`` turns a torch_geometric ``Data`` into a ``Graph``: features and operators for the backbones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from postel.errors import InputError
from postel.graph import operators
from postel.graph.features import DENSE_ABOVE, Features, in_aligned_rows
from postel.graph.sparse import SparseMatrix
from postel.graph_input import check_graph, edges_of, features_of

T = TypeVar("T")


class Graph:
    """Features and edges of a graph with the operators made from them, each built on first use and then reused.

    One graph serves any number of trainings; nothing in it changes. Labels and masks are not part of it. Use
    :func:`prepare` to make one from a checked ``Data``.

    Args:
        features: The features of all nodes.
        edge_index: The edge entries, int64 [2, E], on the device of the features.
    """

    def __init__(self, features: Features, edge_index: Tensor) -> None:
        self.features = features
        self._edge_index = edge_index
        self._made: dict[str, Any] = {}

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.features.shape[0]

    @property
    def num_features(self) -> int:
        """Number of features per node."""
        return self.features.shape[1]

    @property
    def device(self) -> torch.device:
        """The device of the edges and the features."""
        return self._edge_index.device

    @property
    def edge_index(self) -> Tensor:
        """The edge entries as they were given, int64 [2, E]."""
        return self._edge_index

    @property
    def gcn(self) -> SparseMatrix:
        """The operator D^-1/2 (A + I) D^-1/2."""
        return self.made("gcn", lambda: operators.gcn_operator(self.edge_index, self.num_nodes))

    @property
    def adjacency(self) -> SparseMatrix:
        """The operator D^-1/2 A D^-1/2 without self-loops."""
        return self.made("adjacency", lambda: operators.adjacency_operator(self.edge_index, self.num_nodes))

    @property
    def bernstein(self) -> tuple[SparseMatrix, SparseMatrix]:
        """The Laplacian L, and 2I - L."""
        return self.made("bernstein", lambda: operators.bernstein_operators(self.edge_index, self.num_nodes))

    @property
    def mean(self) -> SparseMatrix:
        """The operator D^-1 A without self-loops: the mean over neighbors."""
        return self.made("mean", lambda: operators.mean_operator(self.edge_index, self.num_nodes))

    def spread_features(self, name: str) -> Features | None:
        """Return the features multiplied by an operator once and for all, or None where that does not pay.

        Dense features stay as dense, so the product with the operator is saved in every step; sparse ones would
        fill up.

        Args:
            name: The name of an operator of this class, such as ``"gcn"``.

        Returns:
            The product, or None for sparse features.
        """
        if self.features.is_sparse:
            return None
        operator: SparseMatrix = getattr(self, name)
        return self.made(f"spread-{name}", lambda: Features(in_aligned_rows(operator @ self.features.dense())))

    def made(self, name: str, make: Callable[[], T]) -> T:
        """Return what ``make`` returns, calling it only the first time that ``name`` is asked for.

        Args:
            name: The name under which the result is stored.
            make: A function that makes it.

        Returns:
            The stored result.
        """
        if name not in self._made:
            with torch.inference_mode(False), torch.no_grad():  # it outlives whoever asks for it
                self._made[name] = make()
        return self._made[name]


def prepare(
    data: Any,
    *,
    device: torch.device | str = "cpu",
    normalize_features: bool = False,
    dense_above: float = DENSE_ABOVE,
) -> Graph:
    """Check the graph of a torch_geometric ``Data`` and make it ready for training.

    Args:
        data: Anything with ``x`` [N, F] and ``edge_index`` [2, E]. The features may be a dense tensor or array,
            a torch sparse tensor or a scipy sparse matrix, of any floating-point type.
        device: Where to put the graph.
        normalize_features: Whether to divide each row of features by its sum; rows that sum to 0 stay as they are.
        dense_above: Up to this share of non-zeros the features are stored sparse.

    Returns:
        The prepared graph.

    Raises:
        InputError: If features or edges are missing, have the wrong shape or type, or do not fit together.

    Example:
        >>> from torch_geometric.data import Data
        >>> graph = prepare(Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])))
        >>> graph.num_nodes, graph.gcn
        (4, SparseMatrix(4x4, 8 entries, symmetric))
    """
    check_graph(data)
    edge_index = edges_of(data)
    x = check_features(getattr(data, "x", None), data)
    check_edges(edge_index, x.shape[0])
    if isinstance(x, Tensor):
        if normalize_features:
            total = x.sum(dim=1, keepdim=True)
            x = x / total.masked_fill(total == 0, 1.0)
        features = Features.from_dense(x, device=device, dense_above=dense_above)
    else:
        matrix = x
        if normalize_features:
            sums = np.asarray(matrix.sum(axis=1)).ravel()
            matrix = scipy.sparse.diags_array(1.0 / np.where(sums == 0, 1.0, sums)) @ matrix
        features = Features.from_scipy(matrix, device=device, dense_above=dense_above)
    return Graph(features, edge_index.to(device))


def check_features(x: Any, data: Any) -> Any:
    """Check that ``x`` holds finite features with one row per node of ``data``.

    Args:
        x: What is given as features.
        data: What it belongs to; its labels ``y``, if there are any, tell the number of nodes.

    Returns:
        The features as :func:`postel.graph_input.features_of` gives them.

    Raises:
        InputError: If ``x`` is missing, has the wrong type or shape, or is not finite.

    Example:
        >>> check_features(torch.tensor([[1.0], [float("nan")]]), None)
        Traceback (most recent call last):
        postel.errors.InputError: data.x must be finite, got NaN or infinite features; drop or fill them first
    """
    x = features_of(x)
    y = getattr(data, "y", None)
    if isinstance(y, Tensor) and y.dim() > 0 and y.shape[0] != x.shape[0]:
        raise InputError(f"data.x has {x.shape[0]} rows but data.y has {y.shape[0]}: both need one per node")
    return x


def check_edges(edge_index: Any, num_nodes: int) -> None:
    """Check that ``edge_index`` is int64 [2, E] and names only nodes that exist.

    Args:
        edge_index: What is given as edge entries.
        num_nodes: Number of nodes N.

    Raises:
        InputError: If the shape, the type or a node is wrong.

    Example:
        >>> check_edges(torch.tensor([[0], [5]]), 4)
        Traceback (most recent call last):
        postel.errors.InputError: data.edge_index must name nodes in [0, 3], got 0..5
    """
    if not isinstance(edge_index, Tensor) or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        got = list(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index).__name__
        raise InputError(f"data.edge_index must be a tensor of shape [2, E], got {got}")
    if edge_index.dtype != torch.int64:
        raise InputError(f"data.edge_index must be int64, got {edge_index.dtype}; use edge_index.long()")
    if edge_index.numel() == 0:
        return
    low, high = (int(value) for value in edge_index.aminmax())
    if low < 0 or high >= num_nodes:
        raise InputError(f"data.edge_index must name nodes in [0, {num_nodes - 1}], got {low}..{high}")
