"""Running planned cells: each by the same search, then those that only take over another's settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from postel.errors import InputError
from postel.experiments.rows import Row
from postel.experiments.running.executor import run_all
from postel.experiments.search.stored import tune_dataset
from postel.experiments.store import Store
from postel.paper.planning import Options, Planned
from postel.paper.results import Results, is_done, swept_specs


def _ignore(*_: object) -> None:
    return


@dataclass(frozen=True)
class Watch:
    """Who is told of progress: the cell or step that begins, and every row that comes."""

    on_cell: Callable[[int, int, Planned], None] = _ignore
    on_row: Callable[[Row], None] = _ignore
    on_step: Callable[[str], None] = _ignore


def run_planned(cells: Sequence[Planned], options: Options, store: Store, watch: Watch, target: str) -> None:
    """Run the cells that are not in the store yet, in their order; those with a base come last."""
    searched = [cell for cell in cells if cell.base is None]
    known = [cell.as_dict() for cell in store.cells() if cell.target == target]
    for number, planned in enumerate(searched):
        watch.on_cell(number, len(cells), planned)
        if not any(is_done(cell, planned) for cell in known):
            run_cell(planned, options, store, watch, target)
    swept = [cell for cell in cells if cell.base is not None]
    results = Results(store)
    specs = []
    for planned in swept:
        base = results.of(planned.base) if planned.base is not None else None
        if base is not None:
            specs += swept_specs(planned, base)
    if specs:
        watch.on_cell(len(searched), len(cells), swept[0])
        run_all(
            specs,
            workers=options.workers,
            data_root=options.data_root,
            store=store,
            on_row=watch.on_row,
            scheduler=options.scheduler,
        )


def run_cell(planned: Planned, options: Options, store: Store, watch: Watch, target: str) -> None:
    """Choose the setting of one cell with its budget and run it on all its splits.

    A cell none of whose runs succeeded is told and passed over: its tracebacks are in the store.
    """
    failed = len(store.failures())
    try:
        tune_dataset(
            planned.dataset,
            planned.backbone,
            planned.variant.text,
            protocol=planned.protocol,
            splits=range(planned.splits),
            search_splits=planned.search_splits,
            budget=planned.budget,
            store=store,
            workers=options.workers,
            scheduler=options.scheduler,
            data_root=options.data_root,
            pseudo_labels=planned.variant.pseudo_labels,
            fixed=planned.fixed,
            target=target,
            on_row=watch.on_row,
        )
    except InputError as error:
        if len(store.failures()) == failed:
            raise
        watch.on_step(str(error))
