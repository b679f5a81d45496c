"""The paper's main figure: one node of a small graph relabelled step by step."""

from __future__ import annotations

from postel.experiments.store.reader import Reader
from postel.paper.rendering import Rendering
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target
from postel.theory import work_through
from postel.theory.plots import toy_figure


class FigureToy(Target):
    """The method at one node, before and after pseudo-labels; it needs no data."""

    title = "One node of a toy graph, step by step"

    def make(self, reader: Reader) -> Rendering:
        """Return the picture, and every step's numbers.

        Args:
            reader: The store's reader; nothing is read from it.
        """
        rows = []
        for labels, pseudo in (("training", False), ("with pseudo-labels", True)):
            step = work_through(pseudo_labels=pseudo)
            steps = ("prior", "likelihood", "posterior", "noisy", "soft_label")
            rows += [(labels, name, *getattr(step, name).tolist()) for name in steps]
        table = Table(self.title, (*texts("labels", "step"), *numbers("class 0", "class 1", places=4)), rows)
        return Rendering(self.name, table, figures={"": toy_figure()})
