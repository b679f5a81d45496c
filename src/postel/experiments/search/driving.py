"""Runs the searches of several methods side by side, so that workers are busy and all searches get equally far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from postel.datasets.catalog import CATALOG
from postel.experiments.budget import Budget
from postel.experiments.results import content_key
from postel.experiments.search.choice import Measured
from postel.experiments.search.method_search import MethodSearch
from postel.experiments.search.plan import rounds_within
from postel.experiments.search.rungs import Task
from postel.experiments.search.template import Template
from postel.experiments.spec import RunSpec

#: Takes a run and its outcome, None if it failed.
Tell = Callable[[RunSpec, Measured | None], None]
#: Makes runs and reports the outcome of each as it comes.
RunSpecs = Callable[[Sequence[RunSpec], Tell], object]


@dataclass(frozen=True)
class Driven:
    """A method under search.

    Args:
        template: Turns its tasks into specs.
        search: Its rungs.
    """

    template: Template
    search: MethodSearch

    @classmethod
    def begin(
        cls, template: Template, budget: Budget, nodes: int, seed: int = 0, workers: int = 1, final: int = 0
    ) -> Driven:
        """Start a search.

        Args:
            template: What is searched, and what is left as it is.
            budget: What may be spent.
            nodes: Number of validation nodes per split.
            seed: Together with the dataset, network and protocol it shifts the lattice: methods that share a space
                share its places.
            workers: How many runs are made at a time.
            final: How many runs the chosen setting is to have in the end, paid from the budget too.

        Returns:
            The search, which has not asked for any run yet.
        """
        # A fingerprint would do for any graph, but hidden labels are in it and must not move the lattice.
        name = template.dataset if template.dataset in CATALOG else ""
        place = {"dataset": name, "backbone": template.backbone, "protocol": template.protocol}
        replicates = len(template.replicates)
        if budget.kind == "trainings" and template.rounds:
            bound = rounds_within(budget.amount, template.pseudo_labels, max(replicates, final))
            template = replace(template, rounds_at_most=bound)
        search = MethodSearch(
            space=template.space,
            start=template.start,
            budget=budget,
            replicates=replicates,
            splits=len(template.splits),
            nodes=nodes,
            rounds=template.rounds,
            each=template.trainings_each,
            with_rounds=template.trainings_with_rounds,
            most=template.trainings_at_most,
            final=final,
            seed=int(content_key({**place, "seed": seed})[:8], 16),
            workers=workers,
        )
        return cls(template, search)

    @property
    def too_small(self) -> str:
        """Why the budget is too small for a search of this method, in a sentence; empty if it is not."""
        search = self.search
        if not search.is_too_small:
            return ""
        last = f" and running the better one on {search.final} splits" if search.final else ""
        method = self.template.method.label
        return (
            f"a budget of {search.budget.limit} is too small to search {method}: comparing two settings"
            f"{last} may take {search.least}."
        )


def drive(
    driven: Mapping[str, Driven],
    run: RunSpecs,
    on_progress: Callable[[int, int], None] = lambda done, expected: None,
) -> None:
    """Take searches to their end, all at the same pace.

    Args:
        driven: The searches by the name of their method.
        run: Makes runs and reports their outcomes; after an interruption some are not reported.
        on_progress: Called with the number of trainings spent so far, and about how many there will be in all.
    """
    while True:
        places: dict[str, list[tuple[str, Task]]] = {}
        specs: dict[str, RunSpec] = {}
        for name, one in driven.items():
            for task in one.search.tasks():
                spec = one.template.task_spec(one.search.values(task.place), task)
                specs[spec.key] = spec
                places.setdefault(spec.key, []).append((name, task))
        if not specs:
            return

        def tell(spec: RunSpec, came: Measured | None, places: dict[str, list[tuple[str, Task]]] = places) -> None:
            for name, task in places[spec.key]:
                driven[name].search.tell({task: came})
            done = sum(one.search.trainings for one in driven.values())
            on_progress(done, sum(max(one.search.expected, one.search.trainings) for one in driven.values()))

        run(list(specs.values()), tell)
        for key, found in places.items():
            # A run whose outcome was never reported counts as failed: otherwise it would be asked for for ever.
            if any(task not in driven[name].search.known for name, task in found):
                tell(specs[key], None)
