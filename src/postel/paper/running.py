"""Runs the cells of a table or figure: those with a search of their own, then those that take over a setting."""

from __future__ import annotations

from postel.errors import InputError
from postel.experiments.running.executor import run_all
from postel.experiments.search.stored import tune_dataset
from postel.experiments.store import Store
from postel.experiments.store.reader import Reader
from postel.paper.questions import Asked
from postel.paper.target import Target, Watch


def run_target(target: Target, store: Store, watch: Watch | None = None) -> None:
    """Run and measure what the store lacks; afterwards :meth:`Target.render` has everything that it needs.

    Args:
        target: The table or figure.
        store: Where results are stored.
        watch: Receives progress; None for nobody.
    """
    watch = watch or Watch()
    if target.runs_cells:
        _run_cells(target, store, watch)
    target.measure(store, watch)


def _run_cells(target: Target, store: Store, watch: Watch) -> None:
    searched = [asked for asked in target.cells if asked.base is None]
    known = [cell for cell in store.cells() if cell.target == target.name]
    for number, asked in enumerate(searched):
        watch.on_cell(number, len(target.cells), asked)
        if not any(map(asked.is_done_by, known)):
            _run_cell(asked, target, store, watch)
    reader, specs = Reader(store), []
    moved = [asked for asked in target.cells if asked.base is not None]
    for asked in moved:
        base = asked.base.answer(reader) if asked.base is not None else None
        specs += [] if base is None else asked.taken_over(base)
    if specs:
        watch.on_cell(len(searched), len(target.cells), moved[0])
        options = target.options
        run_all(
            specs,
            workers=options.workers,
            data_root=options.data_root,
            store=store,
            on_row=watch.on_row,
            scheduler=options.scheduler,
        )


def _run_cell(asked: Asked, target: Target, store: Store, watch: Watch) -> None:
    """Search the setting of one cell and run it; if none of its runs succeeds, report that and go on."""
    failed, question, options = len(store.failures()), asked.question, target.options
    try:
        tune_dataset(
            question.dataset,
            question.backbone,
            asked.variant.text,
            protocol=question.protocol,
            splits=question.splits,
            search_splits=question.search_splits or None,
            budget=asked.budget,
            store=store,
            workers=options.workers,
            scheduler=options.scheduler,
            data_root=options.data_root,
            pseudo_labels=question.pseudo_labels,
            fixed=dict(question.fixed),
            target=target.name,
            on_row=watch.on_row,
        )
    except InputError as error:
        if len(store.failures()) == failed:
            raise
        watch.on_step(str(error))
