"""What a study of many tiny runs spends outside training: starting workers, handing out, keeping rows.

    python benchmarks/study_overhead.py               # 200 runs on the karate club, 2 workers
    python benchmarks/study_overhead.py --runs 40 --max-epochs 30 --json

Worker time is the study's wall-clock time times its workers; training is the sum of the seconds that the runs
report. Until the first row workers mostly import torch, so the share from then on is told, too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from postel.experiments.comparison import comparison_specs
from postel.experiments.rows import Row
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store

METHODS = ("one_hot", "uniform", "distillation", "sals", "als", "postel")
RATES = (0.05, 0.01, 0.02, 0.03, 0.04)


def tiny_specs(runs: int, max_epochs: int) -> list[RunSpec]:
    """As many different runs on the karate club, the smallest graph: GCN, six methods, ten splits, some rates."""
    methods = [MethodSpec(name=name) for name in METHODS]
    specs = [
        spec
        for lr in RATES
        for spec in comparison_specs("karate", methods, range(10), max_epochs=max_epochs, lr=lr)
    ]
    return specs[:runs]


def measure(runs: int, max_epochs: int, workers: int) -> dict[str, float]:
    """Seconds of a study: in all, of its training, until its first row, and of a second look at its rows."""
    specs = tiny_specs(runs, max_epochs)
    first: list[float] = []

    def note(row: Row) -> None:
        if not first:
            first.append(time.perf_counter() - started)

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "rows.sqlite")
        started = time.perf_counter()
        rows = run_all(specs, workers=workers, store=store, on_row=note)
        seconds = time.perf_counter() - started
        started = time.perf_counter()
        run_all(specs, workers=workers, store=store)
        again = time.perf_counter() - started
    training = sum(row.result.seconds for row in rows)
    return {
        "runs": len(rows),
        "workers": workers,
        "seconds": seconds,
        "training_seconds": training,
        "outside_share": 1 - training / (seconds * workers),
        "first_row_seconds": first[0],
        "outside_share_after_first_row": 1 - training / ((seconds - first[0]) * workers + training / len(rows)),
        "kept_rows_seconds": again,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--max-epochs", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.runs, options.max_epochs, options.workers)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['runs']} runs on the karate club, {options.workers} workers: {found['seconds']:.1f} s")
    print(f"training: {found['training_seconds']:.1f} s of {found['seconds'] * options.workers:.1f} s worker time")
    print(f"outside training: {100 * found['outside_share']:.1f} %")
    print(f"first row after {found['first_row_seconds']:.1f} s, most of it imports in the workers")
    print(f"outside training from the first row on: {100 * found['outside_share_after_first_row']:.1f} %")
    print(f"the same study again, all rows kept: {found['kept_rows_seconds']:.2f} s")


if __name__ == "__main__":
    main()
