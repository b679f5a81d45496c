"""What a diagnosis says: plain, frozen values that fit into JSON."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Structure:
    """Size and shape of the graph; degrees count entries that leave a node, self-loops apart."""

    nodes: int
    edge_entries: int
    pairs: int
    features: int
    classes: int
    symmetric: bool
    self_loops: int
    duplicate_entries: int
    twin_nodes: int
    isolated_nodes: int
    unlabelled_nodes: int
    mean_degree: float
    median_degree: float
    max_degree: int


@dataclass(frozen=True)
class AllLabels:
    """Measures over every label there is, test labels too: they describe the graph and feed no training."""

    class_counts: list[int]
    edge_homophily: float
    node_homophily: float
    adjusted_homophily: float
    class_homophily: list[float]
    label_informativeness: float
    conditional: list[list[float]]
    independence_gap: list[float]
    mean_independence_gap: float


@dataclass(frozen=True)
class TrainingLabels:
    """What the method sees: all of it comes from the labels of training nodes."""

    train: int
    prior: list[float]
    conditional: list[list[float]]
    contrast: float
    without_labelled_neighbor: float
    posterior_best_is_true: float
    posterior_best_is_true_with_neighbors: float
    largest_class_share: float


@dataclass(frozen=True)
class Evaluation:
    """What the split makes of the test; ``majority_share`` is what one constant answer scores there at best."""

    validation: int
    test: int
    majority_class: int
    majority_share: float
    test_shares: list[float]
    absent_from_training: list[int]
    absent_from_validation: list[int]
    absent_from_test: list[int]


@dataclass(frozen=True)
class Diagnosis:
    """The whole diagnosis; ``training`` and ``evaluation`` are None for a graph without a split."""

    name: str
    fingerprint: str | None
    protocol: str | None
    split: int | None
    recipe: str | None
    self_loops_counted: bool
    class_names: list[str]
    structure: Structure
    all_labels: AllLabels
    training: TrainingLabels | None
    evaluation: Evaluation | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as plain values that fit into JSON: what is not defined is None."""
        return dict(_plain(dataclasses.asdict(self)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
