"""One training run: full-batch Adam steps, an evaluation after each, the weights at the lowest validation loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from postel.backbones import Backbone
from postel.backbones.traced import TracedBackbone
from postel.errors import require_extra
from postel.graph import Graph
from postel.graph.bernoulli import drawn_ahead
from postel.training.adam import Adam
from postel.training.metrics import Watch
from postel.training.objective import Objective, has_own_gradient, loss_and_gradient
from postel.training.seeding import seeded
from postel.training.settings import Settings
from postel.training.tracking import Tracker, TrainingOutcome


def train(
    make: Callable[[], Backbone],
    graph: Graph,
    objective: Objective,
    watch: Watch,
    settings: Settings,
    *,
    seed: int = 0,
    progress: bool = False,
) -> TrainingOutcome:
    """Train a backbone from fresh weights and keep those of the lowest validation loss.

    Args:
        make: Returns the backbone to train.
        graph: The prepared graph.
        objective: What to minimize.
        watch: The sets to evaluate. The loss of the one called "val" decides about the best epoch and the stop.
        settings: Learning rate, weight decay, limit on epochs and stop rule.
        seed: Where weights and dropout come from; the caller's generators are left as they were.
        progress: Whether to show a progress bar.

    Returns:
        The outcome.

    Raises:
        InputError: If no set is called "val", or the first step already diverges.

    Example:
        >>> from torch_geometric.data import Data
        >>> from postel.backbones import make_backbone
        >>> from postel.graph import prepare
        >>> from postel.training.objective import SoftTargets
        >>> graph = prepare(Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])))
        >>> objective = SoftTargets(torch.tensor([0, 2]), torch.eye(2))
        >>> watch = Watch({"val": (torch.tensor([1, 3]), torch.tensor([0, 1]))}, num_nodes=4)
        >>> outcome = train(lambda: make_backbone("gcn", 4, 2), graph, objective, watch, Settings(max_epochs=50))
        >>> outcome.predictions.tolist(), outcome.epochs
        ([0, 0, 1, 1], 50)
    """
    with torch.no_grad(), seeded(seed, graph.device), progress_bar(settings.max_epochs, progress) as advance:
        backbone = make().to(graph.device)
        optimizer = _adam(backbone, objective, settings)
        tracker = Tracker(backbone, watch, settings)
        shared = None
        with _epochs_mode(backbone, objective, graph), torch.no_grad():
            for epoch in range(1, settings.max_epochs + 1):
                logits, back = backbone.run(graph, shared)
                loss, gradient = loss_and_gradient(objective, logits, epoch)
                back(gradient)
                optimizer.step()
                # The evaluation after this step and the next step see the same weights and share the first layer.
                logits, shared = backbone.evaluate(graph)
                advance()
                if tracker.record(loss.item(), logits):
                    break
    return tracker.outcome()


@contextmanager
def _epochs_mode(backbone: Backbone, objective: Objective, graph: Graph) -> Iterator[None]:
    """Spare every operation the preparations for autograd where no step differentiates anything."""
    if not (isinstance(backbone, TracedBackbone) and has_own_gradient(objective)):
        yield
        return
    # The objective draws nothing, so that masks that are all alike are all that comes from the generator.
    with torch.inference_mode(), drawn_ahead(backbone.masks_alike and graph.device.type == "cpu"):
        yield


@contextmanager
def progress_bar(total: int, shown: bool) -> Iterator[Callable[[], object]]:
    """Give a function to call after every epoch: it moves a progress bar, or does nothing.

    Args:
        total: Number of epochs at most.
        shown: Whether there is a bar.

    Yields:
        The function.

    Example:
        >>> with progress_bar(3, shown=False) as advance:
        ...     advance()
    """
    if not shown:
        yield lambda: None
        return
    bars: list[Any] = []
    tqdm = require_extra("tqdm", "training").tqdm

    def advance() -> None:
        if not bars:  # what is wrong before the first epoch is over is told without a bar in front of it
            bars.append(tqdm(total=total, unit="epoch", leave=False))
        bars[0].update()

    try:
        yield advance
    finally:
        for bar in bars:
            bar.close()


def _adam(backbone: Backbone, objective: Objective, settings: Settings) -> Adam:
    groups = backbone.parameter_groups(settings.lr, settings.weight_decay)
    own = list(objective.parameters())
    if own:
        lr = settings.lr if objective.lr is None else objective.lr
        groups.append({"params": own, "lr": lr, "weight_decay": objective.weight_decay})
    return Adam(groups)
