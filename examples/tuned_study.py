"""A tuned study: one-hot, uniform and posterior labels, each with the same budget of trainings.

Settings are chosen on validation nodes only; test nodes are looked at once, with the chosen setting. Every run is
kept as it finishes, so the same command goes on after an interruption and runs nothing twice.
Run: python examples/tuned_study.py [STORE [DATASET]]; study.sqlite and csbm-heterophilic without them.
"""

import sys

from postel.experiments.intervals import bootstrap_interval, paired_difference
from postel.experiments.search.stored import tune_dataset
from postel.experiments.store import Store

METHODS = ("one_hot", "ls", "postel")
BUDGET, SPLITS = "40", 5
FIXED = {"weight_decay": 5e-4, "max_epochs": 60}

store = Store(sys.argv[1] if len(sys.argv) > 1 else "study.sqlite")
dataset = sys.argv[2] if len(sys.argv) > 2 else "csbm-heterophilic"
started = []
accuracies = {}
for method in METHODS:
    cell = tune_dataset(
        dataset,
        "gcn",
        method,
        protocol="stratified",
        splits=range(SPLITS),
        budget=BUDGET,
        store=store,
        workers=1,
        fixed=FIXED,
        on_start=started.append,  # told of runs that are really run, not of those in the store
    )
    rows = store.rows(cell.run_keys)
    accuracies[method] = [row.percent("accuracy") for row in rows]
    mean = bootstrap_interval(accuracies[method])
    setting = {"lr": cell.chosen.lr, **cell.chosen.method.params}
    print(f"{method:8} {' '.join(f'{name}={value:g}' for name, value in setting.items())}")
    print(f"         {cell.spent.text}; validation {100 * cell.validation['accuracy']:.1f} %")
    print(f"         test {mean.mean:.1f} % [{mean.low:.1f}, {mean.high:.1f}] over {SPLITS} splits")
    if method != METHODS[0]:
        gain = paired_difference(accuracies[method], accuracies[METHODS[0]])
        print(f"         over {METHODS[0]}: {gain.interval.mean:+.1f} points, p = {gain.resampled_p:.3f}")
print(f"majority class {sum(row.percent('majority') for row in rows) / SPLITS:.1f} %")
print(f"{len(started)} runs now, {len(store)} in {store.path}")
