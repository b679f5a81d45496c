"""What the time of one epoch is spent on, by torch's profiler: dense and sparse products, Adam, everything else.

    POSTEL_DATA=folder python benchmarks/breakdown.py [gcn:texas gat:cora ordered_gnn:cora] [--json]

The two kinds of products and Adam are what no change of the code around them makes faster at equal bits: their sum
is a bound for an epoch. ``operations`` counts the calls into torch of an epoch; on a tiny graph each takes a
microsecond or two whatever its size. The profiler slows small operations down, so an epoch's own time is taken
without it.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from _measure import table
from torch.profiler import ProfilerActivity, profile

from postel.backbones import make_backbone
from postel.datasets import load_dataset
from postel.graph import prepare
from postel.labels import KnownLabels
from postel.training import Settings, SoftTargets, Watch, train

DEFAULT = ("gcn:texas", "gcn:cora", "gat:cora", "ordered_gnn:cora")
KINDS = {
    "dense products": ("aten::mm", "aten::addmm_", "aten::mv", "aten::dot"),
    "sparse products": ("aten::_embedding_bag_forward_only", "aten::sparse_sampled_addmm", "aten::addmm"),
    "Adam": ("aten::_fused_adam_",),
}


def breakdown(backbone: str, dataset: str, seconds: float) -> dict[str, float]:
    """Milliseconds an epoch of each kind, the epoch's own, and the number of operations of an epoch."""
    data = load_dataset(dataset, split=0)
    classes = int(data.y.max()) + 1
    graph = prepare(data)
    known = KnownLabels.from_mask(data.y, data.train_mask, classes)
    objective = SoftTargets(known.index, known.one_hot())
    sets = {"val": (data.val_mask.nonzero().view(-1), data.y[data.val_mask])}
    watch = Watch(sets, graph.num_nodes)

    def epochs(count: int) -> float:
        settings = Settings(max_epochs=count, window=count)
        started = time.process_time()
        train(lambda: make_backbone(backbone, graph.num_features, classes), graph, objective, watch, settings)
        return (time.process_time() - started) * 1e3 / count

    epochs(3)
    count = max(5, min(300, round(seconds * 1e3 / epochs(5))))
    own = min(epochs(count) for _ in range(5))
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        epochs(count)
    events = profiled.key_averages()
    found = {
        kind: sum(event.self_cpu_time_total for event in events if event.key in names) / 1e3 / count
        for kind, names in KINDS.items()
    }
    calls = sum(event.count for event in events if event.key.startswith("aten::")) / count
    return {"epoch": own, **found, "operations": calls}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", default=list(DEFAULT), metavar="backbone:dataset")
    parser.add_argument("--seconds", type=float, default=0.4, help="about how long a turn takes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    for pair in options.pairs:
        backbone, _, dataset = pair.partition(":")
        rows[pair] = breakdown(backbone, dataset, options.seconds)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    columns = ["", "epoch ms", *(f"{kind} ms" for kind in KINDS), "operations"]
    cells = [
        [pair, f"{row['epoch']:.2f}", *(f"{row[kind]:.2f}" for kind in KINDS), f"{row['operations']:.0f}"]
        for pair, row in rows.items()
    ]
    print(table(columns, cells))


if __name__ == "__main__":
    main()
