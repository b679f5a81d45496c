"""What a user hands over as a graph: the checks of its kind, its edges in whichever form, and sets of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.data import Dataset, HeteroData

from postel.errors import InputError

# Features become float32: a larger number would become infinite.
_LARGEST = torch.finfo(torch.float32).max


def check_graph(data: Any) -> None:
    """Check that something is one graph with one kind of nodes.

    Args:
        data: What a user gave as a graph.

    Raises:
        InputError: If it is a ``HeteroData``, a dataset, a list of graphs or a batch loader.

    Example:
        >>> check_graph(HeteroData())
        Traceback (most recent call last):
            ...
        postel.errors.InputError: data is a HeteroData, whose nodes are of several kinds; soft labels need one ...
    """
    if isinstance(data, HeteroData):
        raise InputError(
            "data is a HeteroData, whose nodes are of several kinds; soft labels need one kind: give "
            "data.to_homogeneous() with train_mask and y, or a Data made of one node type and its own edges"
        )
    if isinstance(data, Dataset):
        raise InputError(f"data is a dataset of {len(data)} graphs; take one, as in dataset[0]")
    if isinstance(data, Sequence) and not isinstance(data, str):
        raise InputError(
            f"data is a {type(data).__name__} of {len(data)} items; give one graph at a time, or join graphs with "
            "torch_geometric.data.Batch.from_data_list"
        )
    if data is None or isinstance(data, Tensor | str):
        raise InputError(f"data must be a torch_geometric Data, got {type(data).__name__}")


def edges_of(data: Any) -> Any:
    """Return the edge entries of a graph, from ``edge_index`` or from ``adj_t``.

    ``torch_geometric.transforms.ToSparseTensor`` replaces ``edge_index`` by the transposed adjacency ``adj_t``, in
    which row i holds the sources of i. It is read whether it is a torch sparse tensor or a ``SparseTensor`` of
    torch-sparse.

    Args:
        data: A graph with ``edge_index`` or ``adj_t``.

    Returns:
        The entries (source, target) as a tensor [2, E], int64 if they are whole numbers and otherwise not checked;
        None if the graph has neither.

    Example:
        >>> from torch_geometric.data import Data
        >>> adjacency = torch.tensor([[0.0, 1.0], [0.0, 0.0]]).to_sparse_csr()
        >>> edges_of(Data(adj_t=adjacency)).tolist()
        [[1], [0]]
    """
    edge_index = getattr(data, "edge_index", None)
    if edge_index is not None:
        # A torch_geometric EdgeIndex is a tensor with more to it, which not every operation knows.
        return _as_int64(edge_index.as_tensor() if hasattr(edge_index, "as_tensor") else edge_index)
    adjacency = getattr(data, "adj_t", None)
    if adjacency is None:
        return None
    row, column, _ = _coordinates(adjacency)
    return _as_int64(torch.stack([column, row]))


def weights_of(data: Any, name: str = "edge_weight") -> Tensor:
    """Return the weight of each edge entry, from an edge attribute or from the values of ``adj_t``.

    Args:
        data: A graph, with one number per entry of :func:`edges_of` under that name.
        name: The name of the attribute, such as ``"edge_weight"`` or ``"edge_attr"``.

    Returns:
        The weights [E], not checked.

    Raises:
        InputError: If the graph has no such attribute, or it holds more than one number per edge.

    Example:
        >>> from torch_geometric.data import Data
        >>> weights_of(Data(edge_attr=torch.tensor([[2.0], [1.0]])), "edge_attr").tolist()
        [2.0, 1.0]
    """
    value = getattr(data, name, None)
    if value is None and getattr(data, "edge_index", None) is None and getattr(data, "adj_t", None) is not None:
        # ToSparseTensor(attr="edge_weight") moves the weights into the matrix.
        value = _coordinates(data.adj_t)[2]
    if value is None:
        raise InputError(f"data has no {name}: set data.{name} to one number per edge, or use edge_weight=False")
    if isinstance(value, Tensor) and value.dim() == 2 and value.size(1) == 1:
        value = value.view(-1)
    if not isinstance(value, Tensor) or value.dim() != 1:
        raise InputError(f"data.{name} must hold one number per edge to count by, got {_describe(value)}")
    return value


def classes_of(y: Any, name: str = "data.y") -> Tensor:
    """Return the class of each node, from whatever form labels come in.

    Args:
        y: Labels [N] or [N, 1], whole numbers of any type or booleans, which are the classes 0 and 1.
        name: What they are called, for the error.

    Returns:
        The classes, int64 [N], not checked; negative for a node without one.

    Raises:
        InputError: If it is something else.

    Example:
        >>> classes_of(torch.tensor([[True], [False]])).tolist()
        [1, 0]
        >>> classes_of(torch.tensor([0.0, 1.0]))
        Traceback (most recent call last):
            ...
        postel.errors.InputError: data.y must be an integer tensor of shape [N], got float32 of shape [2]
    """
    wrong = not isinstance(y, Tensor) or y.is_floating_point() or y.is_complex() or y.layout != torch.strided
    if wrong or not (y.dim() == 1 or (y.dim() == 2 and y.shape[1] == 1)):
        raise InputError(f"{name} must be an integer tensor of shape [N], got {_describe(y)}")
    return y.reshape(-1).to(torch.int64)


def features_of(x: Any) -> Any:
    """Return features in one of two forms, from whatever they come in.

    Args:
        x: Features [N, F]: a dense tensor or array of floating-point numbers of any precision, a torch sparse
            tensor of any layout, or a scipy sparse matrix of any format.

    Returns:
        A dense tensor, float32 or float64, or a float32 ``csr_array``; the numbers are finite.

    Raises:
        InputError: If they are missing, of another type or shape, or not finite.

    Example:
        >>> features_of(scipy.sparse.lil_array([[0, 2]])).dtype, features_of(torch.ones(1, 1).half()).dtype
        (dtype('float32'), torch.float32)
    """
    if x is None:
        raise InputError(
            "data.x is missing: features [N, F] are needed; without any, give each node a one-hot row"
        )
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        x = torch.from_numpy(np.ascontiguousarray(x))
    if not isinstance(x, Tensor) and not bool(scipy.sparse.issparse(x)):
        raise InputError(f"data.x must be a tensor or a scipy sparse matrix, got {type(x).__name__}")
    if len(x.shape) != 2 or 0 in x.shape:
        raise InputError(f"data.x must have shape [N, F] with N and F above 0, got {list(x.shape)}")
    if isinstance(x, Tensor):
        if not x.is_floating_point():
            raise InputError(f"data.x must hold floating-point numbers, got {x.dtype}; use data.x.float()")
        x = _sparse_rows(x.detach()) if x.layout != torch.strided else x.detach()
    elif x.dtype.kind not in "fiub":
        raise InputError(f"data.x must hold numbers, got {x.dtype}")
    if isinstance(x, Tensor):
        x = x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)
        finite = bool((x.abs() <= _LARGEST).all())
    else:
        with np.errstate(over="ignore"):
            x = scipy.sparse.csr_array(x.astype(np.float32))
        finite = bool(np.isfinite(x.data).all())
    if not finite:
        raise InputError("data.x must be finite, got NaN or infinite features; drop or fill them first")
    return x


def _sparse_rows(x: Tensor) -> Any:
    entries = x.to_sparse_coo().coalesce().cpu()
    row, column = entries.indices().numpy()
    values = entries.values().to(torch.float64).numpy()
    return scipy.sparse.csr_array((values, (row, column)), shape=(x.shape[0], x.shape[1]))


def _as_int64(edge_index: Any) -> Any:
    """Return whole numbers as int64; what is something else is for the checks to refuse."""
    whole = isinstance(edge_index, Tensor) and not (edge_index.is_floating_point() or edge_index.is_complex())
    return edge_index.to(torch.int64) if whole and edge_index.dtype != torch.bool else edge_index


def node_index(name: str, nodes: Any, num_nodes: int) -> Tensor:
    """Turn a boolean mask or node ids, as OGB's ``split_idx`` has them, into ids.

    Args:
        name: What the set is called, for the error.
        nodes: A boolean mask [N], or ids, an integer tensor [M].
        num_nodes: Number of nodes, N.

    Returns:
        The ids, int64 [M]; those of a mask are ascending, ids stay in their order.

    Raises:
        InputError: If it is neither, or names a node twice or one that there is not.

    Example:
        >>> node_index("mask", torch.tensor([False, True]), 2).tolist()
        [1]
        >>> node_index("train_mask", torch.tensor([2, 0]), 3).tolist()
        [2, 0]
    """
    if not isinstance(nodes, Tensor) or nodes.is_floating_point() or nodes.is_complex() or nodes.dim() != 1:
        hint = f"; choose a split, as in {name}[:, 0]" if isinstance(nodes, Tensor) and nodes.dim() == 2 else ""
        raise InputError(
            f"{name} must be a boolean tensor of shape [{num_nodes}] or node ids, got {_describe(nodes)}{hint}"
        )
    if nodes.dtype == torch.bool:
        if nodes.numel() != num_nodes:
            raise InputError(f"{name} must be a boolean tensor of shape [{num_nodes}], got {_describe(nodes)}")
        return nodes.nonzero().view(-1)
    # A mask of 0 and 1 that lost its type would be read as the nodes 0 and 1.
    if nodes.dtype == torch.uint8:
        raise InputError(f"{name} is uint8, which may be a mask or node ids; use {name}.bool() or {name}.long()")
    index = nodes.to(torch.int64)
    if index.numel():
        low, high = int(index.min()), int(index.max())
        if low < 0 or high >= num_nodes:
            raise InputError(f"{name} must name nodes in [0, {num_nodes - 1}], got {low if low < 0 else high}")
        if index.unique().numel() != index.numel():
            raise InputError(
                f"{name} names a node twice: ids must differ, and a mask must be a boolean tensor ({name}.bool())"
            )
    return index


def _coordinates(adjacency: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return rows, columns and values of a sparse matrix of torch or torch-sparse."""
    if not isinstance(adjacency, Tensor):
        if not callable(getattr(adjacency, "coo", None)):
            raise InputError(f"data.adj_t must be a sparse matrix, got {type(adjacency).__name__}")
        row, column, value = adjacency.coo()
        return row, column, value
    if adjacency.layout == torch.strided:
        raise InputError("data.adj_t must be a sparse matrix, got a dense tensor; use data.edge_index")
    entries = adjacency.to_sparse_coo().coalesce()
    row, column = entries.indices()
    return row, column, entries.values()


def _describe(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {list(value.shape)}".replace("torch.", "")
    return type(value).__name__
