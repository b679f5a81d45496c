"""One training run on a graph too large for full-batch steps: sampled batches, layer-wise evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from postel.backbones import Backbone
from postel.errors import InputError
from postel.graph import Features, Graph, LargeGraph, Neighbors, prepare
from postel.graph.prepared import check_features
from postel.training.adam import Adam
from postel.training.loader import NeighborBatches
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
    """The outcome of training on ``batches`` of sub-graphs, which carry ``x``, ``edge_index`` and ``soft_y``.

    Each batch is a step on the soft-target cross-entropy of its first ``batch_size`` nodes. After each pass over
    the batches, all nodes are evaluated in ``whole``; the rest is as in :func:`postel.training.loop.train`.

    >>> from torch_geometric.data import Data
    >>> from postel.backbones import make_backbone
    >>> from postel.graph import Neighbors
    >>> from postel.training.loader import NeighborBatches
    >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]))
    >>> data.soft_y = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> batches = NeighborBatches(data, torch.tensor([0, 2]), batch_size=1)
    >>> whole = LargeGraph(Features.from_dense(data.x), Neighbors.from_edge_index(data.edge_index, 4))
    >>> watch = Watch({"val": (torch.tensor([1, 3]), torch.tensor([0, 1]))}, num_nodes=4)
    >>> settings = Settings(max_epochs=30)
    >>> train_in_batches(lambda: make_backbone("gcn", 4, 2), batches, whole, watch, settings).predictions.tolist()
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
    """Logits [N, K] of all nodes in evaluation mode: each layer for all nodes, block by block, before the next.

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
    """The mean loss of one step a batch."""
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
    """The sub-graph of a batch, ready for a backbone; a batch is used once, so its features stay as they are.

    >>> from torch_geometric.data import Data
    >>> batch_graph(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]))).features.is_sparse
    False
    """
    x = batch.x
    features = Features(x) if isinstance(x, Tensor) else Features.from_scipy(x)
    return Graph(features, batch.edge_index)


class BatchedGraph:
    """A graph that is trained in batches and evaluated layer by layer; made once for any number of trainings."""

    def __init__(self, data: Any, num_neighbors: Sequence[int], batch_size: int) -> None:
        """``data`` with ``x`` [N, F] and ``edge_index``, on the CPU."""
        check_features(data.x, data)
        self.num_neighbors, self.batch_size = tuple(num_neighbors), batch_size
        self.x = data.x
        self.neighbors = Neighbors.from_edge_index(data.edge_index, data.x.shape[0])
        dense = isinstance(self.x, Tensor) and self.x.layout == torch.strided
        features = Features(self.x.to(torch.float32)) if dense else prepare(data).features
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
        """The outcome of training on ``objective``, which has to be fixed soft labels."""
        if not isinstance(objective, SoftTargets):
            raise InputError("batches need fixed soft labels; train this method with batch_size=None")
        soft_y = torch.zeros((self.whole.num_nodes, objective.classes_first.shape[0]))
        soft_y[objective.index] = objective.classes_first.t()
        data = Data(x=self.x, soft_y=soft_y)
        batches = NeighborBatches(
            data,
            objective.index,
            num_neighbors=self.num_neighbors,
            batch_size=self.batch_size,
            seed=seed,
            neighbors=self.neighbors,
        )
        return train_in_batches(make, batches, self.whole, watch, settings, seed=seed, progress=progress)
