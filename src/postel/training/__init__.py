"""One training run, pseudo-labels around it, and the classifier that puts both behind ``fit``."""

from __future__ import annotations

from postel.training.class_shares import class_weights
from postel.training.classifier import NodeClassifier
from postel.training.loader import NeighborBatches, neighbor_loader
from postel.training.loop import train
from postel.training.metrics import Scores, Watch, evaluate
from postel.training.minibatch import layerwise_logits, train_in_batches
from postel.training.objective import Objective, SoftTargets
from postel.training.pseudo_labels import PseudoLabelling, Round, iterate_pseudo_labels
from postel.training.result import Result, RoundHistory
from postel.training.seeding import derive_seed, seeded
from postel.training.settings import Settings
from postel.training.temperature import fit_temperature
from postel.training.tracking import Curves, TrainingOutcome

__all__ = [
    "Curves",
    "NeighborBatches",
    "NodeClassifier",
    "Objective",
    "PseudoLabelling",
    "Result",
    "Round",
    "RoundHistory",
    "Scores",
    "Settings",
    "SoftTargets",
    "TrainingOutcome",
    "Watch",
    "class_weights",
    "derive_seed",
    "evaluate",
    "fit_temperature",
    "iterate_pseudo_labels",
    "layerwise_logits",
    "neighbor_loader",
    "seeded",
    "train",
    "train_in_batches",
]
