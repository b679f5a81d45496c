"""What every soft-label method shares: the transform, its checks, and the one method that each writes."""

from __future__ import annotations

import copy
import inspect
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from postel.checks import did_you_mean
from postel.direction import oriented
from postel.errors import InputError
from postel.graph_input import edges_of, weights_of
from postel.labels import KnownLabels
from postel.settings import Accept, EvidenceKind, Flow
from postel.smoothers.graph_labels import known_labels
from postel.statistics import check_edge_index
from postel.weighted_statistics import check_edge_weight


@dataclass(frozen=True, eq=False)
class TrainTargets:
    """What one round of training is fitted to: the soft labels of the training nodes and what they rest on.

    Args:
        rows: One distribution per training node, [M, K], in the order of ``known.train_only().index``.
        statistics: What the method estimated from the labels on the way, by name, such as ``prior`` [K] and
            ``conditional`` [K, K]; empty for a method that estimates nothing. They go into ``history_``.
        other_nodes: Nodes outside training that the round is fitted to as well [O], for a method that wants it.
        other_rows: Their distributions [O, K].
    """

    rows: Tensor
    statistics: Mapping[str, Any] = field(default_factory=dict)
    other_nodes: Tensor | None = None
    other_rows: Tensor | None = None


class Smoother(BaseTransform):
    """A soft-label method, and the torch_geometric transform that adds its ``soft_y`` [N, K] to a ``Data``.

    A method is a subclass whose constructor arguments are its hyper-parameters, stored under their own names, and
    which writes ``_soft_labels``. Its name in commands and results is its file's name.
    """

    num_classes: int | None = None
    #: Which end of an edge is a neighbor of which, where a whole graph is read.
    flow: Flow = "source_to_target"
    #: Whether edges count by ``data.edge_weight``, or by the edge attribute of this name.
    edge_weight: bool | str = False
    #: How pseudo-labels enter, for a method that uses them.
    evidence: EvidenceKind = "hard"
    #: When a round is kept; any rule but ``"loss"`` starts from the model trained on one-hot labels.
    accept: Accept = "loss"

    @property
    def uses_pseudo_labels(self) -> bool:
        """Whether pseudo-labels of other nodes change a training node's soft label."""
        return False

    @classmethod
    def method_name(cls) -> str:
        """Return the method's name in commands and results, which is the name of its file."""
        return cls.__module__.rpartition(".")[2]

    def params(self) -> dict[str, Any]:
        """Return the constructor arguments of this object by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def replaced(self, **changes: Any) -> Self:
        """Make the same method with some arguments changed.

        Args:
            **changes: New values by name.

        Returns:
            A new object; this one stays as it is.

        Raises:
            InputError: If there is no such argument, or a value is out of its range.

        Example:
            >>> from postel import SALS
            >>> SALS(0.3).replaced(weight="sym").smoothing
            0.3
        """
        known = self.params()
        for name in changes:
            if name not in known:
                hint = did_you_mean(name, known)
                raise InputError(
                    f"{type(self).__name__} has no argument {name!r}; {hint}it takes {', '.join(known)}"
                )
        return type(self)(**{**known, **changes})

    def oriented(self, edge_index: Tensor, num_nodes: int, *, weighted: bool = False) -> Tensor:
        """Turn the entries of a graph so that (i, j) makes j a neighbor of i, by the method's ``flow``.

        Args:
            edge_index: The edge entries of a graph, int64 [2, E].
            num_nodes: Number of nodes.
            weighted: Whether entries have weights, which may differ between the two directions of a link.

        Returns:
            What :meth:`soft_labels` and :meth:`train_targets` take, in the same order. An undirected graph without
            weights comes back as it is.

        Raises:
            InputError: If ``edge_index`` has the wrong shape or type, or names a node that there is not.
        """
        check_edge_index(edge_index, num_nodes)
        if "flow" not in self.params():
            return edge_index
        return oriented(edge_index, num_nodes, self.flow, weighted=weighted)

    def weights_in(self, data: Any) -> Tensor | None:
        """Return the weights that the method counts edges by.

        Args:
            data: A graph.

        Returns:
            One weight per edge entry [E], or None if the method counts each entry once.

        Raises:
            InputError: If the graph lacks the attribute that ``edge_weight`` names, or it holds no weights.
        """
        if self.edge_weight is False:
            return None
        return weights_of(data, "edge_weight" if self.edge_weight is True else self.edge_weight)

    def _checked_weights(self, edge_index: Tensor, edge_weight: Tensor | None) -> tuple[Tensor, ...]:
        """Return what is passed on to :meth:`_soft_labels` after its first arguments: the weights, or nothing."""
        if edge_weight is None:
            if self.edge_weight is not False:
                raise InputError(
                    f"{type(self).__name__}(edge_weight={self.edge_weight!r}) counts edges by weight: give "
                    "edge_weight, one number per edge entry, beside edge_index"
                )
            return ()
        if "edge_weight" not in self.params():
            raise InputError(f"{type(self).__name__} does not count edges, so it takes no edge_weight")
        check_edge_weight(edge_weight, edge_index.size(1))
        return (edge_weight.to(edge_index.device),)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the same as :meth:`params`, under the name that scikit-learn looks for.

        Args:
            deep: Not used: no argument of a method has arguments of its own.

        Returns:
            The constructor arguments by name.
        """
        return self.params()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={_shown(value)}" for name, value in self.params().items())
        return f"{type(self).__name__}({settings})"

    @abstractmethod
    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        """Return one distribution per node, [N, K]; labels come from ``known`` alone.

        A method whose constructor takes ``edge_weight`` has a further argument of that name, weights [E] or None.
        """

    def soft_labels(
        self,
        edge_index: Tensor,
        known: KnownLabels,
        *,
        edge_weight: Tensor | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> Tensor:
        """Compute one distribution per node: soft labels for training nodes, the method's best guess elsewhere.

        Args:
            edge_index: The edge entries, int64 [2, E]; an entry (i, j) makes j a neighbor of i.
            known: The labels that may be used: training labels, and pseudo-labels if there are any (see
                :meth:`KnownLabels.with_pseudo <postel.KnownLabels.with_pseudo>`).
            edge_weight: How often each entry counts [E]; once each without it.
            dtype: Type of the result.

        Returns:
            One distribution per node, [N, K].

        Raises:
            InputError: If ``edge_index`` or ``edge_weight`` has the wrong shape, type or values.
        """
        check_edge_index(edge_index, known.num_nodes)
        return self._soft_labels(edge_index, known, dtype, *self._checked_weights(edge_index, edge_weight))

    def train_targets(
        self,
        edge_index: Tensor,
        known: KnownLabels,
        *,
        edge_weight: Tensor | None = None,
        dtype: torch.dtype = torch.float64,
        validate: bool = True,
    ) -> TrainTargets:
        """Compute the soft labels of the training nodes alone, with the statistics that they were made from.

        This is what :class:`~postel.NodeClassifier` asks for in every round. A method that can leave out the rows
        of other nodes, or that has statistics to report, overrides :meth:`_train_targets`.

        Args:
            edge_index: The edge entries, int64 [2, E].
            known: The labels that may be used: training labels, and pseudo-labels if there are any.
            edge_weight: How often each entry counts [E]; once each without it.
            dtype: Type of the rows; whatever it is, they are computed in float64.
            validate: Whether to check ``edge_index``; False where that was done before, as in later rounds.

        Returns:
            The rows ``soft_labels(edge_index, known)[known.train_only().index]`` and the statistics.

        Raises:
            InputError: If ``edge_index`` has the wrong shape or type, or names a node that there is not.

        Example:
            >>> from postel import OneHot
            >>> known = KnownLabels.from_index(torch.tensor([2]), torch.tensor([1]), num_nodes=3)
            >>> OneHot().train_targets(torch.tensor([[0, 1], [1, 0]]), known).rows
            tensor([[0., 1.]], dtype=torch.float64)
        """
        if validate:
            check_edge_index(edge_index, known.num_nodes)
        return self._train_targets(edge_index, known, dtype, *self._checked_weights(edge_index, edge_weight))

    def _train_targets(
        self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype, *edge_weight: Tensor
    ) -> TrainTargets:
        """Return the rows and statistics of :meth:`train_targets`; what comes in is checked."""
        index = known.train_only().index.to(edge_index.device)
        return TrainTargets(self._soft_labels(edge_index, known, dtype, *edge_weight)[index])

    def forward(self, data: Data) -> Data:
        """Add ``soft_y`` to a graph; calling the transform hands over a shallow copy of the caller's object.

        Args:
            data: A graph with ``edge_index`` or ``adj_t``, ``y`` and ``train_mask``, a mask or node ids.

        Returns:
            ``data`` with ``soft_y``, float32 [N, K].

        Raises:
            InputError: If something is missing or has the wrong shape or type.
        """
        data.soft_y = self._soft_y(data, known_labels(data, self.num_classes))
        return data

    def with_pseudo_labels(self, data: Data, pseudo_labels: Tensor) -> Data:
        """Add a ``soft_y`` to a copy of the graph that also uses the classes that a model predicted.

        Training nodes keep their own labels, so a model's most probable classes can be passed as they are.

        Args:
            data: A graph with ``edge_index`` or ``adj_t``, ``y`` and ``train_mask``, a mask or node ids.
            pseudo_labels: One class per node, int64 [N]; -1 for a node without one.

        Returns:
            A shallow copy of ``data`` with ``soft_y``, float32 [N, K].

        Raises:
            InputError: If something is missing or has the wrong shape or type.
        """
        known = known_labels(data, self.num_classes)
        if not isinstance(pseudo_labels, Tensor) or tuple(pseudo_labels.shape) != (known.num_nodes,):
            raise InputError(
                f"pseudo_labels must be an integer tensor with one entry per node ({known.num_nodes})"
            )
        candidates = pseudo_labels.to(known.index.device, copy=True)
        if not candidates.is_floating_point():
            candidates[known.index] = -1
        index = (candidates != -1).nonzero().view(-1)
        known = known.with_pseudo(index, candidates[index])
        out = copy.copy(data)
        out.soft_y = self._soft_y(data, known)
        return out

    def _soft_y(self, data: Data, known: KnownLabels) -> Tensor:
        edge_weight = self.weights_in(data)
        edge_index = self.oriented(edges_of(data), known.num_nodes, weighted=edge_weight is not None)
        return self.soft_labels(edge_index, known, edge_weight=edge_weight, dtype=torch.float32)


def _shown(value: Any) -> str:
    """Return a setting as ``repr`` shows it; of a table its size."""
    return f"Tensor({list(value.shape)})" if isinstance(value, Tensor) else repr(value)
