"""The best setting of a method on a dataset, chosen on validation nodes with the same budget for every method."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from postel.errors import InputError
from postel.experiments.budget import Budget
from postel.experiments.problem import Problem
from postel.experiments.running.execute import Row
from postel.experiments.running.executor import run_all
from postel.experiments.search_loop import Best, Search, mean_accuracy, mean_loss
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.experiments.trials import Trials, storage_url

__all__ = ["Budget", "tune"]


def tune(
    dataset: str,
    backbone: str,
    method: str,
    *,
    protocol: str = "paper",
    recipe: str = "paper",
    splits: Sequence[int] = range(10),
    search_splits: int | None = 3,
    budget: Budget | str,
    store: Store,
    storage: str | None = None,
    workers: int = 2,
    scheduler: str | None = None,
    data_root: str | None = None,
    seed: int = 0,
    pseudo_labels: bool | int = True,
    fixed: dict[str, Any] | None = None,
    target: str = "tune",
    on_row: Callable[[Row], None] = lambda row: None,
    on_start: Callable[[RunSpec], None] = lambda spec: None,
    on_failure: Callable[[RunSpec, str], None] = lambda spec, text: None,
    on_trial: Callable[[int, int], None] = lambda done, limit: None,
) -> dict[str, Any]:
    """The cell of the best setting of ``method``: what was chosen, with what budget, and the keys of its runs.

    A trial is a setting trained on the first ``search_splits`` of ``splits`` (all of them if None). The best has
    the highest mean validation accuracy, then the lowest mean validation loss; test nodes have no say. It is then
    run on all ``splits``. Runs and cell are in ``store`` at the end, trials in the Optuna ``storage`` (a URL or a
    path; an SQLite file beside the store if None). After an interruption the same call goes on, and a larger
    budget goes on from a smaller one. ``fixed`` holds settings that are not searched, as ``{"max_epochs": 30,
    "method.alpha": 0.8}``. The seed of a run is its split; ``seed`` is that of the search.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "rows.sqlite")
    ...     cell = tune("karate", "gcn", "uniform", splits=[0, 1], search_splits=1, budget="2", store=store,
    ...                 workers=1, fixed={"max_epochs": 5})
    ...     len(store.cells()), len(cell["run_keys"]), cell["budget"]["text"]
    (1, 2, '2 trials, 1 search split')
    """
    budget = Budget.parse(budget) if isinstance(budget, str) else budget
    problem = Problem.of(
        dataset,
        backbone,
        method,
        protocol,
        recipe,
        pseudo_labels,
        fixed or {},
        data_root,
        search=budget.kind != "fixed",
    )
    chosen_splits = list(splits)
    if not chosen_splits:
        raise InputError("a search needs at least one split")
    searched = chosen_splits[:search_splits]

    reasons = ["the store has the tracebacks"]

    def failed(spec: RunSpec, text: str) -> None:
        reasons.append(text.strip().splitlines()[-1])
        on_failure(spec, text)

    run = partial(
        run_all,
        workers=workers,
        data_root=data_root,
        store=store,
        scheduler=scheduler,
        on_row=on_row,
        on_start=on_start,
        on_failure=failed,
    )
    what = f"{method} with {backbone} on {dataset}"

    best: Best | None
    if budget.kind == "fixed":
        searched = []
        best = Best({}, {}, 0)
    else:
        url = storage_url(storage, store.path)
        identity = {**problem.identity(), "splits": searched, "seed": seed, "grid": budget.kind == "grid"}
        trials = Trials(url, f"{dataset} {backbone} {problem.method.name} {_hash(identity)}", problem.space)
        with trials.told():
            best = Search(problem, trials, budget, searched, seed, workers, run, on_trial).best()
    if best is None:
        raise InputError(f"every trial of {what} failed: {reasons[-1]}")
    specs = [problem.spec(best.setting, split) for split in chosen_splits]
    rows = run(specs)
    if not rows:
        raise InputError(f"every run of {what} failed: {reasons[-1]}")
    whole = {**problem.identity(), "budget": asdict(budget), "splits": chosen_splits, "searched": searched}
    cell = {
        "key": _hash({**whole, "seed": seed, "target": target}),
        **_chosen(specs[0]),
        "asked": problem.asked(),
        "budget": {
            **asdict(budget),
            "trials": best.trials,
            "search_splits": len(searched),
            "text": budget.text(best.trials, len(searched), problem.size, problem.asked()["fixed"]),
        },
        "validation": best.validation or {"accuracy": mean_accuracy(rows), "loss": mean_loss(rows)},
        "splits": chosen_splits,
        "run_keys": [row["key"] for row in rows],
        "failed": len(specs) - len(rows),
        "target": target,
    }
    store.add_cell(cell)
    return cell


def _chosen(spec: RunSpec) -> dict[str, Any]:
    """The part of a cell that a spec of its setting tells."""
    values = spec.model_dump(mode="json")
    settings = ("lr", "weight_decay", "backbone_args", "max_epochs", "stopping", "window")
    names = ("dataset", "fingerprint", "protocol", "recipe", "backbone", "method", "pseudo_labels")
    return {**{name: values[name] for name in names}, "settings": {name: values[name] for name in settings}}


def _hash(values: dict[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]
