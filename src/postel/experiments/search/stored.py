"""Searches the best setting of a method on a dataset, for ``postel tune`` and ``postel reproduce``.

The rows in the store are the only state: after an interruption the same call finds them there and continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

from postel.backbones import backbone_class
from postel.checks import check_choice
from postel.errors import InputError
from postel.experiments.budget import Budget
from postel.experiments.graphs import run_fingerprint
from postel.experiments.results import ONE_CLASS, Cell, Question, Row, Rung, Setting, Spent, content_key
from postel.experiments.running.execute import classifier_of, load_data
from postel.experiments.running.executor import run_all
from postel.experiments.search.choice import Measured, mean_loss, mean_score, own_error, predicts_one_class
from postel.experiments.search.decision import Choice, Line, decide
from postel.experiments.search.driving import Driven, Tell, drive
from postel.experiments.search.spaces import flat, published_values
from postel.experiments.search.template import Template
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.settings import Metric


def tune_dataset(
    dataset: str,
    backbone: str,
    method: str,
    *,
    protocol: str = "paper",
    recipe: str = "paper",
    splits: Sequence[int] = range(10),
    search_splits: int | None = None,
    budget: Budget | str,
    store: Store,
    workers: int = 2,
    scheduler: str | None = None,
    data_root: str | None = None,
    seed: int = 0,
    pseudo_labels: bool | int = True,
    fixed: dict[str, Any] | None = None,
    metric: str = "accuracy",
    target: str = "tune",
    on_row: Callable[[Row], None] = lambda row: None,
    on_start: Callable[[RunSpec], None] = lambda spec: None,
    on_failure: Callable[[RunSpec, str], None] = lambda spec, text: None,
    on_progress: Callable[[int, int], None] = lambda done, expected: None,
) -> Cell:
    """Search the best setting of a method on a dataset, run it on all splits, and store the cell.

    Args:
        dataset: A dataset's name or the path of a graph file.
        backbone: A network's name.
        method: A method; hyper-parameters given with it, as in ``postel:beta=0.4``, are not searched.
        protocol: How nodes are split.
        recipe: How the graph is prepared.
        splits: The splits that the chosen setting is run on.
        search_splits: On how many of them settings are compared at most; all of them if None.
        budget: What may be spent, the runs of the chosen setting included, as :meth:`Budget.parse` reads it.
        store: Where rows are stored, and found again after an interruption.
        workers: How many runs are made at a time.
        scheduler: The address of a Dask cluster that is used instead.
        data_root: Folder of graph files to look in first.
        seed: Shifts the lattice of settings; the seed of a run is its split.
        pseudo_labels: Whether, or for how many rounds, a method that uses them gets pseudo-labels.
        fixed: Settings that are not searched, such as ``{"max_epochs": 30, "method.alpha": 0.8}``.
        metric: What settings are chosen by on validation nodes.
        target: What the cell is for.
        on_row: Called with every row.
        on_start: Called with every spec that is handed to a worker.
        on_failure: Called with the spec and the traceback of every run that fails.
        on_progress: Called with the number of trainings spent so far, and about how many there will be.

    Returns:
        The cell of the best setting.

    Raises:
        InputError: If a name or value does not fit, or every training failed.
        TooSmallError: If the budget is trainings, and too few for a search.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(Path(folder) / "rows.sqlite")
        ...     cell = tune_dataset("karate", "gcn", "one_hot", splits=[0, 1, 2], budget="24", store=store,
        ...                         workers=1, fixed={"max_epochs": 5})
        ...     len(store.cells()), len(cell.run_keys), cell.spent.text
        (1, 3, '24 trainings: 8 of 8 settings on 3 splits; 24 trainings')
    """
    budget = Budget.parse(budget) if isinstance(budget, str) else budget
    if budget.kind == "trials":
        raise InputError(
            f"{budget.limit} are a budget of version 0.1, shown but never run; give trainings, as in 400"
        )
    check_choice("metric", metric, get_args(Metric))
    every = list(splits)
    given = flat(fixed or {})
    template = checked_template(
        dataset,
        backbone,
        method,
        protocol=protocol,
        recipe=recipe,
        splits=every[:search_splits],
        data_root=data_root,
        pseudo_labels=pseudo_labels,
        fixed=given,
    )
    chosen = template.method
    reasons = ["the store has the tracebacks"]

    def failed(spec: RunSpec, text: str) -> None:
        reasons.append(text.strip().splitlines()[-1])
        on_failure(spec, text)

    def run(specs: Sequence[RunSpec], tell: Tell) -> list[Row]:
        by_key = {spec.key: spec for spec in specs}

        def row_came(row: Row) -> None:
            tell(by_key[row.key], Measured.of(row, metric))
            on_row(row)

        def run_failed(spec: RunSpec, text: str) -> None:
            tell(spec, None)
            failed(spec, text)

        return run_all(
            specs,
            workers=workers,
            data_root=data_root,
            store=store,
            scheduler=scheduler,
            on_row=row_came,
            on_start=on_start,
            on_failure=run_failed,
        )

    what = f"{method} with {backbone} on {dataset}"
    values: dict[str, Any] = {}
    spent = Spent(text=budget.text("", given), method_searched=False)
    validation: dict[str, float] = {}
    searched: set[str] = set()
    if budget.kind != "fixed":
        driven = begin_search(template, budget, every, data_root=data_root, seed=seed, workers=workers)
        template = driven.template
        drive({chosen.name: driven}, run, on_progress)
        search = driven.search
        if search.found is None:
            raise InputError(f"every training of {what} failed: {reasons[-1]}")
        values = search.values(search.found.place)
        searched = {template.task_spec(search.values(task.place), task).key for task in search.known}
        rungs = tuple(Rung(rung.tried, rung.replicates, rung.trainings) for rung in search.found.rungs)
        spent = Spent(
            trials=search.found.tried,
            search_splits=len(template.splits),
            text=budget.text(search.summary(), given),
            trainings=search.trainings,
            rungs=rungs,
            method_searched=search.method_was_searched,
        )
        validation = _validation(search.found.runs, metric)
    specs = [template.spec(values, split, split, template.search_rounds) for split in every]
    rows = run(specs, lambda spec, came: None)
    if not rows:
        raise InputError(f"every training of {what} failed: {reasons[-1]}")
    if more := sum(row.result.trainings for row in rows if budget.kind != "fixed" and row.key not in searched):
        spent = replace(spent, text=f"{spent.text}, {more} more to run the choice on all splits")
    measured = [Measured.of(row, metric) for row in rows]
    question = Question(
        dataset=dataset,
        backbone=backbone,
        method=chosen,
        pseudo_labels=template.pseudo_labels,
        protocol=protocol,
        recipe=recipe,
        fixed=given,
        splits=tuple(every),
        budget=budget,
        search_splits=spent.search_splits,
        fingerprint=template.fingerprint,
        metric=metric,
    )
    identity = {**template.identity(), "every": every, "budget": asdict(budget), "seed": seed, "target": target}
    if metric != "accuracy":
        identity["metric"] = metric
    cell = Cell(
        key=content_key(identity),
        question=question,
        chosen=Setting.of(specs[0]),
        spent=spent,
        run_keys=tuple(row.key for row in rows),
        validation=validation or _validation(measured, metric),
        failed=len(specs) - len(rows),
        target=target,
        marks=(ONE_CLASS_VALIDATION,) if predicts_one_class(measured) else (),
    )
    store.add_cell(cell)
    return cell


class TooSmallError(InputError):
    """A budget of trainings does not allow to compare two settings of a method."""


def begin_search(
    template: Template,
    budget: Budget,
    splits: Sequence[int],
    *,
    data_root: str | None = None,
    seed: int = 0,
    workers: int = 1,
) -> Driven:
    """Start a search on a dataset; no run is made yet.

    Args:
        template: What is searched, and what is left as it is.
        budget: What may be spent.
        splits: The splits that the chosen setting is run on.
        data_root: Folder of graph files to look in first.
        seed: Shifts the lattice of settings.
        workers: How many runs are made at a time.

    Returns:
        The search.

    Raises:
        TooSmallError: If the budget is trainings, and too few for a search.
    """
    first = template.spec(template.start, splits[0], splits[0], False)
    nodes = int(load_data(first, data_root).val_mask.sum())
    driven = Driven.begin(template, budget, nodes, seed, workers, final=len(splits))
    if driven.too_small:
        raise TooSmallError(driven.too_small)
    return driven


def checked_template(
    dataset: str,
    backbone: str,
    method: str,
    *,
    protocol: str = "paper",
    recipe: str = "paper",
    splits: Sequence[int] = range(10),
    data_root: str | None = None,
    pseudo_labels: bool | int = True,
    fixed: Mapping[str, Any] | None = None,
) -> Template:
    """Return what the runs of a search share, once it has proved that they can be made.

    Args:
        dataset: A dataset's name or the path of a graph file.
        backbone: A network's name.
        method: A method; hyper-parameters given with it are not searched.
        protocol: How nodes are split.
        recipe: How the graph is prepared.
        splits: The splits that settings are compared on.
        data_root: Folder of graph files to look in first.
        pseudo_labels: Whether, or for how many rounds, a method that uses them gets pseudo-labels.
        fixed: Settings that are not searched, by flat name.

    Returns:
        The template.

    Raises:
        InputError: If a name or value does not fit: before anything runs or is written.
    """
    if not splits:
        raise InputError("a search needs at least one split")
    backbone_class(backbone)
    chosen = MethodSpec.parse(method)
    template = Template(
        dataset=dataset,
        fingerprint=run_fingerprint(dataset, protocol, data_root),
        protocol=protocol,
        recipe=recipe,
        backbone=backbone,
        method=chosen,
        pseudo_labels=chosen.rounds(pseudo_labels),
        fixed={**published_values(backbone, dataset), **(fixed or {})},
        splits=splits,
    )
    classifier_of(template.spec(template.start, splits[0], splits[0], False))
    return template


#: Mark of a cell whose chosen models give every validation node the same class: nothing else was as good.
ONE_CLASS_VALIDATION = f"{ONE_CLASS}_validation"


def recommended(cells: Sequence[Cell], store: Store, left_out: Sequence[str] = ()) -> Choice:
    """Recommend a method: soft labels only if they beat one-hot labels by more than the standard error.

    Args:
        cells: The best setting of each method on the same splits by one metric, one-hot labels among them.
        store: The store that has their runs.
        left_out: Why other methods have no cell, in a sentence each.

    Returns:
        The choice, with a line per cell over the splits that all of them have.
    """
    lines = []
    metric = cells[0].question.metric
    for cell in cells:
        rows = store.rows(cell.run_keys, rounds=False)
        lines.append(Line(rows[0].spec, {}, [Measured.of(row, metric) for row in rows]))
    return decide(lines, metric=metric, left_out=left_out)


def _validation(runs: Sequence[Measured], metric: str) -> dict[str, float]:
    return {metric: mean_score(runs), "loss": mean_loss(runs), "error": own_error(runs)}
