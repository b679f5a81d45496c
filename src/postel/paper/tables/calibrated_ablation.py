"""Not a table of the paper: which part of the calibrated posterior, which is ours, does what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postel.paper.paired import paired_product
from postel.paper.planning import FIXED, PUBLISHED_NOTE, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.results import Results
from postel.paper.target import Target
from postel.paper.variants import CALIBRATED, ONE_HOT, Variant


def _always(slug: str, label: str, **params: Any) -> Variant:
    rounds = params.get("evidence") != "none"
    return Variant(slug, label, "calibrated", {"accept": "always", **params}, pseudo_labels=rounds)


_VARIANTS = (
    ONE_HOT,
    replace(CALIBRATED, label="all parts, kept if better"),
    Variant("calibrated-accuracy", "kept if more accurate", "calibrated", {"accept": "accuracy"}, True),
    _always("calibrated-always", "one round, always kept"),
    _always("calibrated-train-targets", "trained on training nodes only", targets="train"),
    _always("calibrated-own-label", "own label not left out", leave_one_out=False),
    _always("calibrated-temperature", "one temperature", calibration="temperature"),
    _always("calibrated-uncalibrated", "not calibrated", calibration="none"),
    _always("calibrated-hard", "hard pseudo-labels", evidence="hard"),
    _always("calibrated-no-evidence", "no pseudo-labels", evidence="none"),
    _always("calibrated-train-centers", "pairs around training nodes", centers="train"),
    _always("calibrated-alpha-0.3", "alpha 0.3", alpha=0.3),
    _always("calibrated-alpha-0.7", "alpha 0.7", alpha=0.7),
)
_GRAPHS = (("chameleon", "paper"), ("cora", "limited"), ("texas", "stratified"))
_NOTE = "From the fourth line of a graph on, one round that is always kept, with one part changed."


class TableCalibratedAblation(Target):
    """GCN on calibrated posteriors with parts left out."""

    name = "table-calibrated-ablation"
    title = "Not the paper's: parts of the calibrated posterior left out"

    def plan(self, options: Options) -> list[Planned]:
        """Thirteen lines on three graphs."""
        options = replace(options, budget=options.budget or FIXED)
        variants, backbones = options.among_methods(_VARIANTS), options.chosen_backbones(("gcn",))
        wanted = options.chosen_datasets([name for name, _ in _GRAPHS])
        protocols = dict(_GRAPHS)
        cells = []
        for name in wanted:
            protocol = options.protocol or protocols.get(name, "paper")
            cells += plan_cells(options, [name], backbones, variants, protocol=protocol, published=True)
        return cells

    def make(self, results: Results, options: Options) -> Product:
        """A line for each graph and kind of labels."""
        return paired_product(self.name, self.title, self.plan(options), results, [_NOTE, PUBLISHED_NOTE])


TARGET = TableCalibratedAblation()
