"""What a report is about: the cells of a store, those that a search kept and those that runs alone make up."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from postel.experiments.running.execute import Row
from postel.experiments.spaces import METHOD_SPACES
from postel.experiments.spec import MethodSpec
from postel.paper.variants import SIX
from postel.smoothers import SMOOTHERS

SETTINGS = ("lr", "weight_decay", "backbone_args", "max_epochs", "stopping", "window")
#: How the six methods are called in tables, the paper's way and in its order.
METHOD_TITLES = {variant.method: variant.label for variant in SIX}
_NO_SEARCH = {"kind": "fixed", "trials": 0, "text": "given settings, no search"}


@dataclass(frozen=True)
class StudyCell:
    """One setting on one dataset: how it was chosen, and its rows, a split each, in the order of splits.

    ``target`` is what it was run for (a table, a figure), empty where runs alone make it up; ``given`` what was
    fixed of the method before any search, None where nobody kept it.
    """

    key: str
    dataset: str
    protocol: str
    recipe: str
    backbone: str
    method: MethodSpec
    pseudo_labels: bool | int
    settings: dict[str, Any]
    budget: dict[str, Any]
    validation: dict[str, float]
    target: str
    rows: list[Row] = field(repr=False)
    given: dict[str, Any] | None = None

    @property
    def study(self) -> tuple[str, str, str]:
        """What cells of one table share: target, protocol and recipe."""
        return self.target, self.protocol, self.recipe

    @cached_property
    def variant(self) -> str:
        """What makes the method another one than its plain self; empty for the plain method.

        Searched values are the result of the search and no variant; given ones are, where they differ from the
        method's own.
        """
        given = self.given
        if given is None:
            given = {key: value for key, value in self.method.params.items() if not self._was_searched(key)}
        defaults = inspect.signature(SMOOTHERS[self.method.name]).parameters
        parts = [f"{key}={value}" for key, value in given.items() if value != defaults[key].default]
        if self.method.make().uses_pseudo_labels and self.pseudo_labels is not True:
            parts.append(rounds_told(self.pseudo_labels))
        return ", ".join(parts)

    @property
    def title(self) -> str:
        """The method's title with its variant."""
        title = METHOD_TITLES.get(self.method.name, self.method.name)
        return f"{title} ({self.variant})" if self.variant else title

    @property
    def budget_told(self) -> str:
        """What every method of the study was allowed; how far this one went is in the budget's own text.

        One-hot has few settings to try and often tries them all: its allowance is the same nevertheless.
        """
        budget = self.budget
        if budget["kind"] == "fixed" or "amount" not in budget:
            return str(budget["text"])
        splits = budget.get("search_splits", 0)
        over = f"{splits} search split{'s' if splits != 1 else ''}"
        if budget["kind"] == "grid":
            return f"the full grid, {over}"
        return f"up to {budget['amount']:g} {budget['kind']}, {over}"

    def _was_searched(self, key: str) -> bool:
        return self.budget["kind"] != "fixed" and f"method.{key}" in METHOD_SPACES.get(self.method.name, {})


def cells_of(kept: Sequence[Mapping[str, Any]], rows: Sequence[Row]) -> tuple[list[StudyCell], int]:
    """The cells of a store, and how many of its runs belong to none (trials of searches, mostly).

    Runs of a setting that a search tried on the way are no cell; other runs, as ``postel compare`` leaves them,
    make up one for every setting.

    >>> cells_of([], [])
    ([], 0)
    """
    by_key = {row["key"]: row for row in rows if row["result"]["test"] is not None}
    cells = [_kept_cell(cell, by_key) for cell in kept]
    used = {row["key"] for cell in cells for row in cell.rows}
    tried = {
        (cell.dataset, cell.protocol, cell.recipe, cell.backbone, cell.method.name)
        for cell in cells
        if cell.budget["kind"] != "fixed"
    }
    groups: dict[str, list[Row]] = {}
    trials = 0
    for row in by_key.values():
        spec = row["spec"]
        place = (spec["dataset"], spec["protocol"], spec["recipe"], spec["backbone"], spec["method"]["name"])
        if row["key"] in used:
            continue
        if place in tried:
            trials += 1
        else:
            groups.setdefault(_setting_key(spec), []).append(row)
    made = [_made_cell(key, group) for key, group in groups.items()]
    return [cell for cell in [*cells, *made] if cell.rows], trials


def rounds_told(pseudo_labels: bool | int) -> str:
    """How pseudo-labels are used, in words.

    >>> rounds_told(True), rounds_told(1), rounds_told(False)
    ('pseudo-labels until the validation loss stops falling', '1 round of pseudo-labels', 'no pseudo-labels')
    """
    if pseudo_labels is True:
        return "pseudo-labels until the validation loss stops falling"
    if not pseudo_labels:
        return "no pseudo-labels"
    return f"{pseudo_labels} round{'s' if pseudo_labels != 1 else ''} of pseudo-labels"


def _kept_cell(cell: Mapping[str, Any], rows: Mapping[str, Row]) -> StudyCell:
    found = [rows[key] for key in cell["run_keys"] if key in rows]
    return StudyCell(
        key=cell["key"],
        dataset=cell["dataset"],
        protocol=cell["protocol"],
        recipe=cell["recipe"],
        backbone=cell["backbone"],
        method=MethodSpec(**cell["method"]),
        pseudo_labels=cell["pseudo_labels"],
        settings=dict(cell["settings"]),
        budget=dict(cell["budget"]),
        validation=dict(cell.get("validation") or {}),
        target=cell.get("target") or "tune",
        rows=sorted(found, key=lambda row: row["spec"]["split"]),
        given=cell["asked"]["params"] if "asked" in cell else None,
    )


def _made_cell(key: str, rows: list[Row]) -> StudyCell:
    # With several seeds a split, the first seed speaks: a split is one point.
    first_seeds = {row["spec"]["split"]: row for row in sorted(rows, key=lambda row: -row["spec"]["seed"])}
    spec = rows[0]["spec"]
    return StudyCell(
        key=key,
        dataset=spec["dataset"],
        protocol=spec["protocol"],
        recipe=spec["recipe"],
        backbone=spec["backbone"],
        method=MethodSpec(**spec["method"]),
        pseudo_labels=spec["pseudo_labels"],
        settings={name: spec[name] for name in SETTINGS},
        budget=dict(_NO_SEARCH),
        validation={},
        target="",
        rows=[first_seeds[split] for split in sorted(first_seeds)],
    )


def _setting_key(spec: Mapping[str, Any]) -> str:
    """A hash of everything of a spec but split and seed."""
    shared = {name: value for name, value in spec.items() if name not in ("split", "seed")}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:24]
