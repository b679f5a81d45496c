"""The method once more, by its definitions alone: exact fractions, plain loops, nothing of the package."""

from __future__ import annotations

from fractions import Fraction

from support import SmallGraph

Row = list[Fraction]


def neighbors(graph: SmallGraph, i: int, self_loops: bool) -> list[int]:
    return [v for u, v in graph.entries if u == i and (self_loops or u != v)]


def ego_nodes(graph: SmallGraph, i: int, hops: int, self_loops: bool) -> set[int]:
    reached = {i}
    for _ in range(hops):
        reached = reached | {v for u in reached for v in neighbors(graph, u, self_loops)}
    return reached


def prior(graph: SmallGraph, within: set[int]) -> Row | None:
    labelled = [u for u in graph.train + graph.pseudo if u in within]
    if not labelled:
        return None
    return [
        Fraction(sum(graph.classes[u] == m for u in labelled), len(labelled)) for m in range(graph.num_classes)
    ]


def conditional(
    graph: SmallGraph, within: set[int], *, likelihood: str, centers: str, self_loops: bool
) -> list[Row]:
    labelled = set(graph.train + graph.pseudo) & within
    allowed = set(graph.train) & within if centers == "train" else labelled
    rows = []
    for n in range(graph.num_classes):
        row = [Fraction(0)] * graph.num_classes
        for u in allowed:
            if graph.classes[u] != n:
                continue
            around = [v for v in neighbors(graph, u, self_loops) if v in labelled]
            for v in around:
                row[graph.classes[v]] += Fraction(1, len(around)) if likelihood == "normalized" else 1
        total = sum(row)
        rows.append([value / total if total else Fraction(1, graph.num_classes) for value in row])
    return rows


def posterior(
    graph: SmallGraph, i: int, *, likelihood: str, hops: int, centers: str, self_loops: bool
) -> tuple[Row, bool]:
    """The posterior of node i, and whether it had any evidence."""
    everyone = set(range(graph.num_nodes))
    within = ego_nodes(graph, i, hops, self_loops) if likelihood == "local" else everyone
    base = prior(graph, within) or prior(graph, everyone)
    assert base is not None
    chances = conditional(graph, within, likelihood=likelihood, centers=centers, self_loops=self_loops)
    labelled = set(graph.train + graph.pseudo)
    around = [v for v in neighbors(graph, i, self_loops) if v in labelled]
    weights = list(base)
    for v in around:
        weights = [weight * chances[k][graph.classes[v]] for k, weight in enumerate(weights)]
    total = sum(weights)
    if not around or not total:
        return base, False
    return [weight / total for weight in weights], True


def soft_labels(
    graph: SmallGraph,
    *,
    alpha: Fraction,
    beta: Fraction,
    likelihood: str = "edge",
    hops: int = 1,
    noise: str = "uniform",
    isolated: str = "prior",
    centers: str = "labelled",
    self_loops: bool = False,
) -> list[list[float]]:
    k = graph.num_classes
    rows = []
    for i in range(graph.num_nodes):
        row, evidence = posterior(
            graph, i, likelihood=likelihood, hops=hops, centers=centers, self_loops=self_loops
        )
        own = [Fraction(graph.classes[i] == m) for m in range(k)]
        training = i in graph.train
        if isolated == "one-hot" and training and not evidence:
            row = own
        if noise == "uniform":
            noisy = [(p + beta / k) / (1 + beta) for p in row]
        elif training:
            noisy = [(1 - beta) * p + (0 if own[m] else beta / (k - 1)) for m, p in enumerate(row)]
        else:
            noisy = [(1 - beta) * p + beta / k for p in row]
        if training:
            noisy = [alpha * p + (1 - alpha) * own[m] for m, p in enumerate(noisy)]
        rows.append([float(p) for p in noisy])
    return rows
