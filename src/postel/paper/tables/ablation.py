"""The paper's ablation: posterior smoothing (PS), uniform noise (UN) and pseudo-labelling (IPL), in and out."""

from __future__ import annotations

from dataclasses import replace

from postel.paper.accuracy import accuracy_product, gcn_figures
from postel.paper.names import EIGHT_DATASETS
from postel.paper.planning import Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.target import Target
from postel.paper.variants import LS, ONE_HOT, POSTEL, POSTEL_ONE_ROUND, POSTEL_WITHOUT_IPL, Variant

_VARIANTS = (
    replace(ONE_HOT, label="none (one-hot)"),
    Variant("postel-without-noise-ipl", "PS", "postel", {"beta": 0.0}),
    # The paper's figures of noise alone are those of its label smoothing row, to the last digit.
    replace(LS, label="UN (LS)"),
    Variant("postel-without-noise", "PS + IPL", "postel", {"beta": 0.0}, True),
    replace(POSTEL_WITHOUT_IPL, label="PS + UN"),
    replace(POSTEL_ONE_ROUND, label="PS + UN + one round"),
    replace(POSTEL, label="PS + UN + IPL"),
)
_NOTE = "PS: posterior smoothing; UN: uniform noise, alone the same as label smoothing; IPL: pseudo-labelling."


class TableAblation(Target):
    """GCN with every combination of PosteL's parts."""

    name = "table-ablation"
    title = "Test accuracy with parts of PosteL left out"

    def plan(self, options: Options) -> list[Planned]:
        """Seven rows on eight datasets."""
        datasets, backbones = options.chosen_datasets(EIGHT_DATASETS), options.chosen_backbones(("gcn",))
        return plan_cells(options, datasets, backbones, options.among_methods(_VARIANTS))

    def make(self, results: Results, options: Options) -> Product:
        """Ours beside the paper's."""
        return accuracy_product(
            self.name, self.title, self.plan(options), results, gcn_figures("ablation"), [_NOTE]
        )


TARGET = TableAblation()
