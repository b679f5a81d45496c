"""ALS: adaptive label smoothing, re-implemented from its description (Zhou et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.smoothers.base import (
    Smoother,
    check_choice,
    check_count,
    check_number,
    degrees,
    neighbor_entries,
)
from postel.statistics import class_counts, prior


class ALS(Smoother):
    """Labels propagated over the graph once, then refined by a K x K matrix that is learned with the network.

    Re-implemented from its description: neither formulas nor code were published, so each open choice is an
    argument. Propagation: ``Y <- (1 - restart) P Y + restart Y0`` for ``steps`` steps from the training labels Y0,
    with P the adjacency scaled by rows (``normalization="row"``) or symmetrically (``"sym"``). Refinement:
    ``r = softmax(p W)`` of a propagated row p, with W = ``scale`` times the identity at first. Target in epoch t:
    the one-hot label mixed with r, whose share grows to ``smoothing`` over ``warmup`` epochs. Loss: cross-entropy
    with the target plus ``anchor`` times KL(one-hot || r), without which r would follow the network wherever it
    goes. W has its own Adam group with rate ``refine_lr`` (the run's if None).

    As a transform it gives the labels before any refinement: the propagated rows, mixed at ``smoothing``.

    >>> edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
    >>> known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=3)
    >>> ALS(smoothing=0.5, steps=1, restart=0.5).soft_labels(edges, known)
    tensor([[0.8333, 0.1667],
            [0.2500, 0.7500],
            [1.0000, 0.0000]], dtype=torch.float64)
    """

    def __init__(
        self,
        smoothing: float = 0.5,
        *,
        steps: int = 5,
        restart: float = 0.5,
        normalization: Literal["row", "sym"] = "row",
        self_loops: bool = False,
        scale: float = 5.0,
        warmup: int = 100,
        anchor: float = 1.0,
        refine_lr: float | None = None,
        num_classes: int | None = None,
    ) -> None:
        check_number("smoothing", smoothing, 0, 1)
        check_count("steps", steps, 1)
        check_number("restart", restart, 0, 1)
        check_choice("normalization", normalization, ("row", "sym"))
        check_number("scale", scale, 0, torch.inf)
        check_count("warmup", warmup, 0)
        check_number("anchor", anchor, 0, torch.inf)
        if anchor == 0:
            raise InputError("anchor must be above 0: without it the refined labels collapse onto the network's")
        self.smoothing = smoothing
        self.steps = steps
        self.restart = restart
        self.normalization: Literal["row", "sym"] = normalization
        self.self_loops = self_loops
        self.scale = scale
        self.warmup = warmup
        self.anchor = anchor
        self.refine_lr = refine_lr
        self.num_classes = num_classes

    def _soft_labels(self, edge_index: Tensor, known: KnownLabels, dtype: torch.dtype) -> Tensor:
        train = known.train_only()
        index, own = train.index.to(edge_index.device), train.one_hot().to(edge_index.device)
        rows = self.propagated(edge_index, known)
        rows[index] = self.smoothing * rows[index] + (1 - self.smoothing) * own
        return rows.to(dtype)

    def propagated(self, edge_index: Tensor, known: KnownLabels) -> Tensor:
        """Training labels after propagation, scaled to sum to 1, float64 [N, K].

        A training node that nothing reaches keeps its label; another node takes the prior.
        """
        device, train = edge_index.device, known.train_only()
        index, own = train.index.to(device), train.one_hot().to(device)
        start = torch.zeros(known.num_nodes, known.num_classes, dtype=torch.float64, device=device)
        start[index] = own
        sources, targets = neighbor_entries(edge_index, self.self_loops)
        degree = degrees(sources, known.num_nodes)
        if self.normalization == "row":
            weights = 1 / degree[sources]
        else:
            weights = (degree[sources] * degree[targets]).rsqrt()
        rows = start
        for _ in range(self.steps):
            gathered = torch.zeros_like(rows).index_add_(0, sources, rows[targets] * weights[:, None])
            rows = (1 - self.restart) * gathered + self.restart * start
        totals = rows.sum(dim=1, keepdim=True)
        unreached = totals == 0
        rows = torch.where(
            unreached, prior(class_counts(train)).to(device), rows / totals.masked_fill(unreached, 1.0)
        )
        rows[index] = torch.where(unreached[index], own, rows[index])
        return rows

    def objective(
        self, edge_index: Tensor, known: KnownLabels, teacher_logits: Callable[[], Tensor]
    ) -> RefinedTargets:
        """What a run minimises: the loss above, with a fresh W."""
        device, train = edge_index.device, known.train_only()
        index = train.index.to(device)
        return RefinedTargets(self, index, train.classes.to(device), self.propagated(edge_index, known)[index])


class RefinedTargets:
    """The loss of one run with :class:`ALS`, and its learned matrix ``refinement`` [K, K]."""

    weight_decay: float = 0.0

    def __init__(self, method: ALS, index: Tensor, classes: Tensor, propagated: Tensor) -> None:
        self.method = method
        self.index = index
        self.classes = classes
        self.propagated = propagated.to(torch.float32)
        self.lr = method.refine_lr
        self.refinement = nn.Parameter(method.scale * torch.eye(propagated.size(1), device=index.device))

    def share(self, epoch: int) -> float:
        """Share of the refined label in the target of epoch 1, 2, ..."""
        pace = 1.0 if self.method.warmup == 0 else min(1.0, epoch / self.method.warmup)
        return self.method.smoothing * pace

    def log_refined(self) -> Tensor:
        """Logarithm of the refined labels r of the training nodes [M, K]."""
        return log_softmax(self.propagated @ self.refinement, dim=1)

    def loss(self, logits: Tensor, epoch: int) -> Tensor:
        """Cross-entropy with the mixed target, plus the anchor."""
        log_p = log_softmax(logits[self.index], dim=1)
        log_r = self.log_refined()
        own = self.classes[:, None]
        share = self.share(epoch)
        hard = -log_p.gather(1, own).mean()
        soft = -(log_r.exp() * log_p).sum(dim=1).mean()
        anchor = -log_r.gather(1, own).mean()
        return (1 - share) * hard + share * soft + self.method.anchor * anchor

    def parameters(self) -> Sequence[nn.Parameter]:
        """The refinement matrix."""
        return [self.refinement]
