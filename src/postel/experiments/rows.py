"""The outcome of a run: its row with all its rounds, or its failure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from postel.checks import check_fields
from postel.errors import InputError
from postel.experiments.spec import RunSpec
from postel.training.result import Result


@dataclass(frozen=True)
class _Curves:
    """The kinds of the curves that are looked at; further ones may be anything."""

    objective: list[float] | None
    loss: dict[str, list[float] | None]
    accuracy: dict[str, list[float] | None]


@dataclass(frozen=True)
class Round:
    """One training of a run: round 0 has no pseudo-labels.

    Args:
        round: Its number.
        val_loss: Its lowest validation loss.
        improved: Whether that is lower than in every round before.
        best_epoch: The epoch of the lowest validation loss, counted from 1.
        epochs: How many epochs were trained.
        agreement: The share of its pseudo-labels that are right, by set of nodes; reported, never used.
        conditional: The conditional matrix [K, K] of its soft labels, None where the method has none.
        curves: Curves by name (``objective``, ``loss``, ``accuracy``), and by set of nodes where they have one.
        exponents: What calibrated its posterior; None where the method calibrates nothing.
        temperature: The temperature that fits its confidence to the validation nodes; None in older rows.
        val_loss_scaled: Its validation loss after scaling by that temperature; None in older rows.
    """

    round: int
    val_loss: float
    improved: bool
    best_epoch: int
    epochs: int
    agreement: dict[str, float]
    conditional: list[list[float]] | None
    curves: dict[str, Any]
    exponents: dict[str, Any] | None = None
    temperature: float | None = None
    val_loss_scaled: float | None = None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Round:
        """Make a round from stored values.

        Args:
            values: The fields by name; names that this release does not know are ignored.

        Returns:
            The round.
        """
        check_fields(cls, values)
        check_fields(_Curves, values["curves"])
        return cls(**{entry.name: values[entry.name] for entry in fields(cls) if entry.name in values})

    def loss(self, nodes: str) -> list[float]:
        """Return the loss of every epoch against the true labels.

        Args:
            nodes: ``"train"``, ``"val"`` or ``"test"``.

        Returns:
            One value per epoch; empty if the curve was not stored.
        """
        return self.curves["loss"].get(nodes) or []


@dataclass(frozen=True)
class Row:
    """One run: its spec, what came out, and where it was made.

    Args:
        key: The key of its spec.
        spec: Everything that decided the result.
        result: Metrics of the best round, and what it took.
        collapsed: Whether the model predicts one class for every test node.
        made_by: Versions and machine.
        rounds: Curves of every round; None if they were not stored.
        hits: Which validation nodes were right, one digit per node; None if that was not stored.
    """

    key: str
    spec: RunSpec
    result: Result
    collapsed: bool
    made_by: Mapping[str, str] = field(default_factory=dict)
    rounds: tuple[Round, ...] | None = field(default=None, repr=False)
    hits: str | None = field(default=None, repr=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """Make a row from stored values.

        Args:
            values: The plain values of :meth:`as_dict`.

        Returns:
            The row.

        Raises:
            InputError: If a value is of the wrong kind.
        """
        check_fields(cls, {name: values[name] for name in ("hits", "collapsed", "made_by") if name in values})
        rounds = values.get("rounds")
        best = values["result"]["best_round"]
        if rounds is not None and not 0 <= best < len(rounds):
            raise InputError(f"best_round must be one of {len(rounds)} rounds, got {best}")
        return cls(
            key=values["key"],
            spec=RunSpec(**values["spec"]),
            result=Result.from_dict(values["result"]),
            collapsed=bool(values.get("collapsed", False)),
            made_by=dict(values.get("made_by", {})),
            rounds=None if rounds is None else tuple(map(Round.from_dict, rounds)),
            hits=values.get("hits"),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as stores hold them; without ``rounds`` and ``hits`` if there are none."""
        values: dict[str, Any] = {
            "key": self.key,
            "spec": self.spec.model_dump(mode="json"),
            "result": self.result.as_dict(),
            "collapsed": self.collapsed,
        }
        if self.rounds is not None:
            values["rounds"] = [dict(vars(entry)) for entry in self.rounds]
        if self.hits is not None:
            values["hits"] = self.hits
        return {**values, "made_by": dict(self.made_by)}

    @property
    def split(self) -> int:
        """The number of its split."""
        return self.spec.split

    @property
    def best_round(self) -> Round | None:
        """The round whose model was taken; None if rounds were not stored."""
        return None if self.rounds is None else self.rounds[self.result.best_round]

    @property
    def conditionals(self) -> list[tuple[int, list[list[float]]]]:
        """P(neighbor's class | class) by round: from training labels and, where they helped, pseudo-labels."""
        best = self.best_round
        if not self.rounds or best is None or self.rounds[0].conditional is None:
            return []
        first = [(0, self.rounds[0].conditional)]
        return [*first, (best.round, best.conditional)] if best.round and best.conditional else first

    def percent(self, metric: str) -> float:
        """Return a metric of the test nodes in percent.

        Args:
            metric: The name of a field of :class:`~postel.training.metrics.Scores`.

        Returns:
            The metric times 100.
        """
        return 100 * float(getattr(self.result.test, metric))

    def without_rounds(self) -> Row:
        """Return the same row without its curves, which are most of its bytes."""
        return replace(self, rounds=None)


@dataclass(frozen=True)
class Failure:
    r"""A run that raised.

    Args:
        spec: What was run.
        traceback: What it raised.
        at: When, in seconds since 1970.
        made_by: Versions and machine.

    Example:
        >>> from postel.experiments.spec import MethodSpec
        >>> spec = RunSpec(dataset="karate", fingerprint="f", method=MethodSpec(name="one_hot"))
        >>> Failure(spec, "Traceback ...\nValueError: no").reason
        'ValueError: no'
    """

    spec: RunSpec
    traceback: str
    at: float = field(default_factory=time.time)
    made_by: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Failure:
        """Make a failure from stored values.

        Args:
            values: The plain values of :meth:`as_dict`.

        Returns:
            The failure.
        """
        return cls(RunSpec(**values["spec"]), str(values["traceback"]), values["at"], values.get("made_by", {}))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as stores hold them."""
        spec, made_by = self.spec.model_dump(mode="json"), dict(self.made_by)
        return {"key": self.key, "at": self.at, "spec": spec, "traceback": self.traceback, "made_by": made_by}

    @property
    def key(self) -> str:
        """The key of its spec."""
        return self.spec.key

    @property
    def reason(self) -> str:
        """The last line of the traceback."""
        lines = self.traceback.strip().splitlines()
        return lines[-1] if lines else "no reason was kept"
