"""Methods side by side on one dataset and backbone: the specs to run, and the table made of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from postel.experiments.graphs import graph_of
from postel.experiments.intervals import Interval, PairedDifference, bootstrap_interval, paired_difference
from postel.experiments.running.execute import Row, classifier_of
from postel.experiments.spec import MethodSpec, RunSpec

BASELINE = "one_hot"


@dataclass(frozen=True)
class MethodSummary:
    """One line of a comparison: means over splits with 95 % intervals, scores in percent points of 100."""

    label: str
    method: MethodSpec
    splits: int
    accuracy: Interval
    macro_f1: Interval
    ece: Interval
    difference: PairedDifference | None
    collapsed: int
    improved_rounds: float
    trainings: float
    seconds: float

    @property
    def has_collapsed(self) -> bool:
        """Whether most of its models predict one class for every test node."""
        return 2 * self.collapsed > self.splits


@dataclass(frozen=True)
class Comparison:
    """The table of a comparison, and the rows it was made of."""

    dataset: str
    fingerprint: str
    protocol: str
    recipe: str
    backbone: str
    settings: dict[str, Any]
    majority: Interval
    methods: list[MethodSummary]
    rows: list[Row]

    def as_dict(self) -> dict[str, Any]:
        """The table as plain values, for JSON; the rows are left out."""
        lines = []
        for line in self.methods:
            values = asdict(line)
            values["method"] = line.method.model_dump(mode="json")
            values["has_collapsed"] = line.has_collapsed
            lines.append(values)
        head = {key: value for key, value in self.__dict__.items() if key not in ("methods", "rows", "majority")}
        return {**head, "majority": asdict(self.majority), "methods": lines}

    def rows_of(self, line: MethodSummary) -> list[Row]:
        """The rows of one method, a split each."""
        return [row for row in self.rows if MethodSpec(**row["spec"]["method"]) == line.method]


def comparison_specs(
    dataset: str,
    methods: Sequence[MethodSpec],
    splits: Sequence[int],
    *,
    data_root: str | None = None,
    pseudo_labels: bool | int = True,
    **settings: Any,
) -> list[RunSpec]:
    """A spec for every method and split; the seed of a run is its split, the same for every method.

    ``pseudo_labels`` goes to methods that can use them; the others are trained once.
    """
    fingerprint = graph_of(dataset, data_root).fingerprint()
    specs = [
        RunSpec(
            dataset=dataset,
            fingerprint=fingerprint,
            split=split,
            seed=split,
            method=method,
            pseudo_labels=pseudo_labels if method.make().uses_pseudo_labels else False,
            **settings,
        )
        for split in splits
        for method in methods
    ]
    classifier_of(specs[0])  # a setting that does not fit is told before anything runs
    return specs


def summarize(rows: Sequence[Row]) -> Comparison:
    """The table of ``rows``, which share everything but method and split."""
    first = rows[0]["spec"]
    methods = {MethodSpec(**row["spec"]["method"]).label: MethodSpec(**row["spec"]["method"]) for row in rows}
    by_method = {
        label: sorted(
            (row for row in rows if MethodSpec(**row["spec"]["method"]) == method),
            key=lambda row: row["spec"]["split"],
        )
        for label, method in methods.items()
    }
    baseline = next((by_method[label] for label, method in methods.items() if method.name == BASELINE), None)
    some = next(iter(by_method.values()))
    settings = ("lr", "weight_decay", "max_epochs", "stopping", "window", "backbone_args")
    return Comparison(
        dataset=first["dataset"],
        fingerprint=first["fingerprint"],
        protocol=first["protocol"],
        recipe=first["recipe"],
        backbone=first["backbone"],
        settings={key: first[key] for key in settings},
        majority=bootstrap_interval(_percent(some, "majority")),
        methods=[_summary(label, methods[label], by_method[label], baseline) for label in methods],
        rows=list(rows),
    )


def _summary(label: str, method: MethodSpec, rows: list[Row], baseline: list[Row] | None) -> MethodSummary:
    accuracies = _percent(rows, "accuracy")
    difference = None
    if baseline is not None and baseline is not rows and len(baseline) == len(rows):
        difference = paired_difference(accuracies, _percent(baseline, "accuracy"))
    results = [row["result"] for row in rows]
    return MethodSummary(
        label=label,
        method=method,
        splits=len(rows),
        accuracy=bootstrap_interval(accuracies),
        macro_f1=bootstrap_interval(_percent(rows, "macro_f1")),
        ece=bootstrap_interval(_percent(rows, "ece")),
        difference=difference,
        collapsed=sum(row["collapsed"] for row in rows),
        improved_rounds=_mean([result["improved_rounds"] for result in results]),
        trainings=_mean([result["trainings"] for result in results]),
        seconds=_mean([result["seconds"] for result in results]),
    )


def _percent(rows: Sequence[Row], name: str) -> list[float]:
    return [100 * row["result"]["test"][name] for row in rows]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
