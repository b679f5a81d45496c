"""``postel tune``: the best setting of methods on one dataset, each with the same budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postel.cli import options
from postel.cli.console import notes, out, plus_minus, print_json, print_table
from postel.cli.words import listed

if TYPE_CHECKING:
    from postel.experiments.results import Cell
    from postel.experiments.search.decision import Choice


def tune(
    dataset: options.Graph,
    methods: options.Methods = None,
    backbone: options.Backbone = "gcn",
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            help="For each method: a number of trainings (200), which is never exceeded, or minutes (30m), "
            "full-size rungs (standard), the full grid (grid) or no search (fixed).",
        ),
    ] = "200",
    splits: options.Splits = 10,
    search_splits: options.SearchSplits = None,
    protocol: options.Protocol = "paper",
    recipe: options.Recipe = "paper",
    pseudo_labels: options.PseudoLabels = "yes",
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A setting that is not searched, as in --set lr=0.05 or, of the network, --set hidden=32; may be "
            "repeated.",
        ),
    ] = None,
    max_epochs: options.MaxEpochs = 1000,
    stopping: options.Stopping = "window-mean",
    metric: options.Metric = "accuracy",
    batch_size: options.BatchSize = None,
    device: options.Device = "cpu",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.", min=0)] = 0,
    workers: options.Workers = 2,
    scheduler: options.Scheduler = None,
    store: options.Store = Path("postel.sqlite"),
    storage: options.Storage = None,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
) -> None:
    """Search the best setting of each method on one graph, with equal budgets and on validation nodes only.

    One-hot labels always take part; without --method they are compared with ls, postel and calibrated. A value
    that a method is given, as in postel:beta=0.4, is not searched. Settings of network and method are tried
    together, spread evenly at first and then where they promise most. The better ones are compared on more
    splits, with pseudo-labels, and finally on all splits. Soft labels are recommended only where they beat
    one-hot labels by more than the standard error of the difference.

    Every run is stored as it finishes: after an interruption the same command continues where it stopped.

    Example: postel tune texas --backbone gcn -m uniform,postel --budget 200 --splits 10
    """
    from postel.cli.progress import StudyView, resumable
    from postel.cli.repeating import ways_of
    from postel.experiments.budget import Budget
    from postel.experiments.search.spaces import flat
    from postel.experiments.search.stored import (
        TooSmallError,
        begin_search,
        checked_template,
        recommended,
        tune_dataset,
    )
    from postel.experiments.search.tune import METHODS
    from postel.experiments.spec import MethodSpec
    from postel.experiments.store import Store

    chosen = Budget.parse(budget)
    options.tell_unused_storage(storage)
    searched = list(listed(methods) or METHODS)
    if not any(MethodSpec.parse(method).name == "one_hot" for method in searched):
        searched.insert(0, "one_hot")
    if chosen.kind == "fixed":
        searched = [MethodSpec.parse(method).as_typed().text for method in searched]
    settings = {**options.search_settings(fixed, backbone), "max_epochs": max_epochs, "stopping": stopping}
    settings |= ways_of(batch_size, device)
    options.check_usable(device, scheduler)
    rounds = options.pseudo_label_rounds(pseudo_labels)
    shared: dict[str, Any] = {
        "protocol": protocol,
        "recipe": recipe,
        "data_root": data_root,
        "pseudo_labels": rounds,
    }
    every = range(splits)
    left_out: list[str] = []
    for method in list(searched):
        template = checked_template(
            dataset, backbone, method, splits=every[:search_splits], fixed=flat(settings), **shared
        )
        try:
            if chosen.kind == "trainings":
                begin_search(template, chosen, every, data_root=data_root)
        except TooSmallError as error:
            if template.method.name == "one_hot":
                raise
            left_out.append(str(error))
            searched.remove(method)
    results = Store(store)
    kept = f"all runs are kept in {store}; the same command goes on from there"
    cells: list[Cell] = []
    for method in searched:
        title = f"{dataset}, {backbone}, {method}: trainings"
        with resumable(kept), StudyView(title, None, workers, quiet=as_json) as view:
            found = tune_dataset(
                dataset,
                backbone,
                method,
                **shared,
                splits=every,
                search_splits=search_splits,
                budget=chosen,
                store=results,
                workers=workers,
                scheduler=scheduler,
                seed=seed,
                fixed=settings,
                metric=metric,
                on_row=view.row,
                on_start=view.start,
                on_failure=view.failure,
                on_progress=view.trial,
            )
        if found.failed:
            notes.print(f"{found.failed} of {splits} runs of the chosen setting failed and are left out")
        rows = results.rows(found.run_keys, rounds=False)
        cells.append(found.with_rows(row for row in rows if row.result.test is not None))
    choice = recommended(cells, results, left_out)
    if as_json:
        values = [{**cell.as_dict(), "test": _test(cell)} for cell in cells]
        told = {"recommended": choice.method.name, "reason": choice.reason, "left_out": left_out}
        compared = [
            {"method": cell.chosen.method.label, metric: line.score, "error": line.error, "runs": len(line.runs)}
            for cell, line in zip(cells, choice.lines, strict=True)
        ]
        print_json({"cells": values, "compared": compared, **told})
    else:
        _print(cells, choice)


def _test(cell: Cell) -> dict[str, Any]:
    """Means of the test metrics over the splits with their intervals, in percent."""
    from dataclasses import asdict

    names = ("accuracy", "macro_f1", "roc_auc", "average_precision", "ece", "majority")
    return {name: asdict(cell.score(name).interval) for name in names if cell.has(name)}


def _print(cells: Sequence[Cell], choice: Choice) -> None:
    from postel.settings import METRIC_NAMES

    metric = cells[0].question.metric
    called = METRIC_NAMES[metric]
    shown = {"accuracy": "test acc.", "macro_f1": "macro-F1", "roc_auc": "ROC-AUC"}
    shown.setdefault(metric, called)
    lines = []
    for cell, line in zip(cells, choice.lines, strict=True):
        chosen = cell.chosen
        setting = [f"lr={chosen.lr:g}", f"weight_decay={chosen.weight_decay:g}"]
        setting += [f"{name}={value}" for name, value in chosen.backbone_args.items()]
        validation = f"{100 * line.score:.2f} ±{100 * line.error:.2f}"
        test = [plus_minus(cell.score(name).interval) if cell.has(name) else "–" for name in shown]
        lines.append([chosen.method.label, " ".join(setting), cell.spent.text, validation, *test])
    question = cells[0].question
    title = f"{question.dataset}: {question.backbone}, {len(question.splits)} {question.protocol} splits, %"
    print_table(title, ["method", "setting", "budget", "validation", *shown.values()], lines, left=3)
    for sentence in (choice.reason, *choice.left_out):
        out.print(sentence)
    out.print(
        f"Settings are chosen by mean validation {called}, near ties by the loss after temperature scaling; test "
        f"nodes have no say. Validation: mean over the {len(choice.lines[0].runs)} splits that all methods have, "
        "which the comparison rests on too. ± of validation: standard error; of test: 95 % bootstrap interval.",
        style="dim",
    )
