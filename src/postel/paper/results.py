"""What the store has for a planned cell: its rows, and the budget with which its setting was chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from postel.experiments.budget import Budget
from postel.experiments.intervals import Interval, PairedDifference, bootstrap_interval, paired_difference
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.experiments.store.measured import Measurements
from postel.paper.planning import Planned

Row = dict[str, Any]

#: As the paper's code takes its intervals.
PAPER_RESAMPLES = 1000


@dataclass(frozen=True)
class Outcome:
    """The rows of a cell, a split each, and how its setting was found.

    >>> row = {"spec": {"split": 0}, "result": {"test": {"accuracy": 0.5, "majority": 0.5}}, "collapsed": True}
    >>> outcome = Outcome(None, [row], "no search")
    >>> outcome.interval.mean, outcome.majority, outcome.has_collapsed
    (50.0, 50.0, True)
    """

    planned: Planned
    rows: list[Row]
    budget: str
    allowed: tuple[str, float, int] = ("fixed", 0, 0)  # budget and search splits: equal where a comparison is fair

    @cached_property
    def accuracies(self) -> list[float]:
        """Test accuracy of each split, in percent."""
        return [100 * row["result"]["test"]["accuracy"] for row in self.rows]

    @cached_property
    def interval(self) -> Interval:
        """Mean accuracy with the ordinary interval: 95 % percentiles of 10,000 resamples."""
        return bootstrap_interval(self.accuracies)

    @cached_property
    def paper_side(self) -> float:
        """What the paper's code would write after the ± sign: the larger side over 1000 resamples, seeded here."""
        return bootstrap_interval(self.accuracies, resamples=PAPER_RESAMPLES).larger_side

    @property
    def majority(self) -> float:
        """Mean share of the test nodes' most frequent class, in percent: what one constant answer scores."""
        return mean([100 * row["result"]["test"]["majority"] for row in self.rows])

    @property
    def collapsed(self) -> int:
        """In how many splits the model predicts one class for every test node."""
        return sum(bool(row["collapsed"]) for row in self.rows)

    @property
    def has_collapsed(self) -> bool:
        """Whether most of its models do."""
        return 2 * self.collapsed > len(self.rows)

    def over(self, other: Outcome) -> PairedDifference | None:
        """What it gains over ``other`` on the splits that both have; None if they share none."""
        ours, theirs = _by_split(self), _by_split(other)
        shared = sorted(ours.keys() & theirs.keys())
        if not shared:
            return None
        return paired_difference([ours[split] for split in shared], [theirs[split] for split in shared])


class Results:
    """The cells and measurements of a store, read once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.cells = [cell.as_dict() for cell in store.cells()]
        self.kept = Measurements(store)

    def of(self, planned: Planned, *, rounds: bool = False) -> Outcome | None:
        """The outcome of a planned cell, or None if it was not run.

        Where no budget was asked for, the cell with the most splits and then the largest search is taken. Rows
        come without their curves unless ``rounds`` is wanted: those of a whole table would not fit into memory.
        A cell of which not all curves were kept is passed over then.
        """
        if planned.base is not None:
            return self._swept(planned, planned.base)
        fitting = [cell for cell in self.cells if fits(cell, planned)]
        for cell in sorted(fitting, key=lambda cell: _worth(cell, planned), reverse=True):
            rows = [row for row in self._rows(cell["run_keys"], rounds) if row["spec"]["split"] < planned.splits]
            if rows and not (rounds and any("rounds" not in row for row in rows)):
                return Outcome(planned, _in_order(rows), cell["budget"]["text"], _allowed(cell))
        return None

    def _swept(self, planned: Planned, base: Planned) -> Outcome | None:
        found = self.of(base)
        if found is None:
            return None
        rows = self._rows([spec.key for spec in swept_specs(planned, found)], rounds=False)
        return Outcome(planned, _in_order(rows), found.budget, found.allowed) if rows else None

    def _rows(self, keys: Sequence[str], rounds: bool) -> list[Row]:
        return [row.as_dict() for row in self.store.rows(keys, rounds=rounds)]


def swept_specs(planned: Planned, base: Outcome) -> list[RunSpec]:
    """The runs of a planned cell that takes over the settings of its ``base``, a split each."""
    chosen = [RunSpec(**row["spec"]) for row in base.rows]
    return [
        spec.model_copy(
            update={
                "method": MethodSpec(
                    name=planned.variant.method, params={**spec.method.params, **planned.variant.params}
                )
            }
        )
        for spec in chosen
    ]


def fits(cell: Mapping[str, Any], planned: Planned) -> bool:
    """Whether a cell of the store is what was planned.

    Only cells that say what was asked of them are taken: a search that chose ``beta=0`` is not one without noise.
    """
    return (
        _text(cell.get("asked")) == _text(planned.asked())
        and (cell["dataset"], cell["protocol"], cell["recipe"]) == (planned.dataset, planned.protocol, "paper")
        and cell["backbone"] == planned.backbone
        and (planned.any_budget or _same_budget(cell, planned))
        and (planned.search_splits is None or _same_search_splits(cell, planned))
    )


def is_done(cell: Mapping[str, Any], planned: Planned) -> bool:
    """Whether a cell has all that was planned: the budget to the letter, and every split."""
    whole = set(range(planned.splits)) <= set(cell["splits"]) and len(cell["run_keys"]) >= planned.splits
    same = _same_budget(cell, planned) and _same_search_splits(cell, planned)
    return fits(cell, planned) and same and whole


def mean(values: list[float]) -> float:
    """The mean of one value or more."""
    return sum(values) / len(values)


def _allowed(cell: Mapping[str, Any]) -> tuple[str, float, int]:
    budget = cell["budget"]
    return budget["kind"], budget["amount"], budget["search_splits"]


def _same_budget(cell: Mapping[str, Any], planned: Planned) -> bool:
    budget = Budget.parse(planned.budget)
    return _allowed(cell)[:2] == (budget.kind, budget.amount)


def _same_search_splits(cell: Mapping[str, Any], planned: Planned) -> bool:
    return bool(_allowed(cell)[2] == planned.searched_of(len(cell["splits"])))


def _text(value: Any) -> str:
    # As text, for one round of pseudo-labels (1) equals rounds without limit (True) in Python.
    return json.dumps(value, sort_keys=True)


def _worth(cell: Mapping[str, Any], planned: Planned) -> tuple[int, int, int]:
    splits = sum(split < planned.splits for split in cell["splits"])
    return splits, cell["budget"]["trials"], cell["budget"]["search_splits"]


def _in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["spec"]["split"])


def _by_split(outcome: Outcome) -> dict[int, float]:
    return {row["spec"]["split"]: accuracy for row, accuracy in zip(outcome.rows, outcome.accuracies, strict=True)}
