"""The paper's main figure: one node of a small graph relabelled step by step."""

from __future__ import annotations

from postel.paper.planning import Options
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
from postel.theory import work_through
from postel.theory.plots import toy_figure


class FigureToy(Target):
    """The method at one node, before and after pseudo-labels; it needs no data."""

    name = "figure-toy"
    title = "One node of a toy graph, step by step"

    def make(self, results: Results, options: Options) -> Product:
        """The picture, and every step's numbers."""
        rows = []
        for labels, pseudo in (("training", False), ("with pseudo-labels", True)):
            step = work_through(pseudo_labels=pseudo)
            steps = ("prior", "likelihood", "posterior", "noisy", "soft_label")
            rows += [(labels, name, *getattr(step, name).tolist()) for name in steps]
        columns = (Column("labels", left=True), Column("step", left=True))
        classes = tuple(Column(f"class {k}", decimals(4)) for k in range(2))
        table = Table(self.title, (*columns, *classes), rows)
        return Product(self.name, table, figures={"": toy_figure()})


TARGET = FigureToy()
