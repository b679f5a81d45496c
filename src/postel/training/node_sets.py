"""Which nodes are in training, validation and test, and their classes: read from ``data`` and checked once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from postel.checks import check_largest_label
from postel.errors import InputError
from postel.graph import LabelledGraph
from postel.graph_input import classes_of, node_index


def labelled_sets(
    data: Any, num_classes: int | None, device: torch.device
) -> tuple[dict[str, tuple[Tensor, Tensor]], int]:
    """Read which nodes are in training, validation and test, and the number of classes.

    Test labels never decide the number of classes: it shapes the network, and with it every prediction.

    Args:
        data: A ``Data`` or a :class:`~postel.graph.LabelledGraph`, with masks; the test mask may be missing or
            empty.
        num_classes: Number of classes; without it the one stored in ``data``, else the largest class of training
            and validation nodes plus one.
        device: Where the tensors go.

    Returns:
        Node ids and classes of the sets "train", "val" and (if there is one) "test", and the number of classes.

    Raises:
        InputError: If a mask or a label is wrong, or sets share nodes.

    Example:
        >>> from torch_geometric.data import Data
        >>> mask = torch.tensor([True, False])
        >>> data = Data(y=torch.tensor([0, 1]), train_mask=mask, val_mask=~mask)
        >>> sets, num_classes = labelled_sets(data, None, torch.device("cpu"))
        >>> sorted(sets), num_classes
        (['train', 'val'], 2)
    """
    y = classes_of(getattr(data, "y", None)).to(device)
    sets: dict[str, tuple[Tensor, Tensor]] = {}
    for name in ("train", "val", "test"):
        mask = getattr(data, f"{name}_mask", None)
        if mask is None and name == "test":
            continue
        # In ascending order, so that ids and the mask of the same nodes give the same bytes.
        index = node_index(f"data.{name}_mask", mask, y.numel()).to(device).sort().values
        if index.numel() == 0:
            if name == "test":
                continue
            raise InputError(f"data.{name}_mask selects no node; at least one is needed")
        sets[name] = (index, y[index].long())
    if num_classes is None and isinstance(data, LabelledGraph):
        num_classes = data.num_classes
    elif num_classes is None and isinstance(data, Data) and "num_classes" in data:
        num_classes = int(data.num_classes)
    chosen = torch.cat([index for index, _ in sets.values()])
    if chosen.unique().numel() != chosen.numel():
        raise InputError("train_mask, val_mask and test_mask must not share nodes")
    largest = max(int(classes.max()) for _, classes in sets.values())
    if min(int(classes.min()) for _, classes in sets.values()) < 0:
        raise InputError("labels of training, validation and test nodes must not be negative")
    stated = num_classes is not None
    if num_classes is None:
        num_classes = max(int(sets[name][1].max()) for name in ("train", "val")) + 1
        check_largest_label(num_classes - 1)
    if largest >= num_classes:
        hint = "" if stated else ": no training or validation node has it, so set num_classes"
        raise InputError(f"labels must lie in [0, {num_classes - 1}], got {largest}{hint}")
    return sets, num_classes


def scored_nodes(data: Any, nodes: Any, num_classes: int) -> tuple[Tensor, Tensor]:
    """Read the nodes to score and their classes.

    Args:
        data: A graph with labels ``y``.
        nodes: A boolean mask [N] or node ids.
        num_classes: Number of classes that the model knows.

    Returns:
        The ids of the nodes, ascending, and their classes, int64 [M] each, on the CPU.

    Raises:
        InputError: If labels or mask are missing or of the wrong kind, or a chosen node has no label that the
            model knows.

    Example:
        >>> from torch_geometric.data import Data
        >>> index, classes = scored_nodes(Data(y=torch.tensor([1, -1])), torch.tensor([True, False]), 2)
        >>> index.tolist(), classes.tolist()
        ([0], [1])
    """
    y = getattr(data, "y", None)
    if y is None:
        raise InputError("data.y is missing: a score compares predictions with labels, int64 [N]")
    y = classes_of(y).cpu()
    if nodes is None:
        raise InputError("there are no nodes to score: give a mask, or data with a test_mask")
    index = node_index("mask", nodes, y.numel()).cpu().sort().values
    classes = y[index]
    if index.numel() and int(classes.min()) < 0:
        raise InputError(
            f"the mask selects {int((classes < 0).sum())} nodes without label (y is {int(classes.min())}): leave "
            "them out, as in mask & (data.y >= 0)"
        )
    if index.numel() and int(classes.max()) >= num_classes:
        raise InputError(
            f"the mask selects a node of class {int(classes.max())}, and the model knows the classes 0 to "
            f"{num_classes - 1}: leave it out, or fit with num_classes={int(classes.max()) + 1}"
        )
    return index, classes
