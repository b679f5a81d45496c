"""``postel compare``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postel.cli import options

if TYPE_CHECKING:
    from postel.experiments.comparison import Comparison
    from postel.experiments.running.execute import Row
    from postel.experiments.spec import RunSpec
    from postel.experiments.store import Store

DEFAULT_METHODS = ["one_hot", "uniform", "distillation", "sals", "als", "postel"]


def compare(
    dataset: Annotated[str, typer.Argument(help="A dataset's name or the path of a graph file.")],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="A method, as in postel:alpha=0.6; may be repeated. All six without it.",
            show_default=False,
        ),
    ] = None,
    backbone: options.Backbone = "gcn",
    backbone_args: options.BackboneArgs = None,
    splits: options.Splits = 10,
    protocol: options.Protocol = "paper",
    recipe: options.Recipe = "paper",
    pseudo_labels: options.PseudoLabels = "yes",
    lr: options.Lr = 0.01,
    weight_decay: options.WeightDecay = 5e-4,
    max_epochs: options.MaxEpochs = 1000,
    stopping: options.Stopping = "window-mean",
    workers: options.Workers = 2,
    store: options.Store = Path("postel.sqlite"),
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Show the comparison in this .html, .png or .svg file.")
    ] = None,
    overwrite: options.Overwrite = False,
    scheduler: options.Scheduler = None,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
) -> None:
    """Compare soft-label methods over splits of one dataset, at the same settings.

    Runs are kept in the store as they finish: after an interruption the same command goes on.

    Example: postel compare texas -m one_hot -m uniform:epsilon=0.3 -m postel --lr 0.05 --out texas.html
    """
    from postel.cli.console import out as screen
    from postel.cli.console import print_json
    from postel.errors import InputError
    from postel.experiments.comparison import comparison_specs, summarize
    from postel.experiments.spec import MethodSpec
    from postel.experiments.store import Store
    from postel.outputs import Target, writing

    if out is not None and out.suffix.lower() not in (".html", ".png", ".svg"):
        raise InputError(f"--out takes a file that ends in .html, .png or .svg, got {out.name}")
    specs = comparison_specs(
        dataset,
        [MethodSpec.parse(text) for text in methods or DEFAULT_METHODS],
        range(splits),
        data_root=data_root,
        pseudo_labels=options.pseudo_label_rounds(pseudo_labels),
        protocol=protocol,
        recipe=recipe,
        backbone=backbone,
        backbone_args=options.key_values(backbone_args),
        lr=lr,
        weight_decay=weight_decay,
        max_epochs=max_epochs,
        stopping=stopping,
    )
    with ExitStack() as stack:
        if out is not None:
            target = Target(out, out.suffix[1:].upper())
            work = stack.enter_context(writing(target, overwrite=overwrite, inputs=[store, dataset]))
        rows = run_with_progress(specs, workers, data_root, Store(store), quiet=as_json, scheduler=scheduler)
        comparison = summarize(rows)
        if out is not None:
            from postel.report.comparison_page import write_comparison

            told = " ".join(["postel", *sys.argv[1:]])
            write_comparison(comparison, work / out.name, data_root=data_root, command=told)
    if as_json:
        print_json(comparison.as_dict())
        return
    print_comparison(comparison)
    if out is not None:
        screen.print(f"the comparison is in {out}, its rows in {store}")


def run_with_progress(
    specs: Sequence[RunSpec],
    workers: int,
    data_root: str | None,
    store: Store | None,
    *,
    quiet: bool = False,
    scheduler: str | None = None,
) -> list[Row]:
    """The rows of ``specs``, with a bar on standard error while they run.

    Splits on which a run failed are left out, with a note, so that methods are compared on the same ones.
    """
    from postel.cli.console import notes
    from postel.cli.progress import StudyView
    from postel.errors import InputError
    from postel.experiments.running.executor import run_all

    failures: dict[int, str] = {}

    with StudyView(f"{specs[0].dataset}: runs", len(specs), workers, quiet=quiet) as view:

        def failed(spec: RunSpec, text: str) -> None:
            view.failure(spec, text)
            failures[spec.split] = f"{spec.method.label}: {text.strip().splitlines()[-1]}"

        try:
            rows = run_all(
                specs,
                workers=workers,
                data_root=data_root,
                store=store,
                on_row=view.row,
                on_start=view.start,
                on_failure=failed,
                scheduler=scheduler,
            )
        except KeyboardInterrupt:
            view.stop()
            kept = f"kept in {store.path}" if store is not None else "not kept"
            notes.print(
                f"interrupted: {view.done} of {len(specs)} runs are {kept}; the same command goes on from there"
            )
            raise typer.Exit(130) from None
    whole = [row for row in rows if row["spec"]["split"] not in failures]
    first = next(iter(failures.values()), "")
    if not whole:
        raise InputError(f"a run failed on every split; {first}")
    if failures:
        notes.print(
            f"{view.failed} runs failed, so {len(failures)} splits are left out ({first}); the same command tries "
            "them again",
            markup=False,
        )
    return whole


def print_comparison(comparison: Comparison) -> None:
    """The table of a comparison in the terminal."""
    from postel.cli.console import out, print_table
    from postel.report.comparison_page import plus_minus, signed

    rows = []
    for line in comparison.methods:
        name = line.label
        if line.collapsed:
            name += f" [bold](one class in {line.collapsed} of {line.splits})[/bold]"
        scores = [plus_minus(interval).replace(" ", "") for interval in (line.accuracy, line.macro_f1, line.ece)]
        gain = (
            [signed(line.difference.interval), f"{line.difference.p_value:.3f}"] if line.difference else ["–", "–"]
        )
        work = [f"{line.improved_rounds:.1f}/{line.trainings:.1f}", f"{line.seconds:.1f}"]
        rows.append([name, *scores, *gain, *work])
    rows.append(["majority class", plus_minus(comparison.majority).replace(" ", ""), *[""] * 6])
    columns = ["method", "accuracy", "macro-F1", "cal.err.", "against one-hot", "p", "rounds", "s"]
    splits = comparison.methods[0].splits
    print_table(
        f"{comparison.dataset}: {comparison.backbone}, {splits} {comparison.protocol} splits, %", columns, rows
    )
    out.print(
        "± and brackets: 95 % bootstrap interval; p: permutation test of the paired difference; "
        "rounds: of pseudo-labelling that helped / trainings",
        style="dim",
    )
