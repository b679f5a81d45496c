"""Seconds and memory of making soft labels at ogbn-products' size, ours beside the published algorithm's way.

    python benchmarks/soft_labels.py                  # 2.45 M nodes, 123.7 M entries: about two minutes, 8 GB
    python benchmarks/soft_labels.py --scale 0.05     # a twentieth of it

The graph is synthetic with a power law of degrees. The published way is a product of the sparse adjacency with
one-hot labels over all rows, then a Python loop over the training nodes; both are run on a slice and extrapolated
by their sizes. Ours is timed whole. Lines of ``fit`` are what it does before training:
the rows of training nodes, and the statistics that its history keeps. Calibrated soft labels stand beside the way
without closed forms: a product of the sparse adjacency with the probabilities, and a K x K matrix of counts for
each training node, from which its own label is taken away. Whether a graph is undirected is asked once in a fit,
before its rounds, and has a line of its own.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from postel import CalibratedPosteL, KnownLabels, PosteL
from postel.labels import empty_table
from postel.smoothers.postel import posterior_soft_labels
from postel.statistics import class_counts, conditional, count_edges, prior
from postel.training.fitting import objective_of

CLASSES = 47
TRAIN_SHARE = 0.08


def power_law_graph(nodes: int, edges: int, seed: int, sort: bool) -> tuple[Tensor, Tensor]:
    """Both directions of ``edges`` random edges as int64 [2, 2 * edges], and one class per node."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(nodes)
    u = name[(nodes * rng.random(edges) ** 2.0).astype(np.int64)]
    v = name[(nodes * rng.random(edges) ** 1.3).astype(np.int64)]
    edge_index = np.empty((2, 2 * edges), dtype=np.int64)
    if sort:
        keys = np.concatenate([u * nodes + v, v * nodes + u])
        keys.sort()
        np.floor_divide(keys, nodes, out=edge_index[0])
        np.remainder(keys, nodes, out=edge_index[1])
    else:
        edge_index[0, 0::2], edge_index[1, 0::2] = u, v
        edge_index[0, 1::2], edge_index[1, 1::2] = v, u
    return torch.from_numpy(edge_index), torch.from_numpy(rng.integers(0, CLASSES, nodes))


def resident(field: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process in bytes (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field}")


def measure(function: Callable[[], object], repeats: int) -> dict[str, float]:
    """Median seconds over ``repeats`` calls, and the memory that they took on top of what was there."""
    seconds = []
    Path("/proc/self/clear_refs").write_text("5")  # start the peak anew
    before = resident("VmRSS")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return {"seconds": float(np.median(seconds)), "extra_bytes": resident("VmHWM") - before}


def published_way(edge_index: Tensor, known: KnownLabels, nodes: int, train: int) -> dict[str, float]:
    """Extrapolated seconds of the product over all rows and of the loop, from a slice of either."""
    n, k = known.num_nodes, known.num_classes
    one_hot = torch.zeros(n, k)
    one_hot[known.index, known.classes] = 1
    part = edge_index[:, edge_index[0] < nodes]
    adjacency = torch.sparse_coo_tensor(
        part, torch.ones(part.size(1)), (nodes, n), check_invariants=False
    ).coalesce()
    start = time.perf_counter()
    histograms = torch.sparse.mm(adjacency, one_hot)
    product = (time.perf_counter() - start) * edge_index.size(1) / part.size(1)

    shares = prior(class_counts(known))
    chances = conditional(count_edges(part, known).pairs)
    chosen = [i for i in known.train_only().index.tolist() if i < nodes][:train]
    start = time.perf_counter()
    for i in chosen:
        weights = chances.pow(histograms[i]).prod(dim=1) * shares
        (weights / weights.sum()).argmax()
    loop = (time.perf_counter() - start) * int(known.is_train.sum()) / len(chosen)
    return {"product_seconds": product, "loop_seconds": loop, "seconds": product + loop}


def matrix_per_node(edge_index: Tensor, soft: KnownLabels, nodes: int, train: int) -> dict[str, float]:
    """Extrapolated seconds of expected counts by a sparse product, and of a matrix for each training node."""
    evidence = soft.evidence
    assert evidence is not None
    part = edge_index[:, edge_index[0] < nodes]
    rows = torch.bincount(part[0], minlength=nodes).cumsum(0)
    offsets = torch.cat([rows.new_zeros(1), rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its compressed rows a beta
        adjacency = torch.sparse_csr_tensor(
            offsets, part[1], torch.ones(part.size(1)), (nodes, soft.num_nodes), check_invariants=False
        )
        start = time.perf_counter()
        histograms = adjacency @ evidence
        pairs = evidence[:nodes].T @ histograms
        product = (time.perf_counter() - start) * edge_index.size(1) / part.size(1)
    chosen = soft.index[soft.index < nodes][:train]
    own = soft.classes[: chosen.numel()]
    start = time.perf_counter()
    for first in range(0, chosen.numel(), 256):
        ids, classes = chosen[first : first + 256], own[first : first + 256]
        mine = histograms[ids].double()
        each = torch.arange(ids.numel())
        left = pairs.double().repeat(ids.numel(), 1, 1)
        left[each, classes] -= mine
        left[each, :, classes] -= mine
        logs = left.clamp_(min=0).add_(1 / left.size(1)).log_()
        logs -= left.sum(2, keepdim=True).log_()
        torch.softmax(torch.einsum("rm,rkm->rk", mine, logs), 1)
    matrices = (time.perf_counter() - start) * soft.index.numel() / chosen.numel()
    return {"product_seconds": product, "matrix_seconds": matrices, "seconds": product + matrices}


def _no_teacher() -> Tensor:
    raise AssertionError("these methods have no teacher")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="share of ogbn-products' size")
    parser.add_argument("--unsorted", action="store_true", help="entries in random order, each beside its reverse")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    nodes, edges = int(2_449_029 * options.scale), int(61_859_140 * options.scale)
    edge_index, y = power_law_graph(nodes, edges, seed=0, sort=not options.unsorted)
    mask = torch.rand(nodes, generator=torch.Generator().manual_seed(1)) < TRAIN_SHARE
    train = KnownLabels.from_mask(y, mask, CLASSES)
    everyone = train.with_pseudo((~mask).nonzero().view(-1), y[~mask])
    edge_bytes = edge_index.numel() * edge_index.element_size()

    def ours(known: KnownLabels, rows: Tensor | None) -> Callable[[], object]:
        return lambda: posterior_soft_labels(edge_index, known, rows=rows, dtype=torch.float32)

    def in_fit(known: KnownLabels) -> Callable[[], object]:
        return lambda: objective_of(PosteL(), edge_index, known, _no_teacher)

    def next_round() -> object:
        index = (~mask).nonzero().view(-1)
        return objective_of(PosteL(), edge_index, train.with_pseudo(index, y[index]), _no_teacher)

    results: dict[str, dict[str, float]] = {
        "training labels, soft labels of training nodes": measure(ours(train, train.index), options.repeats),
        "training labels, a row for every node": measure(ours(train, None), options.repeats),
        "every node pseudo-labelled, soft labels of training nodes": measure(
            ours(everyone, train.index), options.repeats
        ),
        "every node pseudo-labelled, a row for every node": measure(ours(everyone, None), options.repeats),
        "what fit does in its first round": measure(in_fit(train), options.repeats),
        "what fit does in a round with pseudo-labels": measure(in_fit(everyone), options.repeats),
        "the same, the labels of the round put together": measure(next_round, options.repeats),
    }
    slow = published_way(edge_index, everyone, max(2000, nodes // 40), 2000)
    calibrated = CalibratedPosteL(targets="train")
    around_train = CalibratedPosteL(targets="train", centers="train")
    draws = torch.randn(nodes, CLASSES, generator=torch.Generator().manual_seed(2))
    draws[torch.arange(nodes), y] += 3
    said = torch.softmax(draws, dim=1, out=empty_table(nodes, CLASSES, draws))
    del draws
    soft = train.with_evidence(said, copy=False)

    def calibrated_round(known: KnownLabels, method: CalibratedPosteL = calibrated) -> Callable[[], object]:
        return lambda: objective_of(method, edge_index, known, _no_teacher)

    ours_calibrated = {
        "training labels alone, direction not asked": measure(calibrated_round(train), options.repeats),
        "soft evidence of all nodes, direction not asked": measure(calibrated_round(soft), options.repeats),
        "whether the graph is undirected, once in a fit": measure(
            lambda: calibrated.oriented(edge_index, nodes), options.repeats
        ),
        "training labels alone": measure(calibrated_round(train), options.repeats),
        "soft evidence of all nodes: a round of fit": measure(calibrated_round(soft), options.repeats),
        "the same, pairs around training nodes only": measure(
            calibrated_round(soft, around_train), options.repeats
        ),
    }
    matrices = matrix_per_node(edge_index, soft, max(2000, nodes // 40), 2000)
    if options.json:
        found = {"nodes": nodes, "entries": 2 * edges, "ours": results, "published_way": slow}
        print(json.dumps({**found, "calibrated": ours_calibrated, "matrix_per_node": matrices}, indent=2))
        return
    print(
        f"{nodes:,} nodes, {2 * edges:,} entries, {CLASSES} classes, {torch.get_num_threads()} threads, ", end=""
    )
    print(f"edge list {edge_bytes / 1e9:.2f} GB, entries {'in random order' if options.unsorted else 'sorted'}")
    print(f"{'':60}{'seconds':>9}{'extra GB':>10}{'/ edges':>9}{'faster':>9}")

    def show(rows: dict[str, dict[str, float]], other: dict[str, float]) -> None:
        for name, row in rows.items():
            share, ratio = row["extra_bytes"] / edge_bytes, other["seconds"] / row["seconds"]
            print(f"{name:60}{row['seconds']:9.2f}{row['extra_bytes'] / 1e9:10.2f}{share:8.2f}x{ratio:8.1f}x")

    show(results, slow)
    print(
        f"{'the published way (extrapolated)':60}{slow['seconds']:9.2f}"
        f"   = product {slow['product_seconds']:.1f} + loop {slow['loop_seconds']:.1f}"
    )
    print("calibrated")
    show(ours_calibrated, matrices)
    print(
        f"{'a sparse product and a matrix per node (extrapolated)':60}{matrices['seconds']:9.2f}"
        f"   = product {matrices['product_seconds']:.1f} + matrices {matrices['matrix_seconds']:.1f}"
    )


if __name__ == "__main__":
    main()
