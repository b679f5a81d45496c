"""Which labels for my graph and my model: one call, on a graph in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from postel.backbones import ModelFn, backbone_class
from postel.checks import check_choice
from postel.errors import InputError, require_extra
from postel.experiments.budget import Budget
from postel.experiments.rows import Failure
from postel.experiments.running.execute import classifier_of
from postel.experiments.search.choice import Measured
from postel.experiments.search.decision import Choice, Line, decide
from postel.experiments.search.driving import Driven, Tell, drive
from postel.experiments.search.memory import GraphInMemory, MemoryRuns, name_of_model
from postel.experiments.search.spaces import flat
from postel.experiments.search.template import Template
from postel.experiments.spec import MethodSpec, RunSpec
from postel.settings import Metric
from postel.training.fitting import check_device

BASELINE = "one_hot"
METHODS = (BASELINE, "ls", "postel", "calibrated")


def tune(
    data: Any,
    backbone: str | ModelFn = "gcn",
    *,
    methods: Sequence[str] = METHODS,
    budget: int | str = 200,
    workers: int = 2,
    store: Any = None,
    progress: bool = True,
    pseudo_labels: bool | int = True,
    fixed: Mapping[str, Any] | None = None,
    metric: str = "accuracy",
    seed: int = 0,
) -> Choice:
    """Find out which soft labels, if any, are best for a graph and a network, on validation nodes.

    Every method gets the same budget. One-hot labels always take part, and another method is chosen only if it
    beats them on validation nodes by more than the standard error of the difference. Ctrl-C ends the search and
    returns the best so far. Test nodes have no say.

    Args:
        data: A graph with ``x``, ``edge_index`` or ``adj_t``, ``y``, ``train_mask`` and ``val_mask``; masks are
            boolean [N], [N, S] for S splits, or ids of nodes.
        backbone: A network's name, or a function ``model_fn(in_channels, out_channels)`` that returns a module
            called as ``module(x, edge_index)``.
        methods: Methods as in commands, for instance ``"ls"`` or ``"postel:beta=0.4"``.
        budget: What each method may spend: trainings (``200``), minutes (``"30m"``) or ``"standard"``. Trainings
            are never exceeded: runs of the search then have a bounded number of rounds, and a method whose search
            does not fit is left out, with a sentence that says so.
        workers: Processes of one thread each; 1 runs everything here.
        store: The path of a store, or an open one, for the rows: the same call continues from them. If None,
            nothing is stored.
        progress: Whether to show a bar on standard error.
        pseudo_labels: Whether, or for how many rounds, methods that use them get pseudo-labels. What
            ``choice.fit`` trains has as many as are asked for here.
        fixed: Settings that are not searched, such as ``{"max_epochs": 200, "lr": 0.01}``; ``device`` and
            ``batch_size`` go here too.
        metric: What settings and methods are chosen by: ``"accuracy"``, or on imbalanced graphs ``"roc_auc"``,
            ``"average_precision"``, ``"macro_f1"`` or ``"balanced_accuracy"``.
        seed: Shifts the lattice of settings that is tried first.

    Returns:
        The choice: print it for a table, ``choice.fit(data)`` trains the model.

    Raises:
        InputError: If the graph, a method or the budget does not fit, or every training of a method failed.

    Example:
        >>> from postel import load_dataset
        >>> data = load_dataset("karate")
        >>> choice = tune(data, "gcn", methods=["ls"], budget=40, workers=1, progress=False,
        ...               fixed={"max_epochs": 10})
        >>> [line.method.name for line in choice.lines], choice.trainings <= 80
        (['one_hot', 'uniform'], True)
    """
    spend = Budget.parse(budget)
    if spend.kind == "fixed":
        raise InputError("tune needs a budget to search with: trainings (200), minutes (30m), standard or grid")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers must be a whole number above 0, got {workers!r}")
    check_choice("metric", metric, get_args(Metric))
    check_device((fixed or {}).get("device", "cpu"))
    chosen = _parsed(methods)
    if not callable(backbone):
        backbone_class(backbone)
    made = [method.make() for method in chosen]
    graph = GraphInMemory.of(data, backbone if callable(backbone) else None, made)
    driven = {
        method.label: Driven.begin(
            Template(
                dataset="memory",
                fingerprint=graph.fingerprint,
                protocol="masks",
                recipe="as given",
                backbone=name_of_model(backbone) if callable(backbone) else backbone,
                method=method,
                pseudo_labels=method.rounds(pseudo_labels),
                fixed=flat(fixed or {}),
                splits=range(len(graph.splits)),
            ),
            spend,
            graph.nodes,
            seed,
            workers,
        )
        for method in chosen
    }
    for one in driven.values():
        classifier_of(one.template.spec(one.template.start, 0, 0, False), graph.model_fn)
        if one.template.method.name == BASELINE and one.too_small:
            raise InputError(f"{one.too_small[:-1]}; give a larger budget")
    reasons: dict[str, str] = {}
    interrupted = False
    with MemoryRuns(graph, workers) as runs, _bar(progress) as on_progress:
        run = _runner(runs, _opened(store), reasons, metric)
        try:
            drive(driven, run, on_progress)
        except KeyboardInterrupt:
            interrupted = True
            for one in driven.values():
                one.search.finish()
    if interrupted and all(one.search.found is None for one in driven.values()):
        raise KeyboardInterrupt
    lines = []
    left_out = []
    for label, one in driven.items():
        if one.too_small:
            left_out.append(one.too_small)
            continue
        if one.search.found is None:
            if interrupted:
                continue
            raise InputError(f"every training of {label} failed: {reasons.get(label) or _any(reasons)}")
        lines.append(Line.of(one))
    return decide(lines, graph.model_fn, interrupted=interrupted, metric=metric, left_out=left_out)


def _parsed(methods: Sequence[str]) -> list[MethodSpec]:
    if isinstance(methods, str) or not methods:
        raise InputError(f"methods must be a list of names such as ['ls', 'postel'], got {methods!r}")
    parsed = [MethodSpec.parse(method) for method in methods]
    if not any(method.name == BASELINE for method in parsed):
        parsed.insert(0, MethodSpec(name=BASELINE))
    return list({method.label: method for method in parsed}.values())


def _runner(
    runs: MemoryRuns, store: Any, reasons: dict[str, str], metric: str
) -> Callable[[Sequence[RunSpec], Tell], None]:
    """Return a function that makes the runs that a search asks for, except those in the store."""

    def run(specs: Sequence[RunSpec], tell: Tell) -> None:
        by_key = {spec.key: spec for spec in specs}
        stored = store.get(by_key) if store is not None else {}
        for key, row in stored.items():
            tell(by_key[key], Measured.of(row, metric))
        outcomes = runs([spec for key, spec in by_key.items() if key not in stored])
        try:
            for outcome in outcomes:
                if isinstance(outcome, Failure):
                    reasons[by_key[outcome.key].method.label] = outcome.reason
                    tell(by_key[outcome.key], None)
                    continue
                if store is not None:
                    store.add(outcome)
                tell(by_key[outcome.key], Measured.of(outcome, metric))
        finally:
            outcomes.close()  # type: ignore[attr-defined]

    return run


def _opened(store: Any) -> Any:
    if not isinstance(store, str | Path):
        return store
    from postel.experiments.store import Store

    return Store(store)


def _any(reasons: Mapping[str, str]) -> str:
    return list(reasons.values())[-1] if reasons else "the reason is not known"


@contextmanager
def _bar(progress: bool) -> Iterator[Callable[[int, int], None]]:
    """Give a function to call with progress, which it shows as a bar on standard error."""
    if not progress:
        yield lambda done, expected: None
        return
    with require_extra("tqdm.auto", "training").tqdm(unit=" trainings", leave=False) as bar:

        def show(done: int, expected: int) -> None:
            bar.total = max(done, expected)
            bar.update(done - bar.n)

        yield show
