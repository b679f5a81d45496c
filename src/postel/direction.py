"""The direction in which labels are read along edges, in the words of torch_geometric's ``MessagePassing``."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from postel.settings import Flow
from postel.statistics import for_each_block

_ENTRIES = 1 << 18
_told: list[bool] = []

# Tensors that were found to go both ways, with their version then: a change in place makes a new one.
_undirected: WeakIdKeyDictionary = WeakIdKeyDictionary()


def is_directed(edge_index: Tensor, num_nodes: int) -> bool:
    """Tell whether some entry has no way back, counted as often as it occurs.

    With random vectors a and b, ``a A b`` equals ``b A a`` for every symmetric A, and for others all but never: a
    product of 64-bit numbers leaves one chance in some 10^18. That takes one pass over the edges and no sorting.

    Args:
        edge_index: The edge entries, int64 [2, E], of nodes that there are.
        num_nodes: Number of nodes.

    Returns:
        Whether the graph is directed; self-loops say nothing.

    Example:
        >>> is_directed(torch.tensor([[0, 1], [1, 0]]), 2), is_directed(torch.tensor([[0], [1]]), 2)
        (False, True)
    """
    random = torch.Generator().manual_seed(0)
    draws = torch.randint(-(2**62), 2**62, (2, num_nodes), generator=random).to(edge_index.device)
    left, right = draws
    blocks = edge_index.split(_ENTRIES, dim=1) if edge_index.numel() else ()
    totals: list[Tensor] = []

    def add_up(block: Tensor) -> None:
        source, target = block
        there = left.index_select(0, source).mul_(right.index_select(0, target))
        back = left.index_select(0, target).mul_(right.index_select(0, source))
        totals.append(there.sub_(back).sum())  # modulo 2^64, and so the same in any order

    for_each_block(add_up, blocks, torch.get_num_threads() if edge_index.device.type == "cpu" else 1)
    return bool(totals) and bool(torch.stack(totals).sum() != 0)


def known_undirected(edge_index: Tensor) -> bool:
    """Tell whether :func:`oriented` has found these very entries to go both ways, without looking at them again.

    Args:
        edge_index: The edge entries.

    Returns:
        True if so; False if they are directed, were never looked at, or were changed since.

    Example:
        >>> edges = torch.tensor([[0, 1], [1, 0]])
        >>> before = known_undirected(edges)
        >>> before, known_undirected(oriented(edges, 2, "source_to_target"))
        (False, True)
    """
    return not edge_index.is_inference() and _undirected.get(edge_index) == edge_index._version


def oriented(edge_index: Tensor, num_nodes: int, flow: Flow, *, weighted: bool = False) -> Tensor:
    """Turn entries round where labels flow from source to target; an undirected graph stays as it is.

    The first time that a directed graph is read in the default direction, a warning says so.

    Args:
        edge_index: The edge entries, int64 [2, E], of nodes that there are.
        num_nodes: Number of nodes.
        flow: The direction.
        weighted: Whether entries have weights, which may differ between the two directions of a link.

    Returns:
        Entries (i, j) that make j a neighbor of i, which is how everything below reads them.

    Example:
        >>> oriented(torch.tensor([[0], [1]]), 2, "target_to_source").tolist()
        [[0], [1]]
    """
    if flow == "target_to_source":
        return edge_index
    if not is_directed(edge_index, num_nodes):
        if not edge_index.is_inference():
            _undirected[edge_index] = edge_index._version
        return edge_index.flip(0) if weighted else edge_index
    if not _told:
        _told.append(True)
        warnings.warn(
            "the graph is directed: soft labels read the labels of a node's sources (flow='source_to_target'), as "
            "torch_geometric's layers do; flow='target_to_source' reads those of its targets, and "
            "torch_geometric.transforms.ToUndirected() makes it go both ways",
            UserWarning,
            stacklevel=3,
        )
    return edge_index.flip(0)
