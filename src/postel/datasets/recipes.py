"""From stored edge entries and features to the ones that a model sees."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

from postel.errors import InputError

Recipe = Literal["paper", "sound"]

# Rows made dense at a time to sum them.
_ROWS = 1024

# Dense features of so many bytes are always made; more if they are at most so many times the sparse ones.
_LEAST_DENSE_LIMIT = 2 << 30
_MOST_SPREADING = 2000


def apply_recipe(
    edge_index: Tensor, num_nodes: int, recipe: str, symmetrize: bool, edge_weight: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Apply a recipe to edge entries: as the paper took them, or sound (symmetric, no loop, no repetition).

    Args:
        edge_index: The stored entries, int64 [2, E].
        num_nodes: Number of nodes.
        recipe: ``"paper"`` or ``"sound"``.
        symmetrize: Whether the paper made this dataset symmetric; it kept self-loops when it did.
        edge_weight: The weight of each entry [E], or None.

    Returns:
        The entries under the recipe, and their weights; where entries were merged or turned round, the mean.

    Raises:
        InputError: If there is no such recipe.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 1, 0]])
        >>> apply_recipe(edges, 3, "paper", symmetrize=True)[0].tolist()
        [[0, 0, 1, 1, 2], [1, 2, 0, 1, 0]]
        >>> apply_recipe(edges, 3, "sound", symmetrize=False)[0].tolist()
        [[0, 0, 1, 2], [1, 2, 0, 0]]
    """
    if recipe not in get_args(Recipe):
        raise InputError(f"recipe must be paper or sound, got {recipe!r}")
    if recipe == "sound":
        edge_index, edge_weight = remove_self_loops(edge_index, edge_weight)
        if _is_tidy(edge_index, num_nodes):
            return edge_index, edge_weight  # in the order of the file: nothing had to be done
    elif not symmetrize:
        return edge_index, edge_weight
    if edge_weight is None:
        return to_undirected(edge_index, num_nodes=num_nodes), None
    return to_undirected(edge_index, edge_weight, num_nodes=num_nodes, reduce="mean")


def recipe_features(x: Any, normalize: bool) -> Any:
    """The features that a model sees, as sparse as they are stored.

    Args:
        x: Stored features [N, F]: a scipy CSR array, or a dense (perhaps memory-mapped) array.
        normalize: Whether each row is scaled to sum to 1, as torch_geometric's ``NormalizeFeatures`` does it.

    Returns:
        A float32 ``csr_array`` where that is what is stored and scaling leaves its zeros, else a float32 tensor.

    Example:
        >>> from scipy.sparse import csr_array
        >>> recipe_features(csr_array(np.array([[1.0, 3.0], [0.0, 0.0]])), normalize=True).data.tolist()
        [0.25, 0.75]
    """
    if isinstance(x, np.ndarray):
        # A memory-mapped array stays one: pages are read when a row is used.
        features = torch.from_numpy(x).to(torch.float32)
        return _normalized(features) if normalize else features
    x = csr_array(x, dtype=np.float32)
    if not normalize:
        return x
    lowest = min(float(x.data.min(initial=0.0)), 0.0)
    if lowest < 0 or x.nnz == x.shape[0] * x.shape[1]:
        return _normalized(torch.from_numpy(x.toarray()))  # shifted by the lowest value, so nothing stays 0
    counts = np.diff(x.indptr)
    return csr_array((x.data / np.repeat(_row_sums(x), counts), x.indices, x.indptr), shape=x.shape)


def dense_features(x: Any, normalize: bool) -> Tensor:
    """The features of :func:`recipe_features` as a dense tensor.

    Args:
        x: Stored features [N, F], sparse or dense.
        normalize: Whether each row is scaled to sum to 1.

    Returns:
        float32 [N, F].

    Example:
        >>> from scipy.sparse import csr_array
        >>> dense_features(csr_array(np.array([[1.0, 3.0], [0.0, 0.0]])), normalize=True).tolist()
        [[0.25, 0.75], [0.0, 0.0]]
    """
    features = recipe_features(x, normalize)
    return features if isinstance(features, Tensor) else dense_tensor(features)


def dense_tensor(x: Any) -> Tensor:
    """Make sparse features dense, unless that takes a memory that no user can have meant.

    Args:
        x: Features, a ``csr_array`` [N, F].

    Returns:
        The same features as a tensor.

    Raises:
        InputError: If they would take gigabytes and nearly all of them are 0.
    """
    size = x.shape[0] * x.shape[1] * x.dtype.itemsize
    if size > max(_LEAST_DENSE_LIMIT, _MOST_SPREADING * x.nnz * 8):
        raise InputError(
            f"features of shape {list(x.shape)} would take {size / 2**30:.0f} GB as a dense tensor, for {x.nnz} "
            "that are not 0: leave out features that few nodes have, or use the commands, which keep them sparse"
        )
    return torch.from_numpy(x.toarray())


def _normalized(x: Tensor) -> Tensor:
    x = x - x.min()
    return x.div_(x.sum(dim=-1, keepdim=True).clamp_(min=1.0))


def _row_sums(x: Any) -> Any:
    """Sums of the rows, at least 1, to the bit those that torch finds for dense rows."""
    blocks = [x[first : first + _ROWS].toarray() for first in range(0, x.shape[0], _ROWS)]
    return np.concatenate([torch.from_numpy(block).sum(dim=-1).clamp_(min=1.0).numpy() for block in blocks])


def _is_tidy(edge_index: Tensor, num_nodes: int) -> bool:
    by_row = coalesce(edge_index, num_nodes=num_nodes)
    if by_row.size(1) != edge_index.size(1):
        return False
    by_column = coalesce(edge_index.flip(0), num_nodes=num_nodes)
    return torch.equal(by_row, by_column)
