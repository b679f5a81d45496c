"""What a diagnosis says: plain, frozen values that fit into JSON."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from postel.datasets.diagnosis.advice import Advice


@dataclass(frozen=True)
class Structure:
    """Size and shape of the graph; degrees count entries that leave a node, self-loops apart.

    Args:
        nodes: Number of nodes.
        edge_entries: Number of entries of ``edge_index``.
        pairs: Number of linked pairs of distinct nodes.
        features: Number of features per node.
        classes: Number of classes.
        symmetric: Whether every entry has its reverse.
        self_loops: Number of entries that are self-loops.
        duplicate_entries: Number of entries that repeat another.
        twin_nodes: Number of nodes with the label and neighbors of another.
        isolated_nodes: Number of nodes without neighbors.
        unlabelled_nodes: Number of nodes without label.
        mean_degree: Mean degree.
        median_degree: Median degree.
        max_degree: Largest degree.
    """

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
    """Measures over every label there is, test labels too: they describe the graph and feed no training.

    Args:
        class_counts: Nodes of each class.
        edge_homophily: Share of entries whose ends have the same class; self-loops count only if asked for.
        node_homophily: Mean share of neighbors that have the node's class, over nodes that have neighbors.
        adjusted_homophily: Edge homophily less what chance would give.
        class_homophily: Share of neighbors of the same class, by class.
        label_informativeness: Share of the uncertainty of a class that one neighbor removes.
        conditional: P(neighbor's class | class), [K, K].
        independence_gap: Distance of two neighbors' joint from independence, by class.
        mean_independence_gap: Its mean over nodes.
    """

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
    """What the method sees: all of it comes from the labels of training nodes.

    Args:
        train: Number of training nodes.
        prior: Share of each class.
        conditional: P(neighbor's class | class), [K, K].
        contrast: Mean distance between the rows of the conditional.
        without_labelled_neighbor: Share of training nodes without a labelled neighbor.
        posterior_best_is_true: Share of training nodes whose most probable class is the true one.
        posterior_best_is_true_with_neighbors: The same among those with labelled neighbors.
        largest_class_share: Share of the largest class.
        calibration: What the exponents of the calibrated posterior say, in one sentence.
    """

    train: int
    prior: list[float]
    conditional: list[list[float]]
    contrast: float
    without_labelled_neighbor: float
    posterior_best_is_true: float
    posterior_best_is_true_with_neighbors: float
    largest_class_share: float
    calibration: str


@dataclass(frozen=True)
class Evaluation:
    """What the split makes of the test.

    Args:
        validation: Number of validation nodes.
        test: Number of test nodes.
        majority_class: The largest class among test nodes.
        majority_share: Its share, which one constant answer scores there at best.
        test_shares: Share of each class among test nodes.
        absent_from_training: Classes without a training node.
        absent_from_validation: Classes without a validation node.
        absent_from_test: Classes without a test node.
    """

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
    """The whole diagnosis.

    Args:
        name: Name of the graph.
        fingerprint: What names its content; None for a ``Data`` of the user's.
        protocol: How nodes were split.
        split: Number of the split.
        recipe: The recipe of the graph.
        self_loops_counted: Whether self-loops counted as neighbors.
        class_names: Names of the classes.
        structure: Size and shape.
        all_labels: Measures over all labels.
        training: What the method sees; None for a graph without a split.
        evaluation: What the split makes of the test; None for a graph without a split.
        verdict: What to expect, in one sentence.
        advice: What to compare first, and a warning where soft labels did harm.
    """

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
    advice: Advice

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain values that fit into JSON; what is not defined is None."""
        return dict(_plain(dataclasses.asdict(self)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
