"""``prepare``: from a torch_geometric ``Data`` to what the backbones multiply with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from postel.errors import InputError
from postel.graph import operators
from postel.graph.features import DENSE_ABOVE, Features
from postel.graph.sparse import SparseMatrix

T = TypeVar("T")


class Graph:
    """Features and edges of a graph with the operators made from them, each built on first use and then kept.

    One graph serves any number of trainings; nothing in it changes. Labels and masks are no part of it.
    """

    def __init__(self, features: Features, edge_index: Tensor) -> None:
        """``edge_index`` int64 [2, E] on the device of the features; use :func:`prepare` to have them checked."""
        self.features = features
        self._edge_index = edge_index
        self._made: dict[str, Any] = {}

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.features.shape[0]

    @property
    def num_features(self) -> int:
        """Number of features a node."""
        return self.features.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the graph is."""
        return self._edge_index.device

    @property
    def edge_index(self) -> Tensor:
        """The entries as they came, int64 [2, E]."""
        return self._edge_index

    @property
    def gcn(self) -> SparseMatrix:
        """D^-1/2 (A + I) D^-1/2."""
        return self.made("gcn", lambda: operators.gcn_operator(self.edge_index, self.num_nodes))

    @property
    def adjacency(self) -> SparseMatrix:
        """D^-1/2 A D^-1/2 without self-loops."""
        return self.made("adjacency", lambda: operators.adjacency_operator(self.edge_index, self.num_nodes))

    @property
    def bernstein(self) -> tuple[SparseMatrix, SparseMatrix]:
        """The Laplacian L and 2I - L."""
        return self.made("bernstein", lambda: operators.bernstein_operators(self.edge_index, self.num_nodes))

    @property
    def mean(self) -> SparseMatrix:
        """D^-1 A without self-loops."""
        return self.made("mean", lambda: operators.mean_operator(self.edge_index, self.num_nodes))

    def spread_features(self, name: str) -> Features | None:
        """The features multiplied by the operator ``name`` once and for all, or None where that does not pay.

        Dense features stay as dense, so the product with the operator is saved in every step; sparse ones would
        fill up.
        """
        if self.features.is_sparse:
            return None
        operator: SparseMatrix = getattr(self, name)
        return self.made(f"spread-{name}", lambda: Features(operator @ self.features.dense()))

    def made(self, name: str, make: Callable[[], T]) -> T:
        """What ``make`` returns, kept under ``name`` for the next caller."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


def prepare(
    data: Any,
    *,
    device: torch.device | str = "cpu",
    normalize_features: bool = False,
    dense_above: float = DENSE_ABOVE,
) -> Graph:
    """The graph of a torch_geometric ``Data``, checked and ready for training.

    ``data.x`` [N, F] may be dense, a torch sparse tensor or a scipy sparse matrix; ``normalize_features`` divides
    each row by its sum (rows that sum to 0 stay). Up to ``dense_above`` non-zeros they are kept sparse.

    >>> from torch_geometric.data import Data
    >>> graph = prepare(Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])))
    >>> graph.num_nodes, graph.gcn
    (4, SparseMatrix(4x4, 8 entries, symmetric))
    """
    x: Any = getattr(data, "x", None)
    edge_index: Any = getattr(data, "edge_index", None)
    check_features(x, data)
    check_edges(edge_index, x.shape[0])
    if isinstance(x, Tensor) and x.layout == torch.strided:
        if normalize_features:
            total = x.sum(dim=1, keepdim=True)
            x = x / total.masked_fill(total == 0, 1.0)
        features = Features.from_dense(x, device=device, dense_above=dense_above)
    else:
        matrix = _as_scipy(x)
        if normalize_features:
            sums = np.asarray(matrix.sum(axis=1)).ravel()
            matrix = scipy.sparse.diags_array(1.0 / np.where(sums == 0, 1.0, sums)) @ matrix
        features = Features.from_scipy(matrix, device=device, dense_above=dense_above)
    return Graph(features, edge_index.to(device))


def _as_scipy(x: Any) -> Any:
    if not isinstance(x, Tensor):
        return scipy.sparse.csr_array(x)
    x = x.to_sparse_coo().coalesce().cpu()
    row, column = x.indices().numpy()
    return scipy.sparse.csr_array((x.values().numpy(), (row, column)), shape=tuple(x.shape))


def check_features(x: Any, data: Any) -> None:
    """Raise one clear sentence unless ``x`` holds finite features with one row a node of ``data``."""
    if x is None:
        raise InputError(
            "data.x is missing: features [N, F] are needed; without any, give each node a one-hot row"
        )
    if not isinstance(x, Tensor) and not bool(scipy.sparse.issparse(x)):
        raise InputError(f"data.x must be a tensor or a scipy sparse matrix, got {type(x).__name__}")
    if len(x.shape) != 2 or 0 in x.shape:
        raise InputError(f"data.x must have shape [N, F] with N and F above 0, got {list(x.shape)}")
    values = x.data if not isinstance(x, Tensor) else x if x.layout == torch.strided else x.values()
    if isinstance(values, Tensor) and not values.is_floating_point():
        raise InputError(f"data.x must hold floating-point numbers, got {values.dtype}; use data.x.float()")
    finite = bool(torch.isfinite(values).all()) if isinstance(values, Tensor) else bool(np.isfinite(values).all())
    if not finite:
        raise InputError("data.x must be finite, got NaN or infinite features; drop or fill them first")
    y = getattr(data, "y", None)
    if isinstance(y, Tensor) and y.dim() > 0 and y.shape[0] != x.shape[0]:
        raise InputError(f"data.x has {x.shape[0]} rows but data.y has {y.shape[0]}: both need one a node")


def check_edges(edge_index: Any, num_nodes: int) -> None:
    """Raise one clear sentence unless ``edge_index`` is int64 [2, E] and names nodes that there are."""
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
