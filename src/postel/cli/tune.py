"""``postel tune``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postel.cli import options

if TYPE_CHECKING:
    from postel.experiments.store import Store


def tune(
    dataset: Annotated[str, typer.Argument(help="A dataset's name or the path of a graph file.")],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="A method; what it carries, as in postel:beta=0.4, is not searched. May be repeated: each method "
            "has the same budget.  [default: postel]",
            show_default=False,
        ),
    ] = None,
    backbone: options.Backbone = "gcn",
    budget: Annotated[
        str,
        typer.Option("--budget", help="Trials (16), minutes (30m), the full grid (grid) or no search (fixed)."),
    ] = "16",
    splits: options.Splits = 10,
    search_splits: Annotated[
        int, typer.Option("--search-splits", help="On how many of them settings are compared.", min=1)
    ] = 3,
    protocol: options.Protocol = "paper",
    recipe: options.Recipe = "paper",
    pseudo_labels: options.PseudoLabels = "yes",
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            "--fix",
            help="A setting that is not searched, as in --fix lr=0.05 or --fix backbone_args.hidden=32; may be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    max_epochs: options.MaxEpochs = 1000,
    stopping: options.Stopping = "window-mean",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search.", min=0)] = 0,
    workers: options.Workers = 2,
    scheduler: options.Scheduler = None,
    store: options.Store = Path("postel.sqlite"),
    storage: options.Storage = None,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
) -> None:
    """Search for the best setting of methods on one dataset, each with the same budget, on validation nodes only.

    The first 8 trials are settings of the network (learning rate, weight decay, ...), the same for every method,
    and the next 4 of the method; TPE takes over then. So fewer than 9 trials leave alpha and beta as they are.

    Runs and trials are kept as they finish: after an interruption the same command goes on.

    Example: postel tune texas --backbone gcn -m one_hot -m postel --budget 16 --splits 10 --search-splits 3
    """
    from postel.cli.console import notes, print_json
    from postel.cli.progress import StudyView
    from postel.experiments.budget import Budget
    from postel.experiments.search import tune as search
    from postel.experiments.store import Store

    chosen = Budget.parse(budget)
    kept = Store(store)
    settings = {**options.key_values(fixed, "--fix"), "max_epochs": max_epochs, "stopping": stopping}
    cells = []
    for method in methods or ["postel"]:
        with StudyView(f"{dataset}, {backbone}, {method}: trials", None, workers, quiet=as_json) as view:
            try:
                cell = search(
                    dataset,
                    backbone,
                    method,
                    protocol=protocol,
                    recipe=recipe,
                    splits=range(splits),
                    search_splits=search_splits,
                    budget=chosen,
                    store=kept,
                    storage=storage,
                    workers=workers,
                    scheduler=scheduler,
                    data_root=data_root,
                    seed=seed,
                    pseudo_labels=options.pseudo_label_rounds(pseudo_labels),
                    fixed=settings,
                    on_row=view.row,
                    on_start=view.start,
                    on_failure=view.failure,
                    on_trial=view.trial,
                )
            except KeyboardInterrupt:
                view.stop()
                notes.print(f"interrupted: all runs are kept in {store}; the same command goes on from there")
                raise typer.Exit(130) from None
        if cell["failed"]:
            notes.print(f"{cell['failed']} of {splits} runs of the chosen setting failed and are left out")
        cells.append({**cell, "test": _test(cell, kept)})
    if as_json:
        print_json({"cells": cells})
    else:
        _print(cells)


def _test(cell: dict[str, Any], store: Store) -> dict[str, Any]:
    """Means of the test metrics over the splits with their intervals, in percent."""
    from dataclasses import asdict

    from postel.experiments.intervals import bootstrap_interval

    rows = [row for row in store.rows(cell["run_keys"]) if row["result"]["test"] is not None]
    names = ("accuracy", "macro_f1", "ece", "majority")
    return {
        name: asdict(bootstrap_interval([100 * row["result"]["test"][name] for row in rows]))
        for name in names
        if rows
    }


def _print(cells: list[dict[str, Any]]) -> None:
    from postel.cli.console import out, plus_minus, print_table
    from postel.experiments.intervals import Interval
    from postel.experiments.spec import MethodSpec

    lines = []
    for cell in cells:
        args = cell["settings"]["backbone_args"]
        setting = [f"lr={cell['settings']['lr']:g}", f"weight_decay={cell['settings']['weight_decay']:g}"]
        setting += [f"{name}={value}" for name, value in args.items()]
        test = [
            plus_minus(Interval(**cell["test"][name])) if cell["test"] else "–"
            for name in ("accuracy", "macro_f1")
        ]
        name = MethodSpec(**cell["method"]).label
        found = cell["validation"]
        lines.append(
            [
                name,
                " ".join(setting),
                cell["budget"]["text"],
                f"{100 * found['accuracy']:.2f}",
                *test,
            ]
        )
    first = cells[0]
    title = f"{first['dataset']}: {first['backbone']}, {len(first['splits'])} {first['protocol']} splits, %"
    print_table(title, ["method", "setting", "budget", "validation", "test acc.", "macro-F1"], lines, left=3)
    out.print(
        "Settings are chosen by mean validation accuracy over the search splits, then by validation loss; test "
        "nodes have no say. ±: 95 % bootstrap interval.",
        style="dim",
    )
