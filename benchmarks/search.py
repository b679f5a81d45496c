"""How close searches come to the best of a full grid at a tenth of its cost: ours, TPE and random search.

    python benchmarks/search.py                                   # from the rows that are kept, nothing is trained
    python benchmarks/search.py --store grid.sqlite --workers 2   # runs or resumes the grids first, and keeps them

The grid is PosteL with GCN as the paper lists it: 800 settings of learning rate, weight decay, alpha and beta on
three splits without pseudo-labels, 2400 trainings per graph. A search may spend 240. Regret is the highest mean
validation accuracy of the grid less that of the search's choice, in points; test accuracy is that of the choice.

Ours chooses as it does in a study: near ties by validation loss. The others take the highest validation accuracy.
A tie among highest goes to the lower loss in all of them. TPE is Optuna's sampler at its defaults, with learning
rate and weight decay as categories; a setting that it proposes again costs it nothing.
"""

from __future__ import annotations

import argparse
import math
import statistics
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from _grid import GRAPHS, KEPT, SPACE, SPLITS, Grid, keep, kept_grids, places, run_grid
from _measure import table

from postel.experiments.budget import Budget
from postel.experiments.search.choice import Measured, mean_score, ranked
from postel.experiments.search.lattice import Place
from postel.experiments.search.method_search import MethodSearch
from postel.experiments.search.rungs import Taken
from postel.experiments.search.spaces import start_of
from postel.experiments.store import Store

SEEDS = 20
BUDGET = len(places()) * SPLITS // 10


@dataclass(frozen=True)
class Outcome:
    """What one search came to.

    Args:
        choice: The place it chose.
        best: The place of highest accuracy of those it has on all splits.
        settings: How many settings it tried.
        trainings: What it spent.
        seconds: How long its trainings took.
        rungs: What each rung did; empty where there are none.
    """

    choice: Place
    best: Place
    settings: int
    trainings: int
    seconds: float
    rungs: tuple[Taken, ...] = ()


def our_search(grid: Grid, seed: int) -> Outcome:
    """Returns what the rungs find."""
    search = MethodSearch(
        space=SPACE,
        start=start_of(SPACE, "gcn", "postel"),
        budget=Budget("trainings", BUDGET),
        replicates=SPLITS,
        splits=SPLITS,
        nodes=grid.nodes,
        rounds=False,
        seed=seed,
    )
    while tasks := search.tasks():
        search.tell({task: grid.runs[task.place][task.replicate] for task in tasks})
    assert search.found is not None and search.trainings <= BUDGET
    tried = {task.place for task in search.known}
    whole = [place for place in tried if sum(task.place == place for task in search.known) == SPLITS]
    seconds = math.fsum(run.seconds for run in search.known.values() if run is not None)
    best = ranked({place: grid.runs[place] for place in whole})[0]
    return Outcome(search.found.place, best, len(tried), search.trainings, seconds, search.found.rungs)


def tpe_search(grid: Grid, seed: int) -> Outcome:
    """Returns what Optuna's TPE finds with every setting on all splits."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    tried: dict[Place, None] = {}
    for _ in range(10 * BUDGET):
        trial = study.ask()
        place = tuple(
            values.index(trial.suggest_categorical(name, values))
            if name in ("lr", "weight_decay")
            else trial.suggest_int(name, 0, len(values) - 1)
            for name, values in SPACE.items()
        )
        tried.setdefault(place)
        study.tell(trial, mean_score(grid.runs[place]))
        if len(tried) == BUDGET // SPLITS:
            break
    return _plain(grid, list(tried))


def random_search(grid: Grid, seed: int) -> Outcome:
    """Returns what settings drawn without repetition find, each on all splits."""
    every = places()
    drawn = np.random.default_rng(seed).choice(len(every), BUDGET // SPLITS, replace=False)
    return _plain(grid, [every[number] for number in drawn])


def _plain(grid: Grid, tried: list[Place]) -> Outcome:
    runs: list[Measured] = [run for place in tried for run in grid.runs[place]]
    best = ranked({place: grid.runs[place] for place in tried})[0]
    return Outcome(best, best, len(tried), len(runs), math.fsum(run.seconds for run in runs))


SEARCHES: dict[str, Callable[[Grid, int], Outcome]] = {
    "ours": our_search,
    "TPE": tpe_search,
    "random": random_search,
}


def regret(grid: Grid, place: Place) -> float:
    """Returns how far a setting is below the grid's best on validation nodes, in points."""
    return 100 * (max(map(mean_score, grid.runs.values())) - mean_score(grid.runs[place]))


def regret_table(grids: dict[str, Grid], seeds: int) -> tuple[str, dict[str, list[Outcome]]]:
    """Returns the table, and all outcomes of our search by dataset."""
    rows, ours = [], {}
    for dataset, grid in grids.items():
        best = ranked(grid.runs)[0]
        whole = math.fsum(run.seconds for runs in grid.runs.values() for run in runs)
        cost = [str(len(grid.runs)), str(len(grid.runs) * SPLITS), f"{whole / 60:.1f}"]
        rows.append([dataset, "full grid", *cost, "0.00", "", "", f"{100 * grid.test[best]:.2f}"])
        for name, search in SEARCHES.items():
            found = [search(grid, seed) for seed in range(seeds)]
            regrets = [regret(grid, outcome.choice) for outcome in found]
            error = statistics.stdev(regrets) / math.sqrt(seeds) if seeds > 1 else 0.0
            tests = [100 * grid.test[outcome.choice] for outcome in found]
            rows.append(
                [
                    "",
                    name,
                    f"{_mean(outcome.settings for outcome in found):.0f}",
                    f"{_mean(outcome.trainings for outcome in found):.0f}",
                    f"{_mean(outcome.seconds for outcome in found) / 60:.1f}",
                    f"{_mean(regrets):.2f} ±{error:.2f}",
                    f"{max(regrets):.2f}",
                    f"{_mean(regret(grid, outcome.best) for outcome in found):.2f}",
                    f"{_mean(tests):.2f}",
                ]
            )
            if name == "ours":
                ours[dataset] = found
    columns = ["graph", "search", "settings", "trainings", "minutes", "regret", "worst", "best found", "test"]
    return table(columns, rows), ours


def rung_table(ours: dict[str, list[Outcome]]) -> str:
    """Returns what each rung of our search takes, as means over seeds."""
    rows = []
    for dataset, found in ours.items():
        names = list(dict.fromkeys(rung.name for outcome in found for rung in outcome.rungs))
        for number, name in enumerate(names):
            rungs = [rung for outcome in found for rung in outcome.rungs if rung.name == name]
            rows.append(
                [
                    dataset if number == 0 else "",
                    name,
                    f"{_mean(rung.tried for rung in rungs):.0f}",
                    f"{_mean(rung.replicates for rung in rungs):.0f}",
                    f"{_mean(rung.trainings for rung in rungs):.0f}",
                    f"{_mean(rung.seconds for rung in rungs) / 60:.2f}",
                ]
            )
    return table(["graph", "rung", "settings", "splits", "trainings", "minutes"], rows)


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


def main() -> None:
    """Print the tables; run the grids first if a store is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="run or resume the grids in this store, and keep their rows with the code")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS, help="whose grids to run")
    parser.add_argument("--workers", type=int, default=2, help="processes for the grids")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds of every search")
    parser.add_argument("--keep-only", action="store_true", help="run nothing: keep the grids that the store has")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.store:
        store = Store(options.store)
        if not options.keep_only:
            run_grid(options.graphs, store, options.workers)
        print(f"{KEPT.name} has {', '.join(keep(store)) or 'nothing'}")
    regrets, ours = regret_table(kept_grids(), options.seeds)
    print(f"{regrets}\n\nRegret: points of validation accuracy, mean over {options.seeds} seeds ± standard error")
    print(f"best found: regret of the highest accuracy among all it has on {SPLITS} splits\n\n{rung_table(ours)}")


if __name__ == "__main__":
    main()
