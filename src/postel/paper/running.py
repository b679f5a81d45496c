"""Runs the cells of a table or figure: those with a search of their own, then those that take over a setting."""

from __future__ import annotations

import itertools
from typing import Any

from postel.errors import InputError
from postel.experiments.running.executor import run_all
from postel.experiments.search.stored import begin_search, checked_template, tune_dataset
from postel.experiments.store import Store
from postel.experiments.store.reader import Reader
from postel.paper.requests import CellRequest
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
    searched = [request for request in target.requests if request.base is None]
    known = [cell for cell in store.cells() if cell.target == target.name]
    before = Reader(store)
    missing = [
        not any(map(request.is_done_by, known)) and request.tuned_answer(before, rounds=True) is None
        for request in searched
    ]
    for request in itertools.compress(searched, missing):
        _check_budget(request, target.options.data_root)
    for number, request in enumerate(searched):
        watch.on_cell(number, len(target.requests), request)
        if missing[number]:
            _run_cell(request, target, store, watch)
    reader, specs = Reader(store), []
    moved = [request for request in target.requests if request.base is not None]
    for request in moved:
        base = request.base.answer(reader) if request.base is not None else None
        specs += [] if base is None else request.taken_over(base)
    if specs:
        watch.on_cell(len(searched), len(target.requests), moved[0])
        options = target.options
        run_all(
            specs,
            workers=options.workers,
            data_root=options.data_root,
            store=store,
            on_row=watch.on_row,
            scheduler=options.scheduler,
        )


def _check_budget(request: CellRequest, data_root: str | None) -> None:
    """Refuse trainings that are too few for a search, before other cells are run for an hour."""
    question, budget = request.question, request.budget
    if budget.kind != "trainings":
        return
    compared_on = question.splits[: question.search_splits or None]
    template = checked_template(**_asked(request), splits=compared_on, data_root=data_root)
    begin_search(template, budget, question.splits, data_root=data_root)


def _asked(request: CellRequest) -> dict[str, Any]:
    """What every search for a request is given, whether it is only checked or run."""
    question = request.question
    return {
        "dataset": question.dataset,
        "backbone": question.backbone,
        "method": request.variant.text,
        "protocol": question.protocol,
        "pseudo_labels": question.pseudo_labels,
        "fixed": dict(question.fixed),
    }


def _run_cell(request: CellRequest, target: Target, store: Store, watch: Watch) -> None:
    """Search the setting of one cell and run it; if none of its runs succeeds, report that and go on."""
    failed, question, options = len(store.failures()), request.question, target.options
    try:
        tune_dataset(
            **_asked(request),
            splits=question.splits,
            search_splits=question.search_splits or None,
            budget=request.budget,
            store=store,
            workers=options.workers,
            scheduler=options.scheduler,
            data_root=options.data_root,
            target=target.name,
            on_row=watch.on_row,
        )
    except InputError as error:
        if len(store.failures()) == failed:
            raise
        watch.on_step(str(error))
