"""Cells of tables: a question with its answer, that is the chosen setting, what the search spent, and the runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, get_args

from postel.checks import check_choice, check_fields
from postel.experiments.budget import Budget
from postel.experiments.intervals import NOMINAL_RATIO, overlap_ratio
from postel.experiments.questions import SETTINGS, Question, Rung, Setting, Spent
from postel.experiments.rows import Row
from postel.experiments.scores import Score
from postel.experiments.spec import MethodSpec, content_key
from postel.grouping import grouped
from postel.settings import METRIC_NAMES, Metric

# What a question says in the words of a spec, beside its method.
_ASKED = ("dataset", "backbone", "pseudo_labels", "protocol", "recipe")

#: Mark of a cell that was stored without its question, so that no question can be matched with it.
QUESTION_UNKNOWN = "question-unknown"
#: Mark of a cell most of whose models predict one class for every test node.
ONE_CLASS = "one_class"


@dataclass(frozen=True)
class _Stored:
    """The kinds of what a store keeps of a cell."""

    key: str
    dataset: str
    fingerprint: str | None
    protocol: str
    recipe: str
    backbone: str
    pseudo_labels: bool | int
    settings: dict[str, Any]
    budget: dict[str, Any]
    validation: dict[str, float] | None
    splits: list[int]
    run_keys: list[str]
    failed: int
    target: str | None
    marks: list[str]


@dataclass(frozen=True)
class _StoredBudget:
    """The kinds of what a store keeps of a cell's budget."""

    kind: str
    amount: float
    trials: int
    search_splits: int
    text: str
    trainings: int | None
    rungs: list[dict[str, Any]]
    method_searched: bool | None


@dataclass(frozen=True)
class Cell:
    """A question with its answer: what was chosen, what that took, and the runs of the chosen setting.

    Args:
        key: The key under which a store has it.
        question: The question; nothing in it is left open.
        chosen: The setting that was chosen, or given.
        spent: What the search has spent.
        run_keys: The keys of the chosen setting's runs, one per split.
        validation: Mean ``accuracy`` (or the metric of the search) and ``loss`` on validation nodes of the search
            splits, and the standard ``error`` of the former.
        failed: How many runs of the chosen setting failed.
        target: What it was run for (``table-main``, ``tune``); empty if the cell is made of runs that nobody
            searched.
        marks: What a reader must know about it, such as :data:`ONE_CLASS`.
        rows: The runs, in the order of splits; empty until :meth:`with_rows`.
    """

    key: str
    question: Question
    chosen: Setting
    spent: Spent = field(default_factory=Spent)
    run_keys: tuple[str, ...] = ()
    validation: Mapping[str, float] = field(default_factory=dict)
    failed: int = 0
    target: str = ""
    marks: tuple[str, ...] = ()
    rows: tuple[Row, ...] = field(default=(), repr=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Cell:
        """Make a cell from stored values.

        Args:
            values: The plain values of :meth:`as_dict`, of this or an earlier release.

        Returns:
            The cell, without rows.

        Raises:
            InputError: If a value is of the wrong kind.
        """
        check_fields(_Stored, values)
        check_fields(_StoredBudget, values["budget"])
        chosen = MethodSpec(**values["method"])
        marks = tuple(values.get("marks", ()))
        stored = values.get("asked")
        if stored is None:
            stored = {"method": chosen.name, "params": chosen.params, "fixed": {}}
            marks = (*marks, QUESTION_UNKNOWN)
        budget = values["budget"]
        spent = {entry.name: budget[entry.name] for entry in fields(Spent) if entry.name in budget}
        return cls(
            key=values["key"],
            question=Question(
                **{name: values[name] for name in _ASKED},
                fingerprint=values.get("fingerprint"),
                method=MethodSpec(name=stored["method"], params=stored["params"]),
                fixed=stored["fixed"],
                splits=tuple(values["splits"]),
                budget=Budget(budget["kind"], budget["amount"]),
                search_splits=budget["search_splits"],
                metric=check_choice("metric", stored.get("metric", "accuracy"), get_args(Metric)),
            ),
            chosen=Setting(method=chosen, **{name: values["settings"][name] for name in SETTINGS}),
            spent=Spent(**{**spent, "rungs": tuple(Rung(**rung) for rung in spent.get("rungs", ()))}),
            run_keys=tuple(values["run_keys"]),
            validation=dict(values.get("validation") or {}),
            failed=values.get("failed", 0),
            target=values.get("target") or "tune",
            marks=marks,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as stores and archives hold them; fields without a value are left out."""
        question, spent = self.question, self.spent
        known = {name: value for name, value in vars(spent).items() if value is not None and value != ()}
        if spent.rungs:
            known["rungs"] = [asdict(rung) for rung in spent.rungs]
        budget = {**asdict(question.budget or Budget("fixed")), **known}
        stored_question = {
            "method": question.method.name,
            "params": question.method.params,
            "pseudo_labels": question.pseudo_labels,
            "fixed": dict(question.fixed),
            **({} if question.metric == "accuracy" else {"metric": question.metric}),
        }
        marks = [mark for mark in self.marks if mark != QUESTION_UNKNOWN]
        return {
            "key": self.key,
            "dataset": question.dataset,
            "fingerprint": question.fingerprint,
            "protocol": question.protocol,
            "recipe": question.recipe,
            "backbone": question.backbone,
            "method": self.chosen.method.model_dump(mode="json"),
            "pseudo_labels": question.pseudo_labels,
            "settings": self.chosen.training(),
            **({} if QUESTION_UNKNOWN in self.marks else {"asked": stored_question}),
            "budget": budget,
            "validation": dict(self.validation),
            "splits": list(question.splits),
            "run_keys": list(self.run_keys),
            "failed": self.failed,
            "target": self.target,
            **({"marks": marks} if marks else {}),
        }

    def with_rows(self, rows: Iterable[Row]) -> Cell:
        """Return the same cell with rows.

        Args:
            rows: The runs of the chosen setting, in any order.

        Returns:
            The cell with its rows in the order of their splits.
        """
        return replace(self, rows=tuple(sorted(rows, key=lambda row: row.split)))

    def answers(self, question: Question) -> bool:
        """Tell whether this cell is an answer to a question, however many of its splits were run.

        Args:
            question: The question; fields of None match anything.

        Returns:
            Whether it is.
        """
        own = self.question
        return (
            QUESTION_UNKNOWN not in self.marks
            and own.topic == question.topic
            and (question.budget is None or own.budget == question.budget)
            and (
                question.search_splits is None or own.search_splits == min(question.search_splits, len(own.splits))
            )
            and (question.fingerprint is None or own.fingerprint == question.fingerprint)
        )

    def completes(self, question: Question) -> bool:
        """Tell whether nothing of a question is left to run: this cell answers it on every split.

        Args:
            question: The question.

        Returns:
            Whether it does.
        """
        splits = set(question.splits)
        return self.answers(question) and splits <= set(self.question.splits) and len(self.run_keys) >= len(splits)

    def has(self, metric: str) -> bool:
        """Tell whether all its rows have a metric of the test nodes, as rows of version 0.1 have no ROC-AUC.

        Args:
            metric: The name of a field of :class:`~postel.training.metrics.Scores`.

        Returns:
            Whether they have.
        """
        return bool(self.rows) and all(getattr(row.result.test, metric, None) is not None for row in self.rows)

    def score(self, metric: str = "accuracy") -> Score:
        """Return a metric of the test nodes over its splits, in percent.

        Args:
            metric: The name of a field of :class:`~postel.training.metrics.Scores`.

        Returns:
            The score.
        """
        ratio = max(map(_overlap, self.rows), default=NOMINAL_RATIO)
        return Score({row.split: row.percent(metric) for row in self.rows}, ratio)

    @cached_property
    def accuracy(self) -> Score:
        """The test accuracy over its splits, in percent."""
        return self.score()

    @cached_property
    def majority(self) -> float:
        """The mean share of the test nodes' most frequent class in percent: what a constant prediction scores."""
        return self.score("majority").mean

    @property
    def was_searched(self) -> bool:
        """Whether its setting was chosen by a search, and not given."""
        return self.question.budget is not None and self.question.budget.kind != "fixed"

    @property
    def is_evidence(self) -> bool:
        """Whether it may decide a claim: a search of today's kind compared settings of the method itself.

        Settings that were given, and what the trials of version 0.1 chose, are shown and decide nothing.
        """
        budget = self.question.budget
        searched = budget is not None and budget.kind not in ("fixed", "trials")
        return searched and self.spent.method_searched is True

    @property
    def allowance(self) -> tuple[Budget | None, int | None]:
        """Budget and number of search splits; a comparison of two cells is fair if theirs are equal."""
        return self.question.budget, self.question.search_splits

    @property
    def allowance_in_words(self) -> str:
        """The budget in a few words, for a column of a table."""
        budget, splits = self.question.budget, self.question.search_splits
        limit = (budget or Budget("fixed")).limit
        # What a search of version 0.1 was allowed depends on the splits of its trials, too.
        limit = f"{limit} on {splits} split{'s' if splits != 1 else ''}" if "trials" in limit else limit
        metric = self.question.metric
        return limit if metric == "accuracy" else f"{limit} by {METRIC_NAMES[metric]}"

    @property
    def collapsed(self) -> int:
        """How many of its models predict one class for every test node."""
        return sum(row.collapsed for row in self.rows)

    @property
    def has_collapsed(self) -> bool:
        """Whether most of its models predict one class for every test node."""
        return 2 * self.collapsed > len(self.rows)

    def mean(self, name: str) -> float:
        """Return the mean of a field of its rows' :class:`~postel.training.result.Result`.

        Args:
            name: A numeric field, such as ``seconds`` or ``improved_rounds``.

        Returns:
            The mean over rows.
        """
        return sum(float(getattr(row.result, name)) for row in self.rows) / len(self.rows)


def _overlap(row: Row) -> float:
    test = row.result.test
    return NOMINAL_RATIO if test is None else overlap_ratio(row.spec.protocol, row.result.val.count, test.count)


def cells_of_rows(rows: Iterable[Row]) -> list[Cell]:
    """Make cells of runs that no search chose, such as those of ``postel compare``: one cell per setting.

    Args:
        rows: Runs with test scores. Of several seeds on one split only the lowest counts.

    Returns:
        The cells with their rows, in the order in which their settings appear.
    """
    groups = grouped(rows, lambda row: content_key(row.spec.model_dump(mode="json", exclude={"split", "seed"})))
    return [_cell_of_rows(key, group) for key, group in groups.items()]


def _cell_of_rows(key: str, rows: list[Row]) -> Cell:
    spec = rows[0].spec
    by_split = {row.split: row for row in sorted(rows, key=lambda row: -row.spec.seed)}
    settings = {
        name: getattr(spec, name) for name in (*SETTINGS, "batch_size", "device") if name != "backbone_args"
    }
    question = Question(
        **{name: getattr(spec, name) for name in _ASKED},
        method=spec.method,
        fixed={**settings, **{f"backbone_args.{name}": value for name, value in spec.backbone_args.items()}},
        splits=tuple(sorted(by_split)),
        budget=Budget("fixed"),
        search_splits=0,
        fingerprint=spec.fingerprint,
    )
    keys = tuple(by_split[split].key for split in question.splits)
    return Cell(key, question, Setting.of(spec), run_keys=keys).with_rows(by_split.values())
