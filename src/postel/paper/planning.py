"""What a table or figure needs: cells of dataset, backbone and method, chosen by a user's options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from postel.backbones import backbone_class
from postel.datasets.catalog import catalog_entry
from postel.datasets.splits import check_protocol
from postel.errors import InputError
from postel.experiments.spec import RunSpec
from postel.paper.variants import Variant, parse_variant

#: The search that tables take unless told otherwise: the standard rungs, the same for every method.
TABLE_BUDGET = "standard"
FIXED = "fixed"

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
PUBLISHED_NOTE = (
    "Where nothing was searched, learning rate and weight decay are those that He et al. (2021) published for the "
    "dataset, the same for every method."
)


@dataclass(frozen=True)
class Options:
    """What a user may choose of a target; None leaves it to the target."""

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

    def chosen_datasets(self, default: Sequence[str]) -> tuple[str, ...]:
        """The datasets, checked.

        >>> Options(datasets=("Texas",)).chosen_datasets(["cora"])
        ('texas',)
        """
        return tuple(_dataset(name) for name in self.datasets or default)

    def chosen_backbones(self, default: Sequence[str]) -> tuple[str, ...]:
        """The backbones, checked."""
        chosen = tuple(self.backbones or default)
        for name in chosen:
            backbone_class(name)
        return chosen

    def chosen_methods(self, default: Sequence[Variant]) -> tuple[Variant, ...]:
        """The methods of a table that takes any."""
        return tuple(parse_variant(text) for text in self.methods) if self.methods else tuple(default)

    def among_methods(self, offered: Sequence[Variant]) -> tuple[Variant, ...]:
        """Those of the ``offered`` variants whose slug or method was asked for.

        >>> from postel.paper.variants import LS, ONE_HOT
        >>> [variant.label for variant in Options(methods=("ls",)).among_methods([ONE_HOT, LS])]
        ['LS']
        """
        if self.methods is None:
            return tuple(offered)
        chosen: list[Variant] = []
        slugs = {variant.slug for variant in offered}
        for text in self.methods:
            wanted = text if text in slugs else parse_variant(text).method
            found = [variant for variant in offered if wanted in (variant.slug, variant.method)]
            if not found:
                raise InputError(f"there is no {text} here; choose from {', '.join(sorted(slugs))}")
            chosen += [variant for variant in found if variant not in chosen]
        return tuple(chosen)

    def fixed_protocol(self, protocol: str, why: str) -> str:
        """``protocol``, or a complaint if the user asked for another."""
        if self.protocol not in (None, protocol):
            raise InputError(f"{why}, so --protocol must be {protocol}, got {self.protocol}")
        return protocol


@dataclass(frozen=True)
class Planned:
    """A cell to run: one method on one dataset with one backbone, over ``splits`` splits.

    With ``any_budget``, or ``search_splits`` left open, a cell that was searched otherwise may be shown for it.
    ``settings`` are fixed beside what the variant fixes; with ``base`` the cell takes that one's settings and is
    not searched for itself.
    """

    dataset: str
    backbone: str
    variant: Variant
    protocol: str = "paper"
    splits: int = 10
    budget: str = TABLE_BUDGET
    any_budget: bool = False
    search_splits: int | None = None
    max_epochs: int | None = None
    settings: dict[str, float] = field(default_factory=dict)
    base: Planned | None = None

    @property
    def fixed(self) -> dict[str, Any]:
        """What is not searched, beside what the variant fixes."""
        return {**self.settings, **({} if self.max_epochs is None else {"max_epochs": self.max_epochs})}

    def searched_of(self, splits: int) -> int:
        """On how many of so many splits its search may compare settings: all of them unless told otherwise.

        >>> from postel.paper.variants import LS
        >>> Planned("cora", "gcn", LS).searched_of(10), Planned("cora", "gcn", LS, search_splits=1).searched_of(10)
        (10, 1)
        """
        return 0 if self.budget == FIXED else min(self.search_splits or splits, splits)

    def asked(self) -> dict[str, Any]:
        """What tells it from other cells of its dataset and backbone, as the store keeps it."""
        defaults = {name: field.default for name, field in RunSpec.model_fields.items()}
        told = {
            name: value for name, value in self.fixed.items() if name not in defaults or value != defaults[name]
        }
        return {
            "method": self.variant.method,
            "params": self.variant.params,
            "pseudo_labels": self.variant.pseudo_labels,
            "fixed": told,
        }


def plan_cells(
    options: Options,
    datasets: Sequence[str],
    backbones: Sequence[str],
    variants: Sequence[Variant],
    *,
    protocol: str | None = None,
    splits: int = 10,
    budget: str = TABLE_BUDGET,
    published: bool = False,
) -> list[Planned]:
    """A cell for every backbone, variant and dataset, in the order in which tables list them.

    With ``published`` a cell that is not searched has the published settings of its dataset.

    >>> from postel.paper.variants import LS, ONE_HOT
    >>> cells = plan_cells(Options(splits=2), ["texas"], ["gcn"], [ONE_HOT, LS])
    >>> [(cell.dataset, cell.variant.label, cell.splits) for cell in cells]
    [('texas', 'one-hot', 2), ('texas', 'LS', 2)]
    """
    protocol = protocol or options.protocol or "paper"
    check_protocol(protocol)
    chosen = options.budget or budget
    return [
        Planned(
            dataset,
            backbone,
            variant,
            protocol,
            splits=options.splits or splits,
            budget=chosen,
            any_budget=options.budget is None,
            search_splits=options.search_splits,
            max_epochs=options.max_epochs,
            settings=dict(PUBLISHED.get(dataset, {})) if published and chosen == FIXED else {},
        )
        for backbone in backbones
        for variant in variants
        for dataset in datasets
    ]


def _dataset(name: str) -> str:
    if name.endswith(".npz") or Path(name).exists():
        return name
    return catalog_entry(name).name
