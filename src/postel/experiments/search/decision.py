"""The final choice: soft labels only if they beat one-hot labels by more than the standard error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postel.backbones import ModelFn
from postel.errors import InputError
from postel.experiments.running.execute import classifier_of
from postel.experiments.search.choice import (
    Measured,
    Runs,
    choose,
    mean_score,
    own_error,
    predicts_one_class,
    standard_error,
)
from postel.experiments.search.driving import Driven
from postel.experiments.search.memory import GraphInMemory
from postel.experiments.spec import MethodSpec, RunSpec
from postel.settings import METRIC_NAMES
from postel.training import NodeClassifier

_BASELINE = "one_hot"


@dataclass(frozen=True)
class Line:
    """The best setting of one method.

    Args:
        spec: A run of the setting.
        setting: What the search chose, by flat name.
        runs: Its runs in the last rung; in a :class:`Choice` those that all methods have.
        trainings: What the search of this method has spent.
        summary: What its rungs did, in words.
    """

    spec: RunSpec
    setting: dict[str, Any]
    runs: Runs = field(repr=False)
    trainings: int = 0
    summary: str = ""

    @classmethod
    def of(cls, driven: Driven) -> Line:
        """Return the line of a finished search.

        Args:
            driven: The search.

        Returns:
            The best setting that it found.
        """
        search, template = driven.search, driven.template
        assert search.found is not None
        setting = search.values(search.found.place)
        rounds = template.pseudo_labels if search.found.rounds else False
        spec = template.spec(setting, template.splits[0], template.splits[0], rounds)
        return cls(spec, setting, search.found.runs, search.trainings, search.summary())

    @property
    def method(self) -> MethodSpec:
        """The method with the setting that was chosen."""
        return self.spec.method

    @property
    def score(self) -> float:
        """Mean score on validation nodes: the accuracy, or the metric of the search."""
        return mean_score(self.runs)

    @property
    def error(self) -> float:
        """The standard error of the score."""
        return own_error(self.runs)

    @property
    def one_class(self) -> bool:
        """Whether most of its models give every validation node the same class."""
        return predicts_one_class(self.runs)


@dataclass(frozen=True)
class Choice:
    """What :func:`postel.tune` found: print it for a table.

    Its figures and its reason rest on the same runs, those that every method has.

    Args:
        lines: The best setting of each method.
        chosen: The line to be used.
        reason: Why, in a sentence.
        model_fn: The user's own model, None for a network of this package.
        interrupted: Whether the search was ended by hand.
        metric: What settings and methods were chosen by.
        left_out: Why methods are not among the lines, in a sentence each.
    """

    lines: tuple[Line, ...]
    chosen: Line
    reason: str
    model_fn: ModelFn | None = field(default=None, repr=False)
    interrupted: bool = False
    metric: str = "accuracy"
    left_out: tuple[str, ...] = ()

    @property
    def method(self) -> MethodSpec:
        """The method that was chosen, with its setting."""
        return self.chosen.method

    @property
    def trainings(self) -> int:
        """What the search has spent in all."""
        return sum(line.trainings for line in self.lines)

    def classifier(self, **changes: Any) -> NodeClassifier:
        """Return the chosen model before it is fitted.

        Args:
            **changes: Arguments of :class:`NodeClassifier` to change, such as ``seed=3``.

        Returns:
            The unfitted model.
        """
        return classifier_of(self.chosen.spec, self.model_fn).set_params(**changes)

    def fit(self, data: Any, **changes: Any) -> NodeClassifier:
        """Train the chosen model.

        Args:
            data: The graph; of masks [N, S] the first split is taken.
            **changes: Arguments of :class:`NodeClassifier` to change, such as ``seed=3``.

        Returns:
            The fitted model.
        """
        return self.classifier(**changes).fit(GraphInMemory.of(data).splits[0])

    def __str__(self) -> str:
        by_accuracy = self.metric == "accuracy"
        validation = "validation" if by_accuracy else f"validation {METRIC_NAMES[self.metric]}"
        head = ["", "method", "setting", validation, "trainings"]
        table = [head]
        for line in self.lines:
            table.append(
                [
                    "*" if line is self.chosen else "",
                    line.method.name,
                    _setting_text(line.setting),
                    f"{100 * line.score:.2f} ±{100 * line.error:.2f}{'†' if line.one_class else ''}",
                    str(line.trainings),
                ]
            )
        widths = [max(len(row[column]) for row in table) for column in range(len(head))]
        lines = []
        for row in table:
            cells = [text.ljust(width) for text, width in zip(row[:3], widths[:3], strict=True)]
            cells += [text.rjust(width) for text, width in zip(row[3:], widths[3:], strict=True)]
            lines.append("  ".join(cells).rstrip())
        notes = [self.reason, *self.left_out]
        if any(line.one_class for line in self.lines):
            notes.append("† predicts one class for every validation node.")
        if self.interrupted:
            notes.append("The search was ended early: this is the best so far.")
        return "\n".join([*lines, "", *notes])


def decide(
    lines: Sequence[Line],
    model_fn: ModelFn | None = None,
    *,
    interrupted: bool = False,
    metric: str = "accuracy",
    left_out: Sequence[str] = (),
) -> Choice:
    """Choose among the best settings of the methods.

    Args:
        lines: One line per method; with one-hot labels among them another method has to beat them by more than the
            standard error of the difference.
        model_fn: The user's own model, None for a network of this package.
        interrupted: Whether the search was ended by hand.
        metric: What their scores are.
        left_out: Why other methods have no line, in a sentence each.

    Returns:
        The choice.

    Raises:
        InputError: If the lines share no run.
    """
    lines = _over_shared_runs(lines)

    def choice(line: Line, reason: str) -> Choice:
        return Choice(tuple(lines), line, reason, model_fn, interrupted, metric, tuple(left_out))

    base = next((line for line in lines if line.method.name == _BASELINE), None)
    soft = [line for line in lines if line is not base]
    if not soft:
        only = lines[0]
        if left_out:
            return choice(only, f"Only {only.method.label} labels were searched: that says nothing of others.")
        return choice(only, f"Train on {only.method.label} labels.")
    best = soft[choose({(number,): line.runs for number, line in enumerate(soft)})[0]]
    if base is None:
        return choice(best, f"Use {best.method.label}.")
    gain, error = best.score - base.score, standard_error(best.runs, base.runs)
    of = "" if metric == "accuracy" else f" of {METRIC_NAMES[metric]}"
    difference = f"{100 * gain:+.2f} points{of} on validation nodes, standard error {100 * error:.2f}"
    if gain > error:
        return choice(best, f"Use {best.method.name}: {difference}.")
    return choice(base, f"Train on one-hot labels: the best soft labels ({best.method.name}) bring {difference}.")


def _over_shared_runs(lines: Sequence[Line]) -> list[Line]:
    """The lines with the runs that all of them have, by split and repetition."""
    numbered = [dict(_numbered(line.runs)) for line in lines]
    shared = [name for name in numbered[0] if all(name in runs for runs in numbered)]
    if not shared:
        raise InputError("no split has a run of every method, so that nothing can be compared")
    return [
        replace(line, runs=[runs[name] for name in shared]) for line, runs in zip(lines, numbered, strict=True)
    ]


def _numbered(runs: Runs) -> Iterator[tuple[tuple[int, int], Measured]]:
    """The runs by split and repetition."""
    seen: Counter[int] = Counter()
    for run in runs:
        yield (run.split, seen[run.split]), run
        seen[run.split] += 1


def _setting_text(setting: dict[str, Any]) -> str:
    return " ".join(
        f"{name.rpartition('.')[2]}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in setting.items()
    )
