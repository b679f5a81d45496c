"""Not a table of the paper: what calibrated posteriors do, which are ours, on every graph, with three networks."""

from __future__ import annotations

from dataclasses import replace

from postel.paper.names import DATASETS
from postel.paper.paired import paired_product
from postel.paper.planning import FIXED, PUBLISHED_NOTE, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.target import Target
from postel.paper.variants import CALIBRATED, ONE_HOT

#: The graphs by protocol: the paper's, synthetic ones of three kinds, those with known faults mended, few labels.
_GRAPHS = {
    "paper": (*DATASETS, "csbm-homophilic", "csbm-heterophilic", "csbm-no-signal"),
    "stratified": ("cornell-corrected", "chameleon-filtered", "squirrel-filtered"),
    "limited": ("texas", "cora", "citeseer", "pubmed"),
}
_BACKBONES = ("gcn", "mlp", "gprgnn")


class TableCalibrated(Target):
    """The calibrated posterior against one-hot labels, with nothing searched."""

    name = "table-calibrated"
    title = "Not the paper's: calibrated posteriors against one-hot labels, nothing searched"

    def plan(self, options: Options) -> list[Planned]:
        """Two kinds of labels with three networks on every graph under its protocol."""
        options = replace(options, budget=options.budget or FIXED)
        variants = options.chosen_methods((ONE_HOT, CALIBRATED))
        backbones = options.chosen_backbones(_BACKBONES)
        wanted = options.chosen_datasets(())
        cells = []
        for protocol, names in self._graphs(options, wanted).items():
            cells += plan_cells(options, names, backbones, variants, protocol=protocol, published=True)
        return cells

    def _graphs(self, options: Options, wanted: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """The graphs by protocol; a wanted one that is not among ours has the paper's unless told otherwise."""
        if options.protocol is not None:
            return {options.protocol: wanted or _GRAPHS.get(options.protocol, _GRAPHS["paper"])}
        if not wanted:
            return _GRAPHS
        chosen = {protocol: tuple(name for name in names if name in wanted) for protocol, names in _GRAPHS.items()}
        others = tuple(name for name in wanted if not any(name in names for names in _GRAPHS.values()))
        return {**chosen, "paper": chosen["paper"] + others}

    def make(self, results: Results, options: Options) -> Product:
        """A line for each graph and network."""
        return paired_product(self.name, self.title, self.plan(options), results, [PUBLISHED_NOTE])


TARGET = TableCalibrated()
