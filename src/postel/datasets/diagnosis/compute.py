"""What a graph and its labels are like, and what posterior smoothing can be expected to do on it."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from postel import statistics
from postel.calibration import fit_exponents
from postel.datasets.diagnosis import measures
from postel.datasets.diagnosis.advice import Advice, advise
from postel.datasets.diagnosis.result import AllLabels, Diagnosis, Evaluation, Structure, TrainingLabels
from postel.datasets.diagnosis.verdict import verdict, what_exponents_say
from postel.datasets.load import load_dataset
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.errors import InputError
from postel.expected_statistics import expected_counts, log_evidence
from postel.exponents import Exponents
from postel.graph_input import classes_of, edges_of
from postel.labels import KnownLabels
from postel.posterior import posterior

_MOST_CLASSES = 1000


def diagnose(
    graph: Data | str | os.PathLike[str],
    split: int | None = 0,
    protocol: str = "paper",
    *,
    data_root: str | os.PathLike[str] | None = None,
    recipe: str = "paper",
    self_loops: bool = False,
) -> Diagnosis:
    """Describe a graph and its labels, and what posterior smoothing can be expected to do on it.

    Graph measures use all labels; the prior, the conditional and the posterior's score use training labels only.

    Args:
        graph: A ``Data`` with ``edge_index`` and ``y``, which brings its own masks; or a dataset's name; or the
            path of a graph file.
        split: Number of the split, for a name or path; None for a graph without masks.
        protocol: How nodes are split.
        data_root: The folder of graph files; ``POSTEL_DATA`` without it.
        recipe: The graph as in the ``"paper"``, or the ``"sound"`` one.
        self_loops: Whether a self-loop counts as a neighbor, as in the published code.

    Returns:
        The diagnosis.

    Raises:
        InputError: If the graph lacks something, or there is no such dataset.

    Example:
        >>> result = diagnose("karate")
        >>> result.structure.pairs, round(result.all_labels.edge_homophily, 3), result.training.train
        (78, 0.756, 19)
    """
    if not isinstance(graph, Data):
        graph = load_dataset(graph, split, protocol, data_root=data_root, recipe=recipe)
    edge_index, y, num_classes = _inputs(graph)
    structure = _structure(graph, edge_index, y, num_classes)
    all_labels = _all_labels(edge_index, y, num_classes, self_loops)
    training = evaluation = None
    if "train_mask" in graph:
        training = _training(edge_index, y, _mask(graph, "train", y), num_classes, self_loops)
    if training is not None and "test_mask" in graph:
        evaluation = _evaluation(graph, y, num_classes)
    return Diagnosis(
        name=str(_field(graph, "name", "graph")),
        fingerprint=_field(graph, "fingerprint"),
        protocol=_field(graph, "protocol"),
        split=_field(graph, "split"),
        recipe=_field(graph, "recipe"),
        self_loops_counted=self_loops,
        class_names=list(_field(graph, "class_names") or map(str, range(num_classes))),
        structure=structure,
        all_labels=all_labels,
        training=training,
        evaluation=evaluation,
        verdict=_sentence(all_labels, training),
        advice=_advice(all_labels, training, num_classes),
    )


def _inputs(graph: Data) -> tuple[Tensor, Tensor, int]:
    edge_index, y = edges_of(graph), _field(graph, "y")
    if edge_index is None or y is None:
        raise InputError("a diagnosis needs edge_index and y, and the graph lacks one of them")
    y = classes_of(y, "y")
    if y.numel() == 0:
        raise InputError("y must hold one class per node, with -1 for nodes without label, and there is no node")
    statistics.check_edge_index(edge_index, y.numel())
    num_classes = int(_field(graph, "num_classes") or int(y.max()) + 1)
    if not 2 <= num_classes <= _MOST_CLASSES:
        raise InputError(
            f"a diagnosis needs two classes at least and {_MOST_CLASSES} at most, since its tables have a row and "
            f"a column for each, got {num_classes}: number classes from 0"
        )
    return edge_index, y, num_classes


def _field(graph: Data, name: str, default: Any = None) -> Any:
    # A Data of any version of torch_geometric: older ones have no get().
    return graph.to_dict().get(name, default)


def _mask(graph: Data, part: str, y: Tensor) -> Tensor:
    mask = _field(graph, f"{part}_mask")
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != y.shape:
        raise InputError(f"{part}_mask must be a boolean tensor of shape [{y.numel()}], one split at a time")
    return mask


def _structure(graph: Data, edge_index: Tensor, y: Tensor, num_classes: int) -> Structure:
    n = y.numel()
    loop = edge_index[0] == edge_index[1]
    distinct = torch.unique(edge_index[0] * n + edge_index[1])
    ends = torch.stack([distinct // n, distinct % n])
    between = ends[:, ends[0] != ends[1]]
    pairs = torch.unique(between.amin(dim=0) * n + between.amax(dim=0))
    degree = torch.bincount(edge_index[0, ~loop], minlength=n)
    incoming = torch.bincount(edge_index[1, ~loop], minlength=n)
    x = _field(graph, "x")
    return Structure(
        nodes=n,
        edge_entries=edge_index.size(1),
        pairs=pairs.numel(),
        features=int(x.shape[1]) if x is not None else 0,
        classes=num_classes,
        symmetric=2 * pairs.numel() == between.size(1),
        self_loops=int(loop.sum()),
        duplicate_entries=edge_index.size(1) - distinct.numel(),
        twin_nodes=measures.twin_nodes(between, y),
        isolated_nodes=int(((degree + incoming) == 0).sum()),
        unlabelled_nodes=int((y < 0).sum()),
        mean_degree=float(degree.to(torch.float64).mean()),
        median_degree=float(degree.to(torch.float64).quantile(0.5)) if n < 1 << 24 else float(degree.median()),
        max_degree=int(degree.max()),
    )


def _all_labels(edge_index: Tensor, y: Tensor, num_classes: int, self_loops: bool) -> AllLabels:
    known = KnownLabels.from_mask(y, y != UNLABELLED, num_classes)
    counts = statistics.count_edges(edge_index, known, self_loops=self_loops)
    gap = measures.independence_gaps(counts.pairs, counts.histograms, y)
    defined = ~gap.isnan()
    weight = statistics.class_counts(known)[defined].to(torch.float64)
    return AllLabels(
        class_counts=statistics.class_counts(known).tolist(),
        edge_homophily=measures.edge_homophily(counts.pairs),
        node_homophily=measures.node_homophily(counts.histograms, y),
        adjusted_homophily=measures.adjusted_homophily(counts.pairs),
        class_homophily=measures.class_homophily(counts.pairs).tolist(),
        label_informativeness=measures.label_informativeness(counts.pairs),
        conditional=statistics.conditional(counts.pairs).tolist(),
        independence_gap=gap.tolist(),
        mean_independence_gap=float((gap[defined] * weight).sum() / weight.sum()),
    )


def _training(edge_index: Tensor, y: Tensor, mask: Tensor, num_classes: int, self_loops: bool) -> TrainingLabels:
    known = KnownLabels.from_mask(y, mask, num_classes)
    counts = statistics.count_edges(edge_index, known, rows=known.index, self_loops=self_loops)
    prior = statistics.prior(statistics.class_counts(known))
    conditional = statistics.conditional(counts.pairs)
    best = posterior(counts.histograms, prior, conditional).argmax(dim=1)
    right = (best == known.classes).to(torch.float64)
    has_neighbor = counts.histograms.sum(dim=1) > 0
    return TrainingLabels(
        train=known.index.numel(),
        prior=prior.tolist(),
        conditional=conditional.tolist(),
        contrast=measures.contrast(conditional),
        without_labelled_neighbor=float((~has_neighbor).to(torch.float64).mean()),
        posterior_best_is_true=float(right.mean()),
        posterior_best_is_true_with_neighbors=float(right[has_neighbor].mean()),
        largest_class_share=float(prior.max()),
        calibration=what_exponents_say(_exponents(edge_index, known), bool(has_neighbor.any())),
    )


def _exponents(edge_index: Tensor, known: KnownLabels) -> Exponents:
    counts = expected_counts(edge_index, known, rows=known.index)
    return fit_exponents(log_evidence(counts, known.classes), known.classes)


def _evaluation(graph: Data, y: Tensor, num_classes: int) -> Evaluation:
    of = {part: y[_mask(graph, part, y)] for part in ("train", "val", "test") if f"{part}_mask" in graph}
    counts = {part: torch.bincount(labels[labels >= 0], minlength=num_classes) for part, labels in of.items()}
    counts.setdefault("val", torch.zeros(num_classes, dtype=torch.int64))
    test = counts["test"].to(torch.float64)
    shares = test / test.sum()
    return Evaluation(
        validation=int(counts["val"].sum()),
        test=int(counts["test"].sum()),
        majority_class=int(test.argmax()),
        majority_share=float(shares.max()),
        test_shares=shares.tolist(),
        absent_from_training=_absent(counts["train"]),
        absent_from_validation=_absent(counts["val"]),
        absent_from_test=_absent(counts["test"]),
    )


def _absent(counts: Tensor) -> list[int]:
    return (counts == 0).nonzero().view(-1).tolist()


def _advice(all_labels: AllLabels, training: TrainingLabels | None, num_classes: int) -> Advice:
    if training is None:
        return advise(measures.contrast(torch.tensor(all_labels.conditional, dtype=torch.float64)))
    return advise(
        training.contrast,
        score=training.posterior_best_is_true_with_neighbors,
        constant_score=training.largest_class_share,
        without_neighbor=training.without_labelled_neighbor,
        nodes_per_class=training.train / num_classes,
    )


def _sentence(all_labels: AllLabels, training: TrainingLabels | None) -> str:
    if training is None:
        conditional = torch.tensor(all_labels.conditional, dtype=torch.float64)
        return verdict(measures.contrast(conditional), all_labels.edge_homophily)
    return verdict(
        training.contrast,
        all_labels.edge_homophily,
        score=training.posterior_best_is_true_with_neighbors,
        constant_score=training.largest_class_share,
        without_neighbor=training.without_labelled_neighbor,
    )
