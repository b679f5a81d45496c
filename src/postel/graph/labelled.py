"""A prepared graph with its labels and a split: what many trainings on one graph share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from postel.graph.prepared import Graph, prepare
from postel.graph_input import classes_of


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """A prepared graph, the classes of its nodes and the masks of one split.

    ``NodeClassifier`` takes it where it takes a ``Data``. Splits of one graph share everything but the masks, so
    the graph is checked and prepared once.

    Args:
        graph: The prepared graph.
        y: The class of every node, int64 [N].
        num_classes: Number of classes; if None, the largest label of training and validation nodes plus one.
        train_mask: True for training nodes, boolean [N].
        val_mask: True for validation nodes, boolean [N].
        test_mask: True for test nodes, boolean [N], or None.
        class_names: Names of the classes, or None.
        feature_names: Names of the features, or None.
        edge_weight: How often each edge entry counts for soft labels that ask for it [E], or None; the networks
            do not use it.

    Example:
        >>> from torch_geometric.data import Data
        >>> data = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1]))
        >>> whole = LabelledGraph.from_data(data)
        >>> first, second = (whole.with_masks(mask, ~mask) for mask in torch.eye(2, dtype=torch.bool))
        >>> first.graph is second.graph, second.train_mask.tolist()
        (True, [False, True])
    """

    graph: Graph
    y: Tensor
    num_classes: int | None = None
    train_mask: Tensor | None = None
    val_mask: Tensor | None = None
    test_mask: Tensor | None = None
    class_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    edge_weight: Tensor | None = None

    @classmethod
    def from_data(cls, data: Any, *, device: torch.device | str = "cpu") -> LabelledGraph:
        """Prepare the graph of a ``Data``, and take its labels and masks along.

        Args:
            data: Anything with ``x``, ``edge_index`` and ``y``; the three masks and ``num_classes`` are optional.
            device: Where the trainings will run.

        Returns:
            The labelled graph.

        Raises:
            InputError: If features, edges or labels are missing or do not fit together.
        """
        y = classes_of(getattr(data, "y", None))
        stored = hasattr(data, "__contains__") and "num_classes" in data
        masks = {name: getattr(data, name, None) for name in ("train_mask", "val_mask", "test_mask")}
        others = {name: getattr(data, name, None) for name in ("class_names", "feature_names", "edge_weight")}
        return cls(prepare(data, device=device), y, int(data.num_classes) if stored else None, **masks, **others)

    def with_masks(self, train_mask: Tensor, val_mask: Tensor, test_mask: Tensor | None = None) -> LabelledGraph:
        """Return the same graph under another split.

        Args:
            train_mask: True for training nodes, boolean [N].
            val_mask: True for validation nodes, boolean [N].
            test_mask: True for test nodes, boolean [N], or None.

        Returns:
            A labelled graph that shares everything else with this one.
        """
        return replace(self, train_mask=train_mask, val_mask=val_mask, test_mask=test_mask)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.graph.num_nodes

    @property
    def edge_index(self) -> Tensor:
        """The edge entries, int64 [2, E]."""
        return self.graph.edge_index

    @property
    def x(self) -> Tensor:
        """The features as a dense tensor [N, F]; it is made on first use and then reused."""
        return self.graph.features.dense()
