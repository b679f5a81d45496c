"""Executes one spec: loads the data, trains the model, and makes the row."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

import torch

from postel.backbones import ModelFn, backbone_class
from postel.datasets import load_dataset
from postel.datasets.catalog import CATALOG
from postel.errors import InputError
from postel.experiments.graphs import run_fingerprint, study_graph
from postel.experiments.provenance import provenance
from postel.experiments.questions import SETTINGS
from postel.experiments.rows import Round, Row
from postel.experiments.spec import MethodSpec, RunSpec
from postel.smoothers import Smoother
from postel.training import NodeClassifier
from postel.training.result import RoundHistory
from postel.training.settings import Settings
from postel.training.tracking import TrainingOutcome

# Number of threads and random generators are the process's: two runs at once would change each other.
_ALONE = threading.Lock()


def _free_lock() -> None:
    """Give a forked process a lock of its own: the thread that holds this one is not there."""
    global _ALONE
    _ALONE = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_lock)


def execute(spec: RunSpec, data_root: str | None = None) -> Row:
    """Run a spec.

    The run has one thread, whatever the caller's setting is, and no other run beside it in the process, so that it
    gives the same bytes everywhere.

    Args:
        spec: What to run.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        The row: scores, curves and conditional matrices, and where it was made.

    Raises:
        InputError: If a setting does not fit, the data has changed, or the training diverges.
    """
    model, data = fit_spec(spec, data_root)
    return row_of(spec, model, data)


def fit_spec(spec: RunSpec, data_root: str | None = None) -> tuple[NodeClassifier, Any]:
    """Train the model that a spec describes, on one thread and with no other run beside it in the process.

    Args:
        spec: What to run.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        The fitted model, and the graph and split that it was trained on.

    Raises:
        InputError: If a setting does not fit, the data has changed, or the training diverges.
    """
    with alone_on_one_thread():
        if spec.device == "cpu":
            graph = study_graph(spec.dataset, data_root, spec.recipe)
            _check_fingerprint(spec, data_root)
            data: Any = graph.split(spec.split, spec.protocol)
        else:  # graphs that runs share are prepared on the CPU
            data = load_data(spec, data_root)
        return trained(classifier_of(spec), data, _teachers(_without_method(spec).key)), data


@contextlib.contextmanager
def alone_on_one_thread() -> Iterator[None]:
    """Give torch one thread, and let no other run of this process start, within a ``with`` block."""
    with _ALONE:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


def classifier_of(spec: RunSpec, model_fn: ModelFn | None = None) -> NodeClassifier:
    """Return the unfitted model that a spec describes.

    Args:
        spec: What to run.
        model_fn: A user's own network, which ``spec.backbone`` only names; None for one of this package.

    Returns:
        The model.

    Raises:
        InputError: If a setting does not fit.
    """
    training = {name: getattr(spec, name) for name in SETTINGS if name != "backbone_args"}
    Settings(**training)
    if model_fn is None:
        backbone_class(spec.backbone)
    return NodeClassifier(
        spec.backbone if model_fn is None else model_fn,
        smoother=_smoother_of(spec),
        pseudo_labels=spec.pseudo_labels,
        backbone_args=dict(spec.backbone_args),
        batch_size=spec.batch_size,
        device=spec.device,
        seed=spec.seed,
        **training,
    )


def _smoother_of(spec: RunSpec) -> Smoother:
    """The method of a spec; on the paper's graphs it reads directed edges as the paper does."""
    smoother = spec.method.make()
    named = "flow" in spec.method.params or "flow" not in smoother.params()
    if named or spec.dataset.lower() not in CATALOG or spec.recipe != "paper":
        return smoother
    return smoother.replaced(flow="target_to_source")


def load_data(spec: RunSpec, data_root: str | None = None) -> Any:
    """Load the graph and split of a spec.

    Args:
        spec: What is to be run.
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        The graph, with its masks.

    Raises:
        InputError: If the graph is not the one that the spec was made for.
    """
    data = load_dataset(
        spec.dataset, split=spec.split, protocol=spec.protocol, recipe=spec.recipe, data_root=data_root
    )
    _check_fingerprint(spec, data_root)
    return data


def row_of(spec: RunSpec, model: NodeClassifier, data: Any) -> Row:
    """Return the row of a fitted model.

    Args:
        spec: The spec that it was trained by.
        model: The fitted model.
        data: The graph and split that it was trained on.

    Returns:
        The row.
    """
    test = getattr(data, "test_mask", None)
    predicted = None if test is None else model.logits_[test].argmax(dim=1)
    return Row(
        key=spec.key,
        spec=spec,
        result=model.result_,
        collapsed=predicted is not None and predicted.unique().numel() == 1,
        made_by=provenance(),
        rounds=tuple(map(_round, model.history_)),
    )


def trained(model: NodeClassifier, data: Any, teachers: list[TrainingOutcome] | None = None) -> NodeClassifier:
    """Fit a model, and make sure that its training did not diverge.

    Args:
        model: An unfitted model.
        data: A graph with the masks of one split.
        teachers: What ``NodeClassifier.fit_taught`` keeps; nothing if None.

    Returns:
        The model.

    Raises:
        InputError: If its losses are not finite.
    """
    model.fit_taught(data, [] if teachers is None else teachers)
    if not math.isfinite(model.result_.val_loss):
        raise InputError(f"the training diverged: its lowest validation loss is {model.result_.val_loss}")
    return model


@functools.lru_cache(maxsize=128)  # a network's settings on all splits
def _teachers(key: str) -> list[TrainingOutcome]:
    """The teacher of runs that differ in their method only, once the first of them has trained it."""
    return []


def _without_method(spec: RunSpec) -> RunSpec:
    return spec.model_copy(update={"method": MethodSpec(name="one_hot"), "pseudo_labels": False})


def _check_fingerprint(spec: RunSpec, data_root: str | None) -> None:
    found = run_fingerprint(spec.dataset, spec.protocol, data_root)
    if found != spec.fingerprint:
        raise InputError(f"{spec.dataset} has fingerprint {found}, but the run was made for {spec.fingerprint}")


def _round(entry: RoundHistory) -> Round:
    exponents = entry.statistics.get("exponents")
    changed: dict[str, Any] = {
        "conditional": None if entry.conditional is None else entry.conditional.tolist(),
        "curves": entry.curves.as_dict(),
        "exponents": None if exponents is None else asdict(exponents),
    }
    same = {field.name: getattr(entry, field.name) for field in fields(Round) if field.name not in changed}
    return Round(**same, **changed)
