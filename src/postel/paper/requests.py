"""The cells that tables and figures need, as questions to be answered by a search, chosen by a user's options."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from postel.backbones import backbone_class
from postel.datasets.catalog import catalog_entry
from postel.datasets.splits import check_protocol
from postel.errors import InputError
from postel.experiments.budget import Budget
from postel.experiments.results import Cell, Question, Setting
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.variants import BASELINE, Variant, parse_variant

#: The search that tables take by default: the standard rungs, the same for every method.
STANDARD = Budget("standard")
FIXED = Budget("fixed")

#: Learning rate and weight decay that He et al. (2021) published for a dataset, where they are not the defaults.
#: Figures take them when nothing is searched: at the defaults the wiki graphs are hardly fitted at all.
PUBLISHED: dict[str, dict[str, float]] = {
    "pubmed": {"weight_decay": 0.0},
    "chameleon": {"lr": 0.05, "weight_decay": 0.0},
    "actor": {"lr": 0.05, "weight_decay": 0.0},
    "squirrel": {"lr": 0.05, "weight_decay": 0.0},
    "texas": {"lr": 0.05},
    "cornell": {"lr": 0.05},
}
#: The paper's values of alpha and beta, from its search space.
SWEEPS: dict[str, tuple[float, ...]] = {
    "alpha": tuple(round(0.1 * step, 1) for step in range(1, 11)),
    "beta": tuple(round(0.1 * step, 1) for step in range(10)),
}
PUBLISHED_NOTE = (
    "Where nothing was searched, learning rate and weight decay are those that He et al. (2021) published for the "
    "dataset, the same for every method."
)


@dataclass(frozen=True)
class Options:
    """What a user may choose of a table or figure; None leaves it to the table or figure.

    Args:
        datasets: Names of the catalog, or paths of graph files.
        backbones: Names of networks.
        methods: Methods as commands take them.
        splits: How many splits, from split 0 on.
        search_splits: On how many of them settings are compared at most.
        protocol: How nodes are split.
        budget: What the search of each cell may spend.
        max_epochs: Epochs at most.
        workers: How many runs are made at a time.
        scheduler: The address of a Dask cluster to run on.
        data_root: Folder of graph files to look in first.
        device: The torch device; runs on another one than the CPU are other runs.

    Raises:
        InputError: If the budget cannot be read.
    """

    datasets: tuple[str, ...] | None = None
    backbones: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    splits: int | None = None
    search_splits: int | None = None
    protocol: str | None = None
    budget: str | None = None
    max_epochs: int | None = None
    workers: int = 2
    scheduler: str | None = None
    data_root: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.budget is not None:
            Budget.parse(self.budget)

    def chosen_datasets(self, default: Sequence[str]) -> tuple[str, ...]:
        """Return the datasets, checked.

        Args:
            default: Those to take where the user names none.

        Example:
            >>> Options(datasets=("Texas",)).chosen_datasets(["cora"])
            ('texas',)
        """
        return tuple(_dataset(name) for name in self.datasets or default)

    def chosen_backbones(self, default: Sequence[str]) -> tuple[str, ...]:
        """Return the backbones, checked.

        Args:
            default: Those to take where the user names none.
        """
        chosen = tuple(self.backbones or default)
        for name in chosen:
            backbone_class(name)
        return chosen

    def chosen_variants(self, offered: Sequence[Variant], *, others: bool = False) -> tuple[Variant, ...]:
        """Return the methods, checked.

        Args:
            offered: Those to take where the user names none.
            others: Whether the user may name others than these.

        Raises:
            InputError: If a method is not known, or not offered.

        Example:
            >>> from postel.paper.variants import LS, ONE_HOT
            >>> [variant.label for variant in Options(methods=("ls",)).chosen_variants([ONE_HOT, LS])]
            ['LS']
        """
        if self.methods is None:
            return tuple(offered)
        if others:
            return tuple(map(parse_variant, self.methods))
        chosen: list[Variant] = []
        slugs = {variant.slug for variant in offered}
        for text in self.methods:
            wanted = text if text in slugs else parse_variant(text).method
            found = [variant for variant in offered if wanted in (variant.slug, variant.method)]
            if not found:
                raise InputError(f"there is no {text} here; choose from {', '.join(sorted(slugs))}")
            chosen += [variant for variant in found if variant not in chosen]
        return tuple(chosen)


@dataclass(frozen=True)
class CellRequest:
    """A question of a table, what its method is called there, and what is spent on it if it has to be run.

    Args:
        question: What is asked; where the user left the budget open, any cell that agrees with the rest answers,
            if it was searched or its budget here is none.
        variant: The method as the table calls it.
        budget: What its search may spend if it is run.
        base: The question whose chosen setting it takes over, with what the variant fixes; None to be searched
            for itself.
        tuned: What a figure asks first: the first split at settings that a search has chosen; None if it asks
            nothing else.
    """

    question: Question
    variant: Variant
    budget: Budget
    base: CellRequest | None = None
    tuned: Question | None = None

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return self.question.dataset

    @property
    def backbone(self) -> str:
        """The network's name."""
        return self.question.backbone

    @property
    def place(self) -> tuple[str, str]:
        """Network and dataset: where methods are compared."""
        return self.backbone, self.dataset

    def search_splits(self, splits: int) -> int:
        """Return on how many splits its search compares settings: all of them by default.

        Args:
            splits: On how many splits the chosen setting is run.
        """
        return 0 if self.budget == FIXED else min(self.question.search_splits or splits, splits)

    def is_done_by(self, cell: Cell) -> bool:
        """Tell whether a cell leaves nothing to run: it has exactly the same budget, and every split.

        Args:
            cell: A cell of a store.
        """
        own = cell.question
        same = own.search_splits == self.search_splits(len(own.splits))
        return same and cell.completes(replace(self.question, budget=self.budget, search_splits=None))

    def answer(self, reader: Reader, *, rounds: bool = False) -> Cell | None:
        """Return the cell that answers it, with its rows; None if it was not run.

        Args:
            reader: The store's reader.
            rounds: Whether rows come with their curves.
        """
        if self.base is None:
            # Settings that were given, for instance to time them, are no answer to what asks for a search.
            return self.tuned_answer(reader, rounds=rounds) or reader.answer(
                self.question, rounds=rounds, searched=self.budget != FIXED
            )
        base = self.base.answer(reader)
        keys = [spec.key for spec in self.taken_over(base)] if base is not None else []
        rows = reader.rows(keys, rounds=rounds)
        if base is None or not rows or (rounds and any(row.rounds is None for row in rows)):
            return None
        own = base.question
        question = replace(self.question, budget=own.budget, search_splits=own.search_splits)
        found = tuple(row.key for row in rows)
        return replace(base, question=question, chosen=Setting.of(rows[0].spec), run_keys=found).with_rows(rows)

    def tuned_answer(self, reader: Reader, *, rounds: bool = False) -> Cell | None:
        """Return a cell whose method was searched, where a figure prefers one; None if there is none.

        Args:
            reader: The store's reader.
            rounds: Whether rows come with their curves.
        """
        return reader.evidence.answer(self.tuned, rounds=rounds) if self.tuned is not None else None

    def taken_over(self, base: Cell) -> list[RunSpec]:
        """Return its runs at the setting of ``base`` with what the variant fixes, one per split.

        Args:
            base: The answer to its base, with rows.
        """
        variant = self.variant
        specs = [row.spec for row in base.rows]
        if variant.method != base.question.method.name:
            return [spec.with_labels(variant.spec, variant.pseudo_labels) for spec in specs]
        return [
            spec.with_labels(
                MethodSpec(name=variant.method, params={**spec.method.params, **variant.params}),
                spec.pseudo_labels,
            )
            for spec in specs
        ]


def request_cells(
    options: Options,
    datasets: Sequence[str],
    backbones: Sequence[str],
    variants: Sequence[Variant],
    *,
    protocol: str | None = None,
    splits: int = 10,
    budget: Budget = STANDARD,
    published: bool = False,
) -> list[CellRequest]:
    """Return a question for every backbone, variant and dataset, in the order in which tables list them.

    Args:
        options: The user's options.
        datasets: Names of datasets.
        backbones: Names of networks.
        variants: The methods.
        protocol: How nodes are split; None for what the user chose, or else the paper's.
        splits: How many splits, unless the user chose.
        budget: What each search may spend, unless the user chose.
        published: Whether a question that is not searched has the published settings of its dataset.

    Example:
        >>> from postel.paper.variants import LS, ONE_HOT
        >>> request = request_cells(Options(splits=2), ["texas"], ["gcn"], [ONE_HOT, LS])
        >>> [(one.dataset, one.variant.label, one.question.splits) for one in request]
        [('texas', 'one-hot', (0, 1)), ('texas', 'LS', (0, 1))]
    """
    protocol = protocol or options.protocol or "paper"
    check_protocol(protocol)
    chosen = None if options.budget is None else Budget.parse(options.budget)
    spent = chosen or budget
    epochs: dict[str, Any] = {} if options.max_epochs is None else {"max_epochs": options.max_epochs}
    # A question does not name the usual device: its key is the same in every release.
    epochs |= {} if options.device == "cpu" else {"device": options.device}
    found = []
    for backbone, variant, dataset in itertools.product(backbones, variants, datasets):
        question = Question(
            dataset,
            backbone,
            variant.spec,
            variant.pseudo_labels,
            protocol,
            fixed={**(PUBLISHED.get(dataset, {}) if published and spent == FIXED else {}), **epochs},
            splits=tuple(range(options.splits or splits)),
            budget=chosen,
            search_splits=0 if options.search_splits and spent == FIXED else options.search_splits,
        )
        tuned = replace(question, fixed=epochs, splits=(0,)) if published and chosen is None else None
        found.append(CellRequest(question, variant, spent, tuned=tuned))
    return found


def at_one_setting(requests: Sequence[CellRequest]) -> list[CellRequest]:
    """Return the same questions, one-hot labels at the training setting of the first other method.

    Each kind of labels prefers its own learning rate, and curves at two rates say more about these than about
    labels.

    Args:
        requests: Questions.
    """
    others = grouped((one for one in requests if one.variant.method != BASELINE), lambda one: one.place)
    return [
        replace(one, base=others[one.place][0]) if one.variant.method == BASELINE and one.place in others else one
        for one in requests
    ]


def sweep(base: CellRequest) -> list[CellRequest]:
    """Return a question for every value of alpha and of beta, at the setting that was chosen for PosteL.

    Args:
        base: PosteL's question, whose chosen setting the points take over.
    """
    found = []
    for name, values in SWEEPS.items():
        for value in values:
            variant = Variant(f"postel-{name}-{value}", name, "postel", {name: value}, True)
            question = replace(base.question, method=variant.spec)
            found.append(replace(base, question=question, variant=variant, base=base))
    return found


def _dataset(name: str) -> str:
    if name.endswith(".npz") or Path(name).exists():
        return name
    return catalog_entry(name).name
