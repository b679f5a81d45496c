"""The paper's table of likelihood models: every edge alike, every node alike, or each node's own ego graph."""

from __future__ import annotations

from postel.paper.accuracy import accuracy_product, gcn_figures
from postel.paper.names import EIGHT_DATASETS
from postel.paper.planning import Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL, Variant

_VARIANTS = (
    ONE_HOT,
    Variant("postel-local-1", "PosteL (local-1)", "postel", {"likelihood": "local", "hops": 1}, True),
    Variant("postel-local-2", "PosteL (local-2)", "postel", {"likelihood": "local", "hops": 2}, True),
    Variant("postel-normalized", "PosteL (norm.)", "postel", {"likelihood": "normalized"}, True),
    POSTEL,
)


class TableLikelihood(Target):
    """GCN with PosteL's likelihood estimated in four ways."""

    name = "table-likelihood"
    title = "Test accuracy with other likelihood models"

    def plan(self, options: Options) -> list[Planned]:
        """Five rows on eight datasets."""
        datasets, backbones = options.chosen_datasets(EIGHT_DATASETS), options.chosen_backbones(("gcn",))
        return plan_cells(options, datasets, backbones, options.among_methods(_VARIANTS))

    def make(self, results: Results, options: Options) -> Product:
        """Ours beside the paper's."""
        return accuracy_product(self.name, self.title, self.plan(options), results, gcn_figures("likelihood"))


TARGET = TableLikelihood()
