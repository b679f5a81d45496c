"""One training run on a graph too large for full-batch steps: sampled batches, layer-wise evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from postel.backbones import Backbone
from postel.errors import InputError
from postel.graph import Features, Graph, LargeGraph, Neighbors
from postel.graph.prepared import check_features
from postel.graph_input import check_graph, edges_of
from postel.training.adam import Adam
from postel.training.loader import training_batches
from postel.training.loop import progress_bar
from postel.training.metrics import Watch
from postel.training.objective import Objective, SoftTargets, loss_and_gradient
from postel.training.seeding import seeded
from postel.training.settings import Settings
from postel.training.tracking import Tracker, TrainingOutcome


def train_in_batches(
    make: Callable[[], Backbone],
    batches: Iterable[Any],
    whole: LargeGraph,
    watch: Watch,
    settings: Settings,
    *,
    seed: int = 0,
    progress: bool = False,
) -> TrainingOutcome:
    """Train a backbone on batches of sub-graphs and keep the weights of the lowest validation loss.

    Each batch is a step on the soft-target cross-entropy of its first ``batch_size`` nodes. After each pass over
    the batches, all nodes are evaluated in ``whole``; the rest is as in :func:`postel.training.loop.train`.

    Args:
        make: Returns the backbone to train.
        batches: The batches of one epoch, each with ``x``, ``edge_index``, ``soft_y`` and ``batch_size``.
        whole: The whole graph, for evaluation.
        watch: The sets to evaluate. The loss of the one called "val" decides about the best epoch and the stop.
        settings: Learning rate, weight decay, limit on epochs and stop rule.
        seed: Where weights and dropout come from; the caller's generators are left as they were.
        progress: Whether to show a progress bar.

    Returns:
        The outcome.

    Raises:
        InputError: If no set is called "val", or the first epoch already diverges.

    Example:
        >>> from torch_geometric.data import Data
        >>> from postel.backbones import make_backbone
        >>> from postel.graph import Neighbors
        >>> from postel.training.loader import NeighborBatches
        >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]))
        >>> data.soft_y = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> batches = NeighborBatches(data, torch.tensor([0, 2]), batch_size=1)
        >>> whole = LargeGraph(Features.from_dense(data.x), Neighbors.from_edge_index(data.edge_index, 4))
        >>> watch = Watch({"val": (torch.tensor([1, 3]), torch.tensor([0, 1]))}, num_nodes=4)
        >>> make = lambda: make_backbone("gcn", 4, 2)
        >>> train_in_batches(make, batches, whole, watch, Settings(max_epochs=30)).predictions.tolist()
        [0, 0, 1, 1]
    """
    with seeded(seed), progress_bar(settings.max_epochs, progress) as advance:
        backbone = make()
        optimizer = Adam(backbone.parameter_groups(settings.lr, settings.weight_decay))
        tracker = Tracker(backbone, watch, settings)
        for epoch in range(1, settings.max_epochs + 1):
            loss = _pass(backbone, batches, optimizer, epoch)
            advance()
            if tracker.record(loss, layerwise_logits(backbone, whole)):
                break
    return tracker.outcome()


def layerwise_logits(backbone: Backbone, whole: LargeGraph) -> Tensor:
    """Return the logits of all nodes in evaluation mode.

    Each layer is computed for all nodes, block by block, before the next one.

    Args:
        backbone: The network; it is switched to evaluation mode.
        whole: The whole graph.

    Returns:
        Logits [N, K].

    Example:
        >>> from postel.backbones import make_backbone
        >>> from postel.graph import Neighbors
        >>> neighbors = Neighbors.from_edge_index(torch.tensor([[0], [1]]), 3)
        >>> whole = LargeGraph(Features.from_dense(torch.eye(3)), neighbors)
        >>> layerwise_logits(make_backbone("gat", 3, 2), whole).shape
        torch.Size([3, 2])
    """
    backbone.switch(False)
    with torch.no_grad():
        return backbone(whole)


def _pass(backbone: Backbone, batches: Iterable[Any], optimizer: Adam, epoch: int) -> float:
    """Do one step per batch and return the mean loss."""
    total, count = 0.0, 0
    for batch in batches:
        size = int(batch.batch_size)
        objective = SoftTargets(torch.arange(size), batch.soft_y[:size])
        logits, back = backbone.run(batch_graph(batch))
        loss, gradient = loss_and_gradient(objective, logits, epoch)
        back(gradient)
        optimizer.step()
        total += loss.item() * size
        count += size
    return total / max(count, 1)


def batch_graph(batch: Any) -> Graph:
    """Return the sub-graph of a batch, ready for a backbone.

    A batch is used only once, so its features stay as they are: making them sparse would not pay.

    Args:
        batch: Anything with ``x`` and ``edge_index``.

    Returns:
        The graph.

    Example:
        >>> from torch_geometric.data import Data
        >>> batch_graph(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]))).features.is_sparse
        False
    """
    x = batch.x
    features = Features(x) if isinstance(x, Tensor) else Features.from_scipy(x)
    return Graph(features, batch.edge_index)


class BatchedGraph:
    """A graph that is trained on in batches and evaluated layer by layer; it serves any number of trainings.

    Args:
        data: Anything with ``x`` [N, F] and ``edge_index``, on the CPU.
        num_neighbors: How many sources are sampled at each hop; -1 for all.
        batch_size: Number of training nodes per batch.

    Raises:
        InputError: If the features or the edges are wrong.
    """

    def __init__(self, data: Any, num_neighbors: Sequence[int], batch_size: int) -> None:
        check_graph(data)
        x = check_features(getattr(data, "x", None), data)
        self.num_neighbors, self.batch_size = tuple(num_neighbors), batch_size
        self.x = x.to(torch.float32) if isinstance(x, Tensor) else x
        self.neighbors = Neighbors.from_edge_index(edges_of(data), x.shape[0])
        features = Features(self.x) if isinstance(x, Tensor) else Features.from_scipy(x)
        self.whole = LargeGraph(features, self.neighbors)

    def train(
        self,
        make: Callable[[], Backbone],
        objective: Objective,
        watch: Watch,
        settings: Settings,
        *,
        seed: int,
        progress: bool,
    ) -> TrainingOutcome:
        """Train a backbone in batches, as :func:`train_in_batches` does.

        Args:
            make: Returns the backbone to train.
            objective: What to minimize; it has to be fixed soft labels.
            watch: The sets to evaluate, one of them called "val".
            settings: Learning rate, weight decay, limit on epochs and stop rule.
            seed: Where weights, dropout and batches come from.
            progress: Whether to show a progress bar.

        Returns:
            The outcome.

        Raises:
            InputError: If the objective is not fixed soft labels.
        """
        if not isinstance(objective, SoftTargets):
            raise InputError("batches need fixed soft labels; train this method with batch_size=None")
        soft_y = torch.zeros((self.whole.num_nodes, objective.classes_first.shape[0]))
        soft_y[objective.index] = objective.classes_first.t()
        batches = training_batches(
            self.x,
            soft_y,
            objective.index,
            self.neighbors,
            num_neighbors=self.num_neighbors,
            batch_size=self.batch_size,
            seed=seed,
        )
        return train_in_batches(make, batches, self.whole, watch, settings, seed=seed, progress=progress)
