"""What a cell answers, and with what: a question about a method, the chosen setting, and what the search spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from postel.experiments.budget import Budget
from postel.experiments.spec import MethodSpec, RunSpec, content_key

#: The settings of a run, beside those of its method, that a search may choose or a user may fix.
SETTINGS = ("lr", "weight_decay", "backbone_args", "max_epochs", "stopping", "window")


@dataclass(frozen=True)
class Question:
    """A question that a cell answers: which setting of a method is best on a dataset, and how good is it?

    Every setting that is not fixed is searched on validation nodes within the budget. Two questions are the same
    if their keys are. A fingerprint, budget or number of search splits of None matches any, as in plans of tables:
    any cell that agrees with the rest is an answer.

    Args:
        dataset: A dataset's name or the path of a graph file.
        backbone: The network.
        method: The soft-label method with those of its hyper-parameters that are fixed.
        pseudo_labels: Whether, or for how many rounds, pseudo-labels are used.
        protocol: How nodes are split.
        recipe: How the graph is prepared.
        fixed: Settings that are not searched, by flat name (``lr``, ``backbone_args.hidden``); defaults are
            removed, so that spelling one out makes no difference.
        splits: The splits that the chosen setting is run on.
        budget: What the search may spend; None for any.
        search_splits: How many of the splits the search compares settings on; None for any.
        fingerprint: The graph's fingerprint; None for any.
        metric: What settings are chosen by on validation nodes.

    Example:
        >>> question = Question("cora", "gcn", MethodSpec(name="uniform"), fixed={"lr": 0.05, "max_epochs": 1000})
        >>> question.fixed, question.topic == Question("cora", "gcn", MethodSpec(name="uniform")).topic
        ({'lr': 0.05}, False)
    """

    dataset: str
    backbone: str
    method: MethodSpec
    pseudo_labels: bool | int = False
    protocol: str = "paper"
    recipe: str = "paper"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    splits: tuple[int, ...] = tuple(range(10))
    budget: Budget | None = None
    search_splits: int | None = None
    fingerprint: str | None = None
    metric: str = "accuracy"

    def __post_init__(self) -> None:
        defaults = {name: entry.default for name, entry in RunSpec.model_fields.items()}
        fixed = {name: value for name, value in self.fixed.items() if value != defaults.get(name, _NO_DEFAULT)}
        object.__setattr__(self, "fixed", fixed)

    @cached_property
    def topic(self) -> str:
        """A hash of the question without splits, budget and fingerprint: what it is about, whatever it costs."""
        return content_key(self._topic())

    @cached_property
    def key(self) -> str:
        """A hash of all fields: equal questions have equal keys, in every process and release."""
        budget = None if self.budget is None else asdict(self.budget)
        cost = {"splits": list(self.splits), "budget": budget, "search_splits": self.search_splits}
        return content_key({**self._topic(), **cost, "fingerprint": self.fingerprint})

    def _topic(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "backbone": self.backbone,
            "method": self.method.model_dump(mode="json"),
            "pseudo_labels": self.pseudo_labels,
            "protocol": self.protocol,
            "recipe": self.recipe,
            "fixed": dict(self.fixed),
            **({} if self.metric == "accuracy" else {"metric": self.metric}),
        }


_NO_DEFAULT = object()


@dataclass(frozen=True)
class Setting:
    """A method and training settings with every value decided.

    Args:
        method: The method with its hyper-parameters.
        lr: The learning rate.
        weight_decay: The weight decay.
        backbone_args: Arguments of the network.
        max_epochs: Epochs at most.
        stopping: The stop rule.
        window: The stop rule's window, in epochs.
    """

    method: MethodSpec
    lr: float
    weight_decay: float
    backbone_args: Mapping[str, Any]
    max_epochs: int
    stopping: str
    window: int

    @classmethod
    def of(cls, spec: RunSpec) -> Setting:
        """Return the setting that a spec runs.

        Args:
            spec: A run's spec.

        Returns:
            The setting.
        """
        return cls(method=spec.method, **{name: getattr(spec, name) for name in SETTINGS})

    def training(self) -> dict[str, Any]:
        """Return the settings beside the method's, as plain values."""
        return {name: getattr(self, name) for name in SETTINGS}


@dataclass(frozen=True)
class Rung:
    """One stage of a search by rungs: some settings, each trained on the same number of splits.

    Args:
        tried: How many settings were trained in it.
        splits: On how many splits each of them had been trained by its end.
        trainings: How many trainings it cost.
    """

    tried: int
    splits: int
    trainings: int


@dataclass(frozen=True)
class Spent:
    """What a search has spent.

    Args:
        trials: How many settings were tried.
        search_splits: On how many splits they were compared.
        text: The budget and what was spent of it, in words, for people only.
        trainings: How many trainings it cost; None if they were not counted.
        rungs: What each rung tried and cost; empty for a search without rungs.
        method_searched: Whether settings of the method, and not of the network alone, were compared; None if
            that was not stored.
    """

    trials: int = 0
    search_splits: int = 0
    text: str = "given settings, no search"
    trainings: int | None = None
    rungs: tuple[Rung, ...] = ()
    method_searched: bool | None = None
