"""A target of ``postel reproduce``, that is a table or figure: the cells it needs, and what it makes of them."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from postel.checks import did_you_mean
from postel.errors import InputError
from postel.experiments.budget import Budget
from postel.experiments.results import Row
from postel.experiments.store import Store
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.rendering import Rendering
from postel.paper.requests import STANDARD, CellRequest, Options, at_one_setting, request_cells
from postel.paper.variants import Variant

#: Names of earlier releases that still work.
RENAMED = {"figure-neighbours": "figure-neighbors"}


def _ignore(*_: object) -> None:
    return


@dataclass(frozen=True)
class Watch:
    """Functions that are called as a target is run.

    Args:
        on_cell: Called before each cell with its number, the number of cells, and the cell.
        on_row: Called with every row.
        on_step: Called with a sentence at every other step.
    """

    on_cell: Callable[[int, int, CellRequest], None] = _ignore
    on_row: Callable[[Row], None] = _ignore
    on_step: Callable[[str], None] = _ignore


class Target(ABC):
    """A table or figure of the paper, with a user's options.

    A new one is a file in the folder ``tables`` or ``figures`` with a subclass; its name is the file's. Class
    attributes declare the cells that it needs; where that is not enough it overrides :meth:`make_requests`.

    Args:
        options: The user's options; None for the defaults.

    Raises:
        InputError: If an option does not fit.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    datasets: ClassVar[tuple[str, ...]] = ()
    backbones: ClassVar[tuple[str, ...]] = ("gcn",)
    #: The methods, in the table's order; none if nothing is trained.
    variants: ClassVar[tuple[Variant, ...]] = ()
    #: Whether a user may ask for other methods than these.
    any_method: ClassVar[bool] = False
    #: The only protocol that it is about; None for any.
    protocol: ClassVar[str | None] = None
    splits: ClassVar[int] = 10
    budget: ClassVar[Budget] = STANDARD
    #: Whether cells that are not searched have the published settings of their dataset.
    published_settings: ClassVar[bool] = False
    #: Whether one-hot labels are shown at the training setting of the method beside them.
    one_setting: ClassVar[bool] = False
    #: Whether its cells are run by searches; otherwise :meth:`measure` makes them.
    runs_cells: ClassVar[bool] = True
    #: What it takes beside its cells, in words for a plan; empty if that is little.
    afterwards: ClassVar[str] = ""
    #: What it needs of each dataset beside cells: a function of its name and of the folder of graph files.
    per_dataset: ClassVar[Any] = None

    def __init_subclass__(cls) -> None:
        folder, _, file = cls.__module__.removeprefix("postel.paper.").partition(".")
        cls.name = f"{folder.removesuffix('s')}-{file.replace('_', '-')}"

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        #: The cells that it needs, in the order of the table.
        self.requests = self.make_requests(self.options)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The datasets that it is about."""
        return self.options.chosen_datasets(self.datasets)

    def make_requests(self, options: Options) -> list[CellRequest]:
        """Return the cells that it needs: one per backbone, method and dataset.

        Args:
            options: The user's options.

        Returns:
            The cells, in the order of the table.

        Raises:
            InputError: If an option does not fit.
        """
        if not self.variants:
            return []
        if self.protocol is not None and options.protocol not in (None, self.protocol):
            raise InputError(
                f"{self.name} is about the {self.protocol} splits, so --protocol must be {self.protocol}, "
                f"got {options.protocol}"
            )
        requests = request_cells(
            options,
            options.chosen_datasets(self.datasets),
            options.chosen_backbones(self.backbones),
            options.chosen_variants(self.variants, others=self.any_method),
            protocol=self.protocol,
            splits=self.splits,
            budget=self.budget,
            published=self.published_settings,
        )
        return at_one_setting(requests) if self.one_setting else requests

    @property
    def places(self) -> dict[tuple[str, str], list[CellRequest]]:
        """Its cells by network and dataset."""
        return grouped(self.requests, lambda request: request.place)

    def measure(self, store: Store, watch: Watch) -> None:
        """Measure what it needs beside cells, and store that.

        Args:
            store: Where measurements are stored.
            watch: Receives progress.
        """
        if self.per_dataset is None:
            return
        for name in self.names:
            watch.on_step(f"counting {name}")
            value = self.per_dataset(name, self.options.data_root)
            if value is not None:
                Measurements(store).put(self.name, name, value)

    def render(self, store: Store) -> Rendering:
        """Return the table or figure of what is in the store; nothing is run, and what is missing is marked.

        Args:
            store: The store of the results.
        """
        return self.make(Reader(store)).with_note(f"Rows: {store.name}.")

    @abstractmethod
    def make(self, reader: Reader) -> Rendering:
        """Return the table or figure.

        Args:
            reader: The store's reader.
        """


def target_names() -> list[str]:
    """Return the names of all tables and figures, tables first.

    Example:
        >>> "table-main" in target_names(), target_names()[-1]
        (True, 'figure-tsne')
    """
    return [
        f"{kind}-{module.name.replace('_', '-')}"
        for kind in ("table", "figure")
        for module in pkgutil.iter_modules([str(Path(__file__).with_name(f"{kind}s"))])
        if not module.name.startswith("_")
    ]


def find_target(name: str) -> type[Target]:
    """Return the table or figure called ``name``.

    Args:
        name: As in ``table-main``; names of earlier releases work too.

    Raises:
        InputError: If there is none.

    Example:
        >>> find_target("table-main").title
        'Test accuracy of every method, backbone and dataset'
    """
    name, names = RENAMED.get(name, name), target_names()
    if name not in names:
        hint = did_you_mean(name, names).strip() or f"there are {', '.join(names)}"
        raise InputError(f"there is no table or figure {name!r}; {hint}")
    kind, _, rest = name.partition("-")
    module = importlib.import_module(f"postel.paper.{kind}s.{rest.replace('-', '_')}")
    classes = [found for found in vars(module).values() if isinstance(found, type) and issubclass(found, Target)]
    return next(found for found in classes if found.__module__ == module.__name__)
