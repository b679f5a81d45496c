"""The paper's main table: eight backbones with six kinds of labels on ten datasets."""

from __future__ import annotations

from postel.paper.accuracy import accuracy_product
from postel.paper.names import BACKBONES, DATASETS
from postel.paper.planning import Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.published import Published, published_main
from postel.paper.results import Results
from postel.paper.target import Target
from postel.paper.variants import SIX

_NOTE = (
    "The paper took its one-hot figures from He et al. (2021) and searched only for the other rows; here one-hot "
    "labels have the budget of the others."
)


class TableMain(Target):
    """Accuracy of every method, backbone and dataset."""

    name = "table-main"
    title = "Test accuracy of every method, backbone and dataset"

    def plan(self, options: Options) -> list[Planned]:
        """480 cells unless told otherwise."""
        datasets = options.chosen_datasets(DATASETS)
        return plan_cells(
            options, datasets, options.chosen_backbones(BACKBONES), options.chosen_methods(SIX), splits=10
        )

    def make(self, results: Results, options: Options) -> Product:
        """Ours beside the paper's."""
        return accuracy_product(self.name, self.title, self.plan(options), results, paper_figure, [_NOTE])


def paper_figure(cell: Planned) -> Published | None:
    """What the paper has for a cell of its main table, or None."""
    if cell.protocol != "paper":
        return None  # the paper's figures are of its own splits
    return published_main().get((cell.backbone, cell.variant.slug, cell.dataset))


TARGET = TableMain()
