"""From stored edge entries and features to the ones that a model sees."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import NormalizeFeatures
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

from postel.errors import InputError

Recipe = Literal["paper", "sound"]


def apply_recipe(edge_index: Tensor, num_nodes: int, recipe: str, symmetrise: bool) -> Tensor:
    """The entries [2, E] under ``recipe``: as the paper took them, or sound (symmetric, no loop, no repetition).

    ``symmetrise`` says whether the paper made this dataset symmetric; it kept self-loops when it did.

    >>> edges = torch.tensor([[0, 1, 2], [1, 1, 0]])
    >>> apply_recipe(edges, 3, "paper", symmetrise=True).tolist()
    [[0, 0, 1, 1, 2], [1, 2, 0, 1, 0]]
    >>> apply_recipe(edges, 3, "sound", symmetrise=False).tolist()
    [[0, 0, 1, 2], [1, 2, 0, 0]]
    """
    if recipe not in get_args(Recipe):
        raise InputError(f"recipe must be paper or sound, got {recipe!r}")
    if recipe == "sound":
        loopless, _ = remove_self_loops(edge_index)
        if _is_tidy(loopless, num_nodes):
            return loopless  # in the order of the file: nothing had to be done
        return to_undirected(loopless, num_nodes=num_nodes)
    return to_undirected(edge_index, num_nodes=num_nodes) if symmetrise else edge_index


def dense_features(x: Any, normalise: bool) -> Tensor:
    """Features as float32 [N, F]; with ``normalise`` each row is scaled to sum to 1, as torch_geometric does it.

    >>> from scipy.sparse import csr_array
    >>> dense_features(csr_array(np.array([[1.0, 3.0], [0.0, 0.0]])), normalise=True).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    # A memory-mapped array stays one: pages are read when a row is used.
    array: Any = x if isinstance(x, np.ndarray) else x.toarray()
    features = torch.from_numpy(array).to(torch.float32)
    if not normalise:
        return features
    if isinstance(array, np.memmap):
        features = features.clone()
    return NormalizeFeatures()(Data(x=features)).x


def _is_tidy(edge_index: Tensor, num_nodes: int) -> bool:
    by_row = coalesce(edge_index, num_nodes=num_nodes)
    if by_row.size(1) != edge_index.size(1):
        return False
    by_column = coalesce(edge_index.flip(0), num_nodes=num_nodes)
    return torch.equal(by_row, by_column)
