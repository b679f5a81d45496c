"""The parts of a fit: what is minimized, what is reported of a round, where it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.smoothers import Smoother
from postel.training.objective import Objective, SoftTargets
from postel.training.pseudo_labels import Round
from postel.training.result import RoundHistory
from postel.training.tracking import TrainingOutcome


def objective_of(
    smoother: Smoother,
    edge_index: Tensor,
    known: KnownLabels,
    teacher_logits: Callable[[], Tensor],
    edge_weight: Tensor | None = None,
) -> tuple[Objective, Mapping[str, Any]]:
    """Return what a run with this soft-label method minimizes, and the statistics that it rests on.

    A method may offer ``objective(edge_index, known, teacher_logits)``; otherwise its soft labels are fixed
    targets.

    Args:
        smoother: The soft-label method.
        edge_index: The edge entries, int64 [2, E], checked before.
        known: Training labels, and pseudo-labels from the second round on.
        teacher_logits: A function that trains the same backbone on one-hot labels and returns its logits [N, K].
        edge_weight: How often each entry counts [E], for a method that asks for it.

    Returns:
        The objective, and the method's statistics by name (:class:`~postel.smoothers.TrainTargets`).
    """
    own = getattr(smoother, "objective", None)
    weighted = {} if edge_weight is None or smoother.edge_weight is False else {"edge_weight": edge_weight}
    if own is not None:
        return own(edge_index, known, teacher_logits, **weighted), {}
    targets = smoother.train_targets(edge_index, known, **weighted, dtype=torch.float32, validate=False)
    index, rows = known.train_only().index, targets.rows
    if targets.other_nodes is not None and targets.other_rows is not None:
        index, rows = torch.cat([index, targets.other_nodes]), torch.cat([rows, targets.other_rows])
    return SoftTargets(index, rows), targets.statistics


def history_of(entry: Round[TrainingOutcome], statistics: Mapping[str, Any]) -> RoundHistory:
    """Turn a round into what is reported of it.

    Args:
        entry: The round.
        statistics: What the soft-label method estimated for it.

    Returns:
        Its entry in ``history_``.
    """
    outcome = entry.outcome
    return RoundHistory(
        round=entry.number,
        val_loss=outcome.val_loss,
        improved=entry.improved,
        best_epoch=outcome.best_epoch,
        epochs=outcome.epochs,
        seconds=outcome.seconds,
        curves=outcome.curves,
        statistics=statistics,
        agreement=entry.agreement,
        temperature=entry.judgement.temperature,
        val_loss_scaled=entry.judgement.scaled_loss,
    )


def check_device(device: Any) -> None:
    """Check that there is such a device.

    Args:
        device: What a user gave as a torch device.

    Raises:
        InputError: If it is none, or one that this machine has not.
    """
    try:
        kind = torch.device(device).type
    except (RuntimeError, TypeError) as error:
        raise InputError(f"device must be a torch device such as 'cpu' or 'cuda', got {device!r}") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device={device!r} was asked for, but torch finds no GPU here; use device='cpu'")
    if kind == "cpu":
        return
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, NotImplementedError, AssertionError, ImportError) as error:
        # Devices that torch knows by name only, or whose tensors hold no numbers, such as "meta".
        raise InputError(f"device={device!r} cannot be used here; use device='cpu'") from error
