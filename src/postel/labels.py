"""The only carrier of labels: which nodes are labelled, with which class, and whether in training or by a model.

No function of the method takes the full label vector, so a hidden label cannot be used by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from postel.checks import check_largest_label
from postel.errors import InputError
from postel.graph_input import node_index

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """The labelled nodes of a graph; build one with :meth:`from_mask`, :meth:`from_index` or :meth:`with_pseudo`.

    Args:
        index: Ids of the labelled nodes, int64 [M], ascending and unique.
        classes: Their classes, int64 [M].
        is_train: True for training labels and False for pseudo-labels, bool [M].
        num_nodes: Number of nodes of the graph, N.
        num_classes: Number of classes, K.
        evidence: What a model says of every node, float [N, K], where it was asked: see :meth:`with_evidence`.

    Example:
        >>> known = KnownLabels.from_mask(torch.tensor([0, 1, 1, 0]), torch.tensor([True, True, False, False]))
        >>> known.index.tolist(), known.classes.tolist(), known.num_classes
        ([0, 1], [0, 1], 2)
        >>> both = known.with_pseudo(torch.tensor([3, 2]), torch.tensor([1, 0]))
        >>> both.dense().tolist(), both.is_train.tolist()
        ([0, 1, 0, 1], [True, True, False, False])
    """

    index: Tensor
    classes: Tensor
    is_train: Tensor
    num_nodes: int
    num_classes: int
    evidence: Tensor | None = None

    @classmethod
    def from_mask(cls, y: Tensor, mask: Tensor, num_classes: int | None = None) -> KnownLabels:
        """Take the training labels ``y[mask]``; ``y`` is read nowhere else, so hidden entries may hold anything.

        Args:
            y: The class of each node, int64 [N].
            mask: True for training nodes, bool [N], or the ids of the training nodes, int64 [M].
            num_classes: Number of classes; the largest training class plus one without it.

        Returns:
            The training labels.

        Raises:
            InputError: If shapes or types are wrong, there is no training node, or a class is out of range.
        """
        if not isinstance(y, Tensor) or y.dim() != 1:
            raise InputError(f"y must be a tensor of shape [N], got {_describe(y)}")
        index = node_index("train_mask", mask, y.numel()).to(y.device)
        return cls.from_index(index, y[index], num_nodes=y.numel(), num_classes=num_classes)

    @classmethod
    def from_index(
        cls, index: Tensor, classes: Tensor, *, num_nodes: int, num_classes: int | None = None
    ) -> KnownLabels:
        """Take training labels as node ids and their classes.

        Args:
            index: Ids of the training nodes, int64 [M], in any order.
            classes: Their classes, int64 [M].
            num_nodes: Number of nodes of the graph.
            num_classes: Number of classes; the largest training class plus one without it.

        Returns:
            The training labels, ordered by node.

        Raises:
            InputError: If shapes or types are wrong, there is no training node, a node is named twice, or an id or
                a class is out of range.

        Example:
            >>> KnownLabels.from_index(torch.tensor([3, 0]), torch.tensor([1, 0]), num_nodes=4).index.tolist()
            [0, 3]
        """
        index, classes = _checked(index, classes, num_nodes)
        if index.numel() == 0:
            raise InputError("there is no training node: train_mask selects none of the nodes")
        largest = int(classes.max())
        if num_classes is None:
            check_largest_label(largest)
            num_classes = largest + 1
        if isinstance(num_classes, bool) or not isinstance(num_classes, int):
            raise InputError(f"num_classes must be a whole number, got {num_classes!r}")
        if num_classes < 2:
            raise InputError(
                f"at least 2 classes are needed, got {num_classes}: give num_classes if some have no training node"
            )
        if largest >= num_classes:
            raise InputError(f"labels must lie in [0, {num_classes - 1}], got {largest}")
        is_train = torch.ones_like(index, dtype=torch.bool)
        return cls(index, classes, is_train, num_nodes, num_classes)

    def with_pseudo(self, index: Tensor, classes: Tensor) -> KnownLabels:
        """Add pseudo-labels; earlier pseudo-labels are dropped, training labels are kept.

        Args:
            index: Ids of the pseudo-labelled nodes, int64 [M], in any order.
            classes: Their classes, int64 [M].

        Returns:
            Training labels and the new pseudo-labels.

        Raises:
            InputError: If shapes or types are wrong, an id or a class is out of range, or a training node is
                named: its true label must not be overwritten.
        """
        index, classes = _checked(index, classes, self.num_nodes, what="pseudo-labels")
        index, classes = index.to(self.index.device), classes.to(self.index.device)
        if index.numel() and int(classes.max()) >= self.num_classes:
            raise InputError(f"pseudo-labels must lie in [0, {self.num_classes - 1}], got {int(classes.max())}")
        train = self.train_only()
        table = torch.full((self.num_nodes,), UNKNOWN, dtype=torch.int64, device=self.index.device)
        table[index] = classes
        if bool((table[train.index] != UNKNOWN).any()):
            raise InputError("pseudo-labels must not name training nodes: their labels are known")
        table[train.index] = train.classes
        joined = (table != UNKNOWN).nonzero().view(-1)
        is_train = torch.zeros(self.num_nodes, dtype=torch.bool, device=self.index.device)
        is_train[train.index] = True
        return KnownLabels(joined, table[joined], is_train[joined], self.num_nodes, self.num_classes)

    def with_evidence(self, probabilities: Tensor, *, copy: bool = True) -> KnownLabels:
        """Return the training labels with a model's probabilities as evidence about all other nodes.

        Rows of training nodes are overwritten with their one-hot labels, so a model's output can be passed as it
        is. A row of zeros says nothing; a row that sums to less than 1 counts as a part of a label.

        Args:
            probabilities: One row per node over the classes, float [N, K].
            copy: Whether to leave the caller's tensor alone; ``False`` saves its memory and overwrites it.

        Returns:
            The training labels, without pseudo-labels, whose ``evidence`` is that table.

        Raises:
            InputError: If the table has another shape, or rows that are no (parts of) distributions.

        Example:
            >>> known = KnownLabels.from_index(torch.tensor([0]), torch.tensor([1]), num_nodes=2)
            >>> known.with_evidence(torch.tensor([[0.5, 0.5], [0.25, 0.75]])).evidence.tolist()
            [[0.0, 1.0], [0.25, 0.75]]
        """
        expected = (self.num_nodes, self.num_classes)
        if not isinstance(probabilities, Tensor) or not probabilities.is_floating_point():
            raise InputError(f"evidence must be a float tensor of shape [N, K], got {_describe(probabilities)}")
        if tuple(probabilities.shape) != expected:
            raise InputError(f"evidence must have shape {list(expected)}, got {list(probabilities.shape)}")
        if probabilities.dtype not in (torch.float32, torch.float64):
            probabilities, copy = probabilities.to(torch.float32), False
        rows = probabilities.detach()
        rows = empty_table(self.num_nodes, self.num_classes, rows).copy_(rows) if copy else rows.contiguous()
        train = self.train_only()
        rows.index_fill_(0, train.index.to(rows.device), 0.0)
        rows[train.index.to(rows.device), train.classes.to(rows.device)] = 1.0
        # A comparison with NaN is False, so what is asked for is what must hold.
        if not (float(rows.min()) >= 0 and float(rows.sum(dim=1).max()) <= 1 + 1e-4):
            raise InputError("evidence must hold probabilities: rows of numbers from 0 up that sum to at most 1")
        return KnownLabels(
            train.index, train.classes, train.is_train, self.num_nodes, self.num_classes, evidence=rows
        )

    def train_only(self) -> KnownLabels:
        """Return these labels without pseudo-labels and evidence."""
        if self.evidence is None and bool(self.is_train.all()):
            return self
        keep = self.is_train
        return KnownLabels(
            self.index[keep], self.classes[keep], self.is_train[keep], self.num_nodes, self.num_classes
        )

    def to(self, device: torch.device | str) -> KnownLabels:
        """Move the tensors to a device.

        Args:
            device: The device.

        Returns:
            The same labels there.
        """
        if self.index.device == torch.device(device):
            return self
        index, classes, is_train = (part.to(device) for part in (self.index, self.classes, self.is_train))
        evidence = None if self.evidence is None else self.evidence.to(device)
        return KnownLabels(index, classes, is_train, self.num_nodes, self.num_classes, evidence)

    def dense(self) -> Tensor:
        """Return the class of every node, int64 [N], -1 where it is not known."""
        out = torch.full((self.num_nodes,), UNKNOWN, dtype=torch.int64, device=self.index.device)
        out[self.index] = self.classes
        return out

    def one_hot(self) -> Tensor:
        """Return the one-hot rows of the labelled nodes, float64 [M, K], in the order of ``index``."""
        return torch.nn.functional.one_hot(self.classes, self.num_classes).to(torch.float64)


def empty_table(num_nodes: int, num_classes: int, like: Tensor) -> Tensor:
    """Make room for one row per node, in memory that rows can be looked up in quickly.

    Args:
        num_nodes: Number of nodes.
        num_classes: Number of classes.
        like: A float32 or float64 tensor with the type and device that are wanted.

    Returns:
        A tensor [N, K] with nothing in it yet.

    Example:
        >>> empty_table(3, 2, torch.ones(1)).shape
        torch.Size([3, 2])
    """
    if like.device.type != "cpu":
        return like.new_empty(num_nodes, num_classes)
    # Numpy asks the system for large pages and torch does not: rows in random order are found a quarter faster.
    return torch.from_numpy(np.empty((num_nodes, num_classes), str(like.dtype).removeprefix("torch.")))


def _checked(index: Tensor, classes: Tensor, num_nodes: int, what: str = "labels") -> tuple[Tensor, Tensor]:
    for name, tensor in (("index", index), ("classes", classes)):
        if not isinstance(tensor, Tensor) or tensor.dim() != 1 or tensor.is_floating_point():
            raise InputError(f"{what}: {name} must be an integer tensor of shape [M], got {_describe(tensor)}")
        if tensor.dtype == torch.bool or tensor.is_complex():
            raise InputError(f"{what}: {name} must be an integer tensor of shape [M], got {_describe(tensor)}")
    if index.numel() != classes.numel():
        raise InputError(f"{what}: {index.numel()} nodes but {classes.numel()} classes")
    index, classes = index.to(torch.int64), classes.to(torch.int64)
    if index.numel() == 0:
        return index, classes
    if bool((index[1:] < index[:-1]).any()):
        index, order = index.sort()
        classes = classes[order]
    if int(index[0]) < 0 or int(index[-1]) >= num_nodes:
        raise InputError(
            f"{what}: node ids must lie in [0, {num_nodes - 1}], got {int(index[0])}..{int(index[-1])}"
        )
    if bool((index[1:] == index[:-1]).any()):
        raise InputError(f"{what}: a node is named twice")
    if int(classes.min()) < 0:
        raise InputError(f"{what} must not be negative, got {int(classes.min())}")
    return index, classes


def _describe(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {list(value.shape)}".replace("torch.", "")
    return type(value).__name__
