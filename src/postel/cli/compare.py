"""``postel compare``: methods side by side over splits of one dataset, at the same settings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postel.cli import options
from postel.cli.console import notes, out, plus_minus, print_json, print_table, with_sign
from postel.cli.console import out as screen
from postel.cli.words import listed
from postel.errors import InputError

if TYPE_CHECKING:
    from postel.experiments.results import Cell, Row
    from postel.experiments.scores import Gain
    from postel.experiments.spec import RunSpec
    from postel.experiments.store import Store
    from postel.experiments.store.reader import Study

#: Metrics of the table, and how they are called there.
METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "roc_auc": "ROC-AUC",
    "average_precision": "avg.prec.",
    "ece": "cal.err.",
}
DEFAULT_METHODS = ["one_hot", "uniform", "distillation", "sals", "als", "postel"]


def compare(
    dataset: options.Graph,
    methods: options.Methods = None,
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
    batch_size: options.BatchSize = None,
    device: options.Device = "cpu",
    workers: options.Workers = 2,
    store: options.Store = Path("postel.sqlite"),
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the comparison to this .html, .png or .svg file.")
    ] = None,
    overwrite: options.Overwrite = False,
    scheduler: options.Scheduler = None,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
) -> None:
    """Compare soft-label methods on one graph over several splits, at the same settings.

    Without --method: one_hot, uniform, distillation, sals, als and postel.

    Every run is stored as it finishes: after an interruption the same command continues where it stopped.

    Example: postel compare texas -m one_hot,uniform:epsilon=0.3,postel --lr 0.05 --out texas.html
    """
    from postel.experiments.comparison import comparison_specs
    from postel.experiments.spec import MethodSpec
    from postel.experiments.store import Store
    from postel.experiments.store.reader import Study
    from postel.outputs import Target, writing

    if out is not None and out.suffix.lower() not in (".html", ".png", ".svg"):
        raise InputError(f"--out takes a file that ends in .html, .png or .svg, got {out.name}")
    specs = comparison_specs(
        dataset,
        [MethodSpec.parse(text) for text in listed(methods) or DEFAULT_METHODS],
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
        batch_size=batch_size,
        device=device,
    )
    options.check_usable(device, scheduler)
    with ExitStack() as stack:
        if out is not None:
            target = Target(out, out.suffix[1:].upper())
            work = stack.enter_context(writing(target, overwrite=overwrite, inputs=[store, dataset]))
        rows = run_with_progress(specs, workers, data_root, Store(store), quiet=as_json, scheduler=scheduler)
        study = Study.of_rows(rows, str(store))
        if out is not None:
            _write(work / out.name, study, data_root)
    if as_json:
        print_json(comparison_values(study.cells))
        return
    print_comparison(study.cells)
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
    """Run specs, with a progress bar on standard error.

    Splits on which a run failed are left out, with a note, so that methods are compared on the same ones.

    Args:
        specs: What to run.
        workers: How many processes.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.
        store: The store to read rows from and to add them to.
        quiet: Whether to show no bar.
        scheduler: The address of a Dask cluster to run on instead.

    Returns:
        The rows.
    """
    from postel.cli.progress import StudyView, resumable
    from postel.experiments.running.executor import run_all

    failures: dict[int, str] = {}

    def failed(spec: RunSpec, text: str) -> None:
        view.failure(spec, text)
        failures[spec.split] = f"{spec.method.label}: {text.strip().splitlines()[-1]}"

    def kept() -> str:
        where = f"kept in {store.path}" if store is not None else "not kept"
        return f"{view.done} of {len(specs)} runs are {where}; the same command goes on from there"

    view = StudyView(f"{specs[0].dataset}: runs", len(specs), workers, quiet=quiet)
    with resumable(kept), view:
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
    whole = [row for row in rows if row.split not in failures]
    first = next(iter(failures.values()), "")
    if not whole:
        raise InputError(f"a run failed on every split; {first}")
    if failures:
        notes.print(
            f"{view.failed} runs failed, so {len(failures)} splits are left out ({first}); the same command tries "
            "them again"
        )
    return whole


def print_comparison(cells: Sequence[Cell]) -> None:
    """Print methods side by side.

    Args:
        cells: One cell per method on the same dataset, with rows.
    """
    from rich.text import Text

    from postel.paper.compared import compare_cells

    rows: list[list[str | Text]] = []
    for line in compare_cells(cells):
        cell, name = line.cell, Text(line.cell.chosen.method.label)
        if cell.collapsed:
            name.append(f" (one class in {cell.collapsed} of {cell.accuracy.splits})", "bold")
        scores = [plus_minus(cell.score(name).interval) if cell.has(name) else "–" for name in METRICS]
        gain = [with_sign(line.gain.interval), f"{line.gain.corrected:.3f}"] if line.gain else ["–", "–"]
        work = [f"{cell.mean('improved_rounds'):.1f}/{cell.mean('trainings'):.1f}", f"{cell.mean('seconds'):.1f}"]
        rows.append([name, scores[0], *gain, *scores[1:], *work])
    rows.append(["majority class", plus_minus(cells[0].score("majority").interval), *[""] * (len(METRICS) + 3)])
    # What most look for comes first: a narrow terminal shows the rest in a second block.
    first, *others = METRICS.values()
    columns = ["method", first, "against one-hot", "p", *others, "rounds", "s"]
    question, splits = cells[0].question, cells[0].accuracy.splits
    print_table(f"{question.dataset}: {question.backbone}, {splits} {question.protocol} splits, %", columns, rows)
    out.print(
        "± and brackets: 95 % bootstrap interval; p: of the paired difference, corrected for nodes that splits "
        "share and for the number of lines; rounds: of pseudo-labelling that helped / trainings",
        style="dim",
    )


def comparison_values(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return methods side by side as plain values, for JSON.

    Args:
        cells: One cell per method on the same dataset, with rows.
    """
    from dataclasses import asdict

    from postel.paper.compared import compare_cells

    methods = []
    for line in compare_cells(cells):
        cell, method = line.cell, line.cell.chosen.method
        scores = {name: asdict(cell.score(name).interval) if cell.has(name) else None for name in METRICS}
        means = {name: cell.mean(name) for name in ("improved_rounds", "trainings", "seconds")}
        methods.append(
            {
                "label": method.label,
                "method": method.model_dump(mode="json"),
                "splits": cell.accuracy.splits,
                **scores,
                "difference": {**asdict(line.gain.difference), **_reading(line.gain)} if line.gain else None,
                "collapsed": cell.collapsed,
                **means,
                "has_collapsed": cell.has_collapsed,
            }
        )
    question = cells[0].question
    names = ("dataset", "fingerprint", "protocol", "recipe", "backbone")
    return {
        **{name: getattr(question, name) for name in names},
        "settings": cells[0].chosen.training(),
        "majority": asdict(cells[0].score("majority").interval),
        "methods": methods,
    }


def _reading(gain: Gain) -> dict[str, Any]:
    """The p-value after both corrections, and what it says."""
    return {"corrected_p": gain.corrected, "reads": gain.reads}


def _write(path: Path, study: Study, data_root: str | None) -> None:
    """Show a comparison: as a page for .html, as one picture for .png and .svg."""
    from postel.datasets.diagnosis import diagnose
    from postel.files import write_text
    from postel.pictures import save
    from postel.report.page import Page
    from postel.report.pictures import comparison_pictures
    from postel.report.plots import overview_figure

    question = study.cells[0].question
    all_labels = diagnose(
        question.dataset, None, data_root=data_root, recipe=question.recipe
    ).all_labels.conditional
    if path.suffix.lower() != ".html":
        save(overview_figure(study.cells, all_labels), path)
        return
    pictures = comparison_pictures(study.cells, all_labels)
    command = " ".join(["postel", *sys.argv[1:]])
    page = Page(study, f"Soft labels on {question.dataset}", pictures=pictures, command=command)
    write_text(path, page.html())
