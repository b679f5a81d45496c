"""Turns the settings of a search into runs: what all runs of the search share, and the spec of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postel.experiments.search.plan import ROUNDS
from postel.experiments.search.rungs import Task
from postel.experiments.search.spaces import Space, Values, space_of, start_of
from postel.experiments.spec import MethodSpec, RunSpec

# With fewer splits than this, settings are also compared over repetitions with other seeds.
_REPLICATES = 3
# Seeds of repetitions lie beyond those of splits, which are the splits' numbers.
_REPETITION = 1000


@dataclass(frozen=True)
class Template:
    """Turns tasks of a search into specs.

    Args:
        dataset: The dataset's name, or what stands for a graph in memory.
        fingerprint: The graph's fingerprint.
        protocol: How nodes are split.
        recipe: How the graph is prepared.
        backbone: The network's name, or what stands for a user's own model.
        method: The method with those of its hyper-parameters that are fixed.
        pseudo_labels: Whether, or for how many rounds, pseudo-labels are used at the end of the search.
        fixed: Settings that are not searched, by flat name.
        splits: The splits that settings are compared on.
        rounds_at_most: Rounds of pseudo-labels that a run of the search has at most, so that it keeps its budget;
            None for as many as were asked for.
    """

    dataset: str
    fingerprint: str
    protocol: str
    recipe: str
    backbone: str
    method: MethodSpec
    pseudo_labels: bool | int
    fixed: Mapping[str, Any]
    splits: Sequence[int]
    rounds_at_most: int | None = None

    @property
    def rounds(self) -> bool:
        """Whether the method is run with pseudo-labels in the end."""
        return self.pseudo_labels is not False and self.method.make().uses_pseudo_labels

    @property
    def trainings_each(self) -> int:
        """Trainings per run without pseudo-labels: two with a teacher, or with a one-hot model to step back to."""
        return 2 if self.method.name == "distillation" or self.method.make().accept != "loss" else 1

    @property
    def trainings_at_most(self) -> int | None:
        """Trainings per run with pseudo-labels at most, None if nothing bounds them."""
        rounds = self.search_rounds
        if rounds is True:
            return None
        return 1 + max(int(rounds), self.trainings_each - 1)

    @property
    def trainings_with_rounds(self) -> float:
        """Trainings per run with pseudo-labels on average: the paper's mean, unless there cannot be so many."""
        return min(ROUNDS, self.trainings_at_most or ROUNDS)

    @property
    def search_rounds(self) -> bool | int:
        """Whether, or for how many rounds, runs of the search have pseudo-labels."""
        return self.pseudo_labels if self.rounds_at_most is None else self.rounds_at_most

    @property
    def space(self) -> Space:
        """What is searched."""
        return space_of(self.backbone, self.method, self.fixed)

    @property
    def start(self) -> Values:
        """The default setting."""
        return start_of(self.space, self.backbone, self.method)

    @property
    def replicates(self) -> list[tuple[int, int]]:
        """Split and seed of every replicate: a seed is its split, the same for every method."""
        found = [(split, split) for split in self.splits]
        for number in range(len(found), _REPLICATES):
            split = self.splits[number % len(self.splits)]
            found.append((split, split + _REPETITION * (number // len(self.splits))))
        return found

    def task_spec(self, values: Values, task: Task) -> RunSpec:
        """Return the spec of a task.

        Args:
            values: The task's setting: a value for every name of the space.
            task: The task.

        Returns:
            The spec.
        """
        split, seed = self.replicates[task.replicate]
        return self.spec(values, split, seed, self.search_rounds if task.rounds else False)

    def spec(self, values: Values, split: int, seed: int, pseudo_labels: bool | int) -> RunSpec:
        """Return the spec of a setting.

        Args:
            values: A value for every name of the space.
            split: The split.
            seed: The seed of the run.
            pseudo_labels: Whether, or for how many rounds, it has pseudo-labels.

        Returns:
            The spec.
        """
        places: dict[str, dict[str, Any]] = {"": {}, "backbone_args": {}, "method": dict(self.method.params)}
        for name, value in {**self.fixed, **values}.items():
            place, _, argument = name.rpartition(".")
            places[place][argument] = value
        return RunSpec(
            dataset=self.dataset,
            fingerprint=self.fingerprint,
            protocol=self.protocol,
            split=split,
            recipe=self.recipe,
            backbone=self.backbone,
            backbone_args=places["backbone_args"],
            method=MethodSpec(name=self.method.name, params=places["method"]),
            pseudo_labels=pseudo_labels,
            seed=seed,
            **places[""],
        )

    def identity(self) -> dict[str, Any]:
        """Return what was asked for as plain values, for a hash."""
        asked = {name: value for name, value in self.__dict__.items() if name != "rounds_at_most"}
        return {
            **asked,
            "method": self.method.model_dump(mode="json"),
            "fixed": dict(self.fixed),
            "splits": list(self.splits),
        }
