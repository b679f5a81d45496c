"""``postel reproduce``: a table or figure of the paper, run again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postel import registry
from postel.cli import options, words
from postel.cli.console import notes, print_json, print_table
from postel.cli.console import out as screen
from postel.cli.progress import make_bar, resumable
from postel.cli.words import listed
from postel.errors import InputError

if TYPE_CHECKING:
    from postel.experiments.rows import Row
    from postel.experiments.store import Store
    from postel.paper.rendering import Rendering
    from postel.paper.requests import CellRequest, Options
    from postel.paper.target import Target, Watch

ListOption = list[str] | None


def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A table or figure, such as table-main; if left out, all are listed."),
    ] = None,
    datasets: Annotated[
        ListOption, typer.Option("--dataset", "-d", help="Datasets, separated by commas or repeated.")
    ] = None,
    backbones: Annotated[
        ListOption,
        typer.Option(
            "--backbone",
            "-b",
            help=f"Networks, separated by commas or repeated: {', '.join(registry.BACKBONES)}.",
            autocompletion=words.completion(registry.BACKBONES),
        ),
    ] = None,
    methods: options.Methods = None,
    splits: Annotated[
        int | None, typer.Option("--splits", help="How many splits, from split 0 on.", min=1)
    ] = None,
    search_splits: options.SearchSplits = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="Splits, as in compare: paper, stratified, limited, ...")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            help="Search for each cell: 400 (trainings), 30m (minutes), standard (full-size rungs), grid, or "
            "fixed (none). Without it standard for tables of accuracy, fixed for figures and times.",
        ),
    ] = None,
    max_epochs: Annotated[
        int | None,
        typer.Option("--max-epochs", help="Maximum number of epochs; 1000 by default.", min=1),
    ] = None,
    device: options.Device = "cpu",
    workers: options.Workers = 2,
    scheduler: options.Scheduler = None,
    storage: options.Storage = None,
    store: options.Results = Path("postel.sqlite"),
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the table's or figure's files.")] = Path(
        "paper"
    ),
    overwrite: options.Overwrite = False,
    data_root: options.DataRoot = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be run and how long it would take, and run nothing.")
    ] = False,
    render_only: Annotated[
        bool, typer.Option("--render-only", help="Use what is in the store, and run nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make a table or figure of the paper, with the paper's own numbers beside it.

    Every run is stored as it finishes: after an interruption the same command continues where it stopped, and
    tables that share cells share their runs.

    Example: postel reproduce table-main --dataset texas,cornell --backbone gcn --budget 400 --out paper
    """
    from postel.experiments.store.folder import open_results
    from postel.paper.rendering import check_place, write_rendering
    from postel.paper.target import find_target

    if name is None:
        _list_targets(as_json)
        return
    target = find_target(name)(chosen_options(context.params))  # refuses what does not fit
    options.tell_unused_storage(storage)
    if not render_only:
        options.check_usable(device, scheduler)
    if store.is_dir() and not render_only:
        raise InputError(
            f"{store} is a folder of results to read; add --render-only, or name a store file to run into"
        )
    if dry_run:
        _tell_plan(target, store, as_json)
        return
    check_place(target.name, out, overwrite=overwrite)
    results = open_results(store)
    if not render_only:
        _run(target, results, quiet=as_json)
    rendering = target.render(results)
    written = write_rendering(rendering, out, overwrite=overwrite)
    if as_json:
        shown = {"rows": rendering.values.records(), "notes": list(rendering.printed.notes)}
        print_json({"name": target.name, **shown, "files": [str(path) for path in written]})
        return
    _print(rendering)
    kinds = ", ".join(path.name for path in written)
    screen.print(f"in {out}: {kinds}", style="dim")


def chosen_options(values: Mapping[str, Any]) -> Options:
    """Return what a user chose of a table or figure.

    Args:
        values: The command's parameters by name.
    """
    from dataclasses import fields

    from postel.paper.requests import Options

    lists = {name: listed(values[name]) for name in ("datasets", "backbones", "methods")}
    return Options(**{**{field.name: values[field.name] for field in fields(Options)}, **lists})


def _list_targets(as_json: bool) -> None:
    from postel.paper.target import find_target, target_names

    titles = [(name, find_target(name).title) for name in target_names()]
    if as_json:
        print_json([{"name": name, "title": title} for name, title in titles])
        return
    print_table("Tables and figures of the paper", ["name", "what it shows"], titles, left=2)


def _tell_plan(target: Target, path: Path, as_json: bool) -> None:
    from dataclasses import asdict

    from postel.experiments.rates import EpochRates
    from postel.paper.estimate import estimate

    only_measures = bool(target.afterwards) and not target.runs_cells
    cells, workers = [] if only_measures else target.requests, target.options.workers
    with _store_or_none(path) as results, notes.status("reading what is there") as status:

        def on_measure(dataset: str, backbone: str) -> None:
            status.update(f"measuring an epoch of {backbone} on {dataset}")

        rates = EpochRates(target.options.data_root, on_measure=on_measure)
        found = estimate(cells, results, workers, rates)
    if as_json:
        print_json({"name": target.name, **asdict(found), "workers": workers})
        return
    screen.print(f"{target.name}: {target.title}", style="bold")
    if not cells:
        screen.print(target.afterwards or "no training is needed; it takes seconds")
        return
    screen.print(f"cells      {found.cells:,} ({found.done:,} of them in {path})")
    screen.print(f"runs       {found.runs:,}, a run being one split of one setting")
    screen.print(f"trainings  {found.trainings:,}")
    screen.print(f"time       about {duration(found.seconds)} with {workers} workers, {found.how}")
    if target.afterwards:
        screen.print(f"then       {target.afterwards}")


@contextmanager
def _store_or_none(path: Path) -> Iterator[Store]:
    """The store at ``path``, or an empty one that leaves no file where there is none yet."""
    from postel.experiments.store.folder import open_results
    from postel.owners import temporary_folder

    with temporary_folder("postel") as folder:
        yield open_results(path if path.exists() else Path(folder) / "empty.sqlite")


def duration(seconds: float) -> str:
    """Write a duration in the unit that a person would use.

    Args:
        seconds: The duration in seconds.

    Returns:
        The duration in words.

    Example:
        >>> duration(42), duration(600), duration(9000), duration(500_000)
        ('42 s', '10 min', '2.5 h', '5.8 days')
    """
    for size, unit, places in ((86_400, "days", 1), (3600, "h", 1), (60, "min", 0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.{places}f} {unit}"
    return f"{seconds:.0f} s"


def _run(target: Target, results: Store, *, quiet: bool) -> None:
    from postel.paper.running import run_target

    kept = f"what was done is kept in {results.path}; the same command goes on from there"
    with resumable(kept), _watched(quiet) as watch:
        run_target(target, results, watch)
    failures = len(results.failures())
    if failures and not quiet:
        notes.print(f"{failures} runs in {results.path} failed; their tracebacks are kept there")


@contextmanager
def _watched(quiet: bool) -> Iterator[Watch]:
    """Someone to be told of progress, shown as a bar on standard error."""
    from rich.progress import MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from postel.paper.target import Watch

    counts = (MofNCompleteColumn(), TextColumn("cells, {task.fields[runs]} runs"))
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    runs = 0
    with make_bar(*counts, *times, quiet=quiet) as progress:
        bar = progress.add_task("starting", total=None, runs=0)

        def on_cell(number: int, total: int, request: CellRequest) -> None:
            description = f"{request.dataset}, {request.backbone}, {request.variant.label}"
            progress.update(bar, description=description, completed=number, total=total)

        def on_row(row: Row) -> None:
            nonlocal runs
            runs += 1
            progress.update(bar, runs=runs)

        def on_step(text: str) -> None:
            progress.update(bar, description=text)

        yield Watch(on_cell, on_row, on_step)


def _print(rendering: Rendering) -> None:

    table: Any = rendering.printed
    left = sum(column.left for column in table.columns[:4])
    print_table(table.title, table.header, table.shown(), left=left)
    for note in table.notes:
        screen.print(note, style="dim")
