"""A target of ``postel reproduce``: what it plans, how it is run, and what is made of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from postel.experiments.store import Store
from postel.paper.planning import Options, Planned
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.running import Watch, run_planned


class Target(ABC):
    """A table or figure of the paper.

    A new one is a file in the folder ``tables`` or ``figures`` with a subclass and one object of it called
    ``TARGET``; the registry finds it.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def plan(self, options: Options) -> list[Planned]:
        """The cells it needs; none if it needs no training."""
        return []

    def measure(self, options: Options, store: Store, watch: Watch) -> None:
        """Whatever it needs beside cells, kept in the store's file."""
        return

    def run(self, options: Options, store: Store, watch: Watch | None = None) -> None:
        """Run what is planned and not yet there; afterwards :meth:`render` has all it needs."""
        watch = watch or Watch()
        run_planned(self.plan(options), options, store, watch, self.name)
        self.measure(options, store, watch)

    def render(self, store: Store, options: Options) -> Product:
        """The table or figure of what is in the store; nothing is run, and what is missing is marked."""
        return self.make(Results(store), options).with_note(f"Rows: {store.name}.")

    @abstractmethod
    def make(self, results: Results, options: Options) -> Product:
        """The table or figure of ``results``."""
