"""The paper's table of accuracies with a tenth of the training labels."""

from __future__ import annotations

from postel.paper.accuracy import accuracy_product, gcn_figures
from postel.paper.planning import Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.target import Target
from postel.paper.variants import ONE_HOT, POSTEL, POSTEL_WITHOUT_IPL

_DATASETS = ("cora", "citeseer", "texas", "cornell")


class TableLimitedLabels(Target):
    """GCN on one-hot labels, and on PosteL's without and with iterative pseudo-labelling."""

    name = "table-limited-labels"
    title = "Test accuracy with a tenth of the training labels"

    def plan(self, options: Options) -> list[Planned]:
        """The three rows on four datasets."""
        variants = options.among_methods((ONE_HOT, POSTEL_WITHOUT_IPL, POSTEL))
        protocol = options.fixed_protocol("limited", "table-limited-labels is about the limited splits")
        datasets, backbones = options.chosen_datasets(_DATASETS), options.chosen_backbones(("gcn",))
        return plan_cells(options, datasets, backbones, variants, protocol=protocol)

    def make(self, results: Results, options: Options) -> Product:
        """Ours beside the paper's."""
        return accuracy_product(
            self.name, self.title, self.plan(options), results, gcn_figures("limited_labels", "limited")
        )


TARGET = TableLimitedLabels()
