"""The specs of one run and of a comparison: several methods on one dataset and backbone, at the same settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postel.experiments.graphs import run_fingerprint
from postel.experiments.running.execute import classifier_of
from postel.experiments.spec import MethodSpec, RunSpec


def make_spec(
    dataset: str,
    method: MethodSpec,
    *,
    data_root: str | None = None,
    pseudo_labels: bool | int = True,
    **settings: Any,
) -> RunSpec:
    """Return the spec of one run, with the fingerprint of its data and the rounds that its method uses.

    Args:
        dataset: A dataset's name or the path of a graph file.
        method: The method.
        data_root: Folder of graph files to look in first.
        pseudo_labels: Whether, or for how many rounds, the method gets pseudo-labels if it can use them.
        **settings: Further fields of :class:`~postel.experiments.spec.RunSpec`.

    Raises:
        InputError: If there is no such dataset or protocol.
    """
    fingerprint = run_fingerprint(dataset, settings.get("protocol", "paper"), data_root)
    method = method.as_typed()
    rounds = method.rounds(pseudo_labels)
    return RunSpec(dataset=dataset, fingerprint=fingerprint, method=method, pseudo_labels=rounds, **settings)


def comparison_specs(
    dataset: str,
    methods: Sequence[MethodSpec],
    splits: Sequence[int],
    *,
    data_root: str | None = None,
    pseudo_labels: bool | int = True,
    **settings: Any,
) -> list[RunSpec]:
    """Return one spec per method and split; a run's seed is its split, so that it is the same for every method.

    Args:
        dataset: A dataset's name or the path of a graph file.
        methods: The methods to compare.
        splits: The splits to compare them on.
        data_root: Folder of graph files to look in first.
        pseudo_labels: Whether, or for how many rounds, methods that can use them get pseudo-labels.
        **settings: Further fields of :class:`~postel.experiments.spec.RunSpec`, the same for every method.

    Returns:
        The specs, split by split.

    Raises:
        InputError: If a name or value does not fit.

    Example:
        >>> specs = comparison_specs("karate", [MethodSpec(name="one_hot"), MethodSpec(name="postel")], range(2))
        >>> [(spec.split, spec.method.name, spec.pseudo_labels) for spec in specs]
        [(0, 'one_hot', False), (0, 'postel', True), (1, 'one_hot', False), (1, 'postel', True)]
    """
    shared = {"data_root": data_root, "pseudo_labels": pseudo_labels, **settings}
    specs = [
        make_spec(dataset, method, split=split, seed=split, **shared) for split in splits for method in methods
    ]
    classifier_of(specs[0])  # a wrong setting is reported before anything runs
    return specs
