"""Which nodes are in training, validation and test, and their classes: read from ``data`` and checked once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from postel.errors import InputError
from postel.graph import LabelledGraph
from postel.graph_input import node_index


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
    y = getattr(data, "y", None)
    if not isinstance(y, Tensor) or y.numel() != y.shape[0] or y.is_floating_point():
        raise InputError("data.y must be an integer tensor of shape [N]")
    y = y.view(-1).to(device)
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
    if largest >= num_classes:
        hint = "" if stated else ": no training or validation node has it, so set num_classes"
        raise InputError(f"labels must lie in [0, {num_classes - 1}], got {largest}{hint}")
    return sets, num_classes
