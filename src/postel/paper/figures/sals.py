"""The paper's comparison with SALS: what each makes of the same neighbors in two kinds of graphs."""

from __future__ import annotations

from postel.experiments.store.reader import Reader
from postel.paper.rendering import Rendering
from postel.paper.table import Table, numbers, texts
from postel.paper.target import Target
from postel.theory import compare_with_sals
from postel.theory.plots import sals_figure


class FigureSals(Target):
    """SALS and PosteL at three nodes of a homophilic and a heterophilic graph; it needs no data."""

    title = "Soft labels of SALS and PosteL for the same neighbors: share of class 0"

    def make(self, reader: Reader) -> Rendering:
        """Return the picture, and the shares of class 0.

        Args:
            reader: The store's reader; nothing is read from it.
        """
        found = compare_with_sals()
        rows = [
            (
                f"{a} of class 0, {b} of class 1",
                float(found.sals[i, 0]),
                float(found.posterior_homophilic[i, 0]),
                float(found.posterior_heterophilic[i, 0]),
            )
            for i, (a, b) in enumerate(found.neighbors.tolist())
        ]
        names = ("SALS", "PosteL, homophilic", "PosteL, heterophilic")
        columns = (*texts("neighbors"), *numbers(*names, places=4))
        return Rendering(self.name, Table(self.title, columns, rows), figures={"": sals_figure()})
