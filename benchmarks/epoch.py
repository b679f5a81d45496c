"""One epoch, training step and evaluation: ours against the published loop's shape and the usual PyG loop.

    POSTEL_DATA=folder python benchmarks/epoch.py [--datasets texas cora] [--backbones gcn bernnet] [--json]

Without ``--datasets``, GCN is measured on five graphs and the other backbones on Cora; with it, every backbone on
every graph named. All sides take turns in one process on one thread. The published shape (dense features,
scattered messages, four evaluation forwards per epoch) is measured for GCN, the usual loop (the same with one
evaluation) for all backbones.

Every ratio is given twice, from the median of the turns and from the fastest one: other work on the machine adds
time, which the fastest turn feels least, while the median is what a run usually has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from _measure import interleaved, table
from _reference import reference_loop, reference_model

from postel.backbones import BACKBONES, make_backbone
from postel.datasets import load_dataset
from postel.graph import prepare
from postel.labels import KnownLabels
from postel.training import Settings, SoftTargets, Watch, train

GCN_DATASETS = ("texas", "cora", "citeseer", "pubmed", "computers")
# What the project promises: ratio to the published shape, ratio to the usual loop.
PROMISED = {
    ("gcn", "texas"): (6.0, 3.0),
    ("gcn", "cora"): (12.0, 6.0),
    ("gcn", "citeseer"): (20.0, 10.0),
    ("gcn", "pubmed"): (10.0, None),
    ("gcn", "computers"): (10.0, None),
    **{(name, "cora"): (None, 4.0 if name == "bernnet" else 2.0) for name in BACKBONES if name != "gcn"},
}


MOST_EPOCHS = 200


def repeated(epoch: Callable[[], float], count: int) -> int:
    """``count``, after that many epochs."""
    for _ in range(count):
        epoch()
    return count


def epochs_for(run: Callable[[int], int], seconds: float) -> int:
    """How many epochs of ``run`` take about ``seconds``: at least one, at most 200, found by a short trial."""
    run(1)
    started = time.process_time()
    tried = run(3)
    each = (time.process_time() - started) / tried
    return max(1, min(MOST_EPOCHS, round(seconds / each)))


def measure(backbone: str, dataset: str, rounds: int, seconds: float) -> dict[str, object]:
    """Return CPU milliseconds per epoch of all sides on a dataset, and ratios; a turn takes about ``seconds``."""
    data = load_dataset(dataset, split=0)
    classes = int(data.y.max()) + 1
    graph = prepare(data)
    known = KnownLabels.from_mask(data.y, data.train_mask, classes)
    objective = SoftTargets(known.index, known.one_hot())
    masks = {"train": data.train_mask, "val": data.val_mask, "test": data.test_mask}
    watch = Watch({name: (m.nonzero().view(-1), data.y[m]) for name, m in masks.items()}, graph.num_nodes)

    def ours(count: int) -> int:
        settings = Settings(max_epochs=count, window=count)
        return train(
            lambda: make_backbone(backbone, graph.num_features, classes), graph, objective, watch, settings
        ).epochs

    runs: dict[str, Callable[[int], int]] = {"ours": ours}
    for name, evaluations in (("published", 4), ("usual", 1)):
        if name == "published" and backbone != "gcn":
            continue
        epoch = reference_loop(reference_model(backbone, graph.num_features, classes), data, evaluations)
        runs[name] = partial(repeated, epoch)
    sides = {name: partial(run, epochs_for(run, seconds)) for name, run in runs.items()}
    turns = interleaved(sides, rounds)
    times = {name: statistics.median(values) for name, values in turns.items()}
    fastest = {name: min(values) for name, values in turns.items()}
    row: dict[str, object] = {"backbone": backbone, "dataset": dataset, "ms": times, "fastest_ms": fastest}
    for name, least in zip(("published", "usual"), PROMISED.get((backbone, dataset), (None, None)), strict=True):
        if name in times:
            row[f"x_{name}"] = times[name] / times["ours"]
            row[f"fastest_x_{name}"] = fastest[name] / fastest["ours"]
            row[f"promised_{name}"] = least
    return row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", help="graphs for every backbone; else five for GCN, else cora")
    parser.add_argument("--backbones", nargs="+", default=list(BACKBONES), help="all eight if left out")
    parser.add_argument("--rounds", type=int, default=7, help="turns of every side")
    parser.add_argument("--seconds", type=float, default=0.4, help="about how long a turn takes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    for backbone in options.backbones:
        for dataset in options.datasets or (GCN_DATASETS if backbone == "gcn" else ("cora",)):
            rows.append(measure(backbone, dataset, options.rounds, options.seconds))
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    columns = ["backbone", "dataset", "ours ms", "published ms", "usual ms", "x published", "x usual", "promised"]
    print(table(columns, [_cells(row) for row in rows]))
    print("medians of the turns; in brackets the ratio of the fastest turns")


def _cells(row: dict[str, object]) -> list[str]:
    times = row["ms"]
    assert isinstance(times, dict)
    promised = [
        f"{row[f'promised_{name}']:g}" if row.get(f"promised_{name}") else "-" for name in ("published", "usual")
    ]
    ratio = [
        f"{row[f'x_{name}']:.1f} ({row[f'fastest_x_{name}']:.1f})" if f"x_{name}" in row else "-"
        for name in ("published", "usual")
    ]
    spent = [f"{times[name]:.2f}" if name in times else "-" for name in ("ours", "published", "usual")]
    return [str(row["backbone"]), str(row["dataset"]), *spent, *ratio, " / ".join(promised)]


if __name__ == "__main__":
    main()
