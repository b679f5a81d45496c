"""What to do after a diagnosis: the methods to compare first, and a warning where soft labels may do harm."""

from __future__ import annotations

from dataclasses import dataclass

from postel.datasets.diagnosis.verdict import MOSTLY, NEARLY_EQUAL, TELLING

#: Training nodes per class below which class frequencies and neighbors are guessed from next to nothing.
FEW = 5


@dataclass(frozen=True)
class Advice:
    """What to try first on a graph.

    Args:
        methods: The methods to compare, as commands write them; one-hot labels are always among them.
        warning: What speaks against soft labels, or for caution, in a sentence; None where nothing does.
    """

    methods: list[str]
    warning: str | None


def advise(
    contrast: float,
    *,
    score: float | None = None,
    constant_score: float = 0.0,
    without_neighbor: float = 0.0,
    nodes_per_class: float | None = None,
) -> Advice:
    """Say what to compare first, and whether to beware of soft labels.

    Args:
        contrast: Mean distance between the rows of the conditional.
        score: How often the posterior's best class is right on training nodes with labelled neighbors; None
            without a split.
        constant_score: What the largest training class alone would score.
        without_neighbor: Share of training nodes without a labelled neighbor.
        nodes_per_class: Training nodes per class; None without a split.

    Returns:
        The advice.

    Example:
        >>> advise(0.03, score=0.2, constant_score=0.2, nodes_per_class=100).methods
        ['one_hot', 'uniform:epsilon=0.1', 'calibrated']
        >>> advise(0.5, score=0.9, constant_score=0.3, nodes_per_class=100).warning is None
        True
    """
    few = nodes_per_class is not None and nodes_per_class < FEW
    if few or without_neighbor > MOSTLY:
        reason = (
            f"there are {nodes_per_class:.1f} training nodes per class"
            if few and nodes_per_class is not None
            else f"{without_neighbor:.0%} of the training nodes have no labelled neighbor"
        )
        return Advice(
            ["one_hot", "calibrated", "postel:alpha=0.3,isolated=one-hot"],
            f"{reason}, so a posterior has little to count. The calibrated one allows for that: with a tenth of "
            "the labels it lost no accuracy on four graphs (postel reproduce table-calibrated). Keep PosteL only "
            "if a comparison speaks for it.",
        )
    weak = score is not None and score - constant_score < TELLING
    if contrast < NEARLY_EQUAL or weak:
        return Advice(
            ["one_hot", "uniform:epsilon=0.1", "calibrated"],
            "neighbors hardly tell classes apart here, so a posterior adds nothing that uniform smoothing lacks, "
            "and a large alpha only takes away from the label. Keep one-hot labels unless a comparison says "
            "otherwise.",
        )
    return Advice(["one_hot", "postel", "calibrated"], None)
