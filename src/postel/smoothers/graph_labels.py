"""The training labels of a graph, as every method reads them."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from postel.errors import InputError
from postel.graph_input import check_graph, classes_of, edges_of
from postel.labels import KnownLabels


def known_labels(data: Data, num_classes: int | None = None) -> KnownLabels:
    """Take the training labels out of a graph; no other label is looked at.

    Args:
        data: A graph with ``edge_index`` or ``adj_t``, ``y`` and ``train_mask``, a mask or node ids.
        num_classes: Number of classes; without it ``data.num_classes``, and where that is missing too the largest
            training label plus one.

    Returns:
        The training labels.

    Raises:
        InputError: If something is missing or has the wrong shape or type.
    """
    check_graph(data)
    for name, what in (
        ("edge_index", "the edges, int64 [2, E]"),
        ("y", "the classes, int64 [N]"),
        ("train_mask", "a boolean tensor [N] that is True for training nodes, or their ids"),
    ):
        if (edges_of(data) if name == "edge_index" else getattr(data, name, None)) is None:
            raise InputError(f"data has no {name}: set data.{name} to {what}")
    y, mask = classes_of(data.y, "y"), data.train_mask
    if isinstance(mask, Tensor) and mask.dim() == 2:
        raise InputError(
            f"train_mask holds {mask.size(1)} splits: choose one, as in data.train_mask = data.train_mask[:, 0]"
        )
    x = getattr(data, "x", None)
    rows = getattr(x, "shape", None)
    if rows is not None and len(rows) > 0 and rows[0] != y.size(0):
        raise InputError(f"y must have one entry per node ({rows[0]} rows in x), got {y.size(0)}")
    if num_classes is None and "num_classes" in data:
        num_classes = int(data.num_classes)
    return KnownLabels.from_mask(y, mask, num_classes)
