"""Complete trainings per hour: what a study or a search can be planned from.

    python benchmarks/throughput.py                     # GCN on five graphs, 2 workers: some minutes
    python benchmarks/throughput.py texas --backbone gat --trainings 40 --json

Each training is a run of a study as ``postel compare`` makes it: one-hot labels, default settings, at most 1000
epochs, stopped by the validation loss, its row handed back. Workers are warm before the clock starts. The paper's
graphs need real data: set ``POSTEL_DATA`` to a folder of graph files.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence

from _measure import table

from postel.experiments.comparison import comparison_specs
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec, RunSpec

DATASETS = ("texas", "cora", "citeseer", "chameleon", "photo")
METHOD = MethodSpec(name="one_hot")
SPLITS = 10


def specs_of(dataset: str, backbone: str, trainings: int) -> list[RunSpec]:
    """As many different runs: ten splits, then the same with other seeds."""
    first = comparison_specs(dataset, [METHOD], range(SPLITS), backbone=backbone)
    specs = [
        spec.model_copy(update={"seed": spec.seed + SPLITS * turn})
        for turn in range(-(-trainings // SPLITS))
        for spec in first
    ]
    return specs[:trainings]


def measure(dataset: str, backbone: str, trainings: int, workers: int) -> dict[str, float]:
    """Seconds and epochs of ``trainings`` complete trainings, and how many fit into an hour."""
    started = time.perf_counter()
    rows = run_all(specs_of(dataset, backbone, trainings), workers=workers)
    seconds = time.perf_counter() - started
    epochs = sum(row.result.epochs for row in rows)
    return {
        "trainings": len(rows),
        "seconds": seconds,
        "epochs_a_training": epochs / len(rows),
        "milliseconds_an_epoch": 1e3 * sum(row.result.seconds for row in rows) / epochs,
        "trainings_an_hour": 3600 * len(rows) / seconds,
    }


def warm_up(workers: int, backbone: str) -> None:
    """Have every worker import what it needs."""
    run_all(comparison_specs("karate", [METHOD], range(SPLITS), backbone=backbone, max_epochs=20), workers=workers)


def show(found: dict[str, dict[str, float]]) -> str:
    """The results as a table."""
    columns = ["", "trainings", "seconds", "epochs per training", "ms per epoch", "trainings per hour"]
    rows = [
        [
            dataset,
            f"{row['trainings']:.0f}",
            f"{row['seconds']:.1f}",
            f"{row['epochs_a_training']:.0f}",
            f"{row['milliseconds_an_epoch']:.2f}",
            f"{row['trainings_an_hour']:,.0f}",
        ]
        for dataset, row in found.items()
    ]
    return table(columns, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=list(DATASETS), metavar="dataset")
    parser.add_argument("--backbone", default="gcn")
    parser.add_argument("--trainings", type=int, default=20, help="of each dataset")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    warm_up(options.workers, options.backbone)
    found = {
        dataset: measure(dataset, options.backbone, options.trainings, options.workers)
        for dataset in options.datasets
    }
    if options.json:
        print(json.dumps({"backbone": options.backbone, "workers": options.workers, "datasets": found}, indent=2))
        return
    print(f"{options.backbone}, {options.workers} workers of one thread each")
    print(show(found))


if __name__ == "__main__":
    main()
