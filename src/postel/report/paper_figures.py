"""Which of the paper's figures a cell can be held against, and what must be said of some of them."""

from __future__ import annotations

from postel.paper.published import Carried, carried_main
from postel.report.cells import StudyCell

_PAPER_SPLITS = 10


def paper_figure(cell: StudyCell) -> Carried | None:
    """The main table's figure for ``cell``: same splits, same graph, the plain method; else None."""
    if (cell.protocol, cell.recipe) != ("paper", "paper") or cell.variant:
        return None
    return figure_at(cell.backbone, cell.method.name, cell.dataset)


def figure_at(backbone: str, method: str, dataset: str) -> Carried | None:
    """The main table's figure at a place, by our names.

    >>> figure_at("gcn", "postel", "cornell")
    Carried(value=80.33, side=1.8)
    >>> figure_at("gcn", "postel", "karate")
    """
    return carried_main().get((backbone, method, dataset))


def is_majority(figure: Carried | None, majority: float, splits: int) -> bool:
    """Whether a figure is, to its two decimals, the accuracy of always predicting the majority class.

    ``majority`` is that accuracy on ``splits`` of our runs; only all of the paper's splits can tell.

    >>> is_majority(Carried(80.33, 1.8), 80.3279, 10), is_majority(Carried(80.33, 1.8), 80.3279, 3)
    (True, False)
    """
    return figure is not None and splits == _PAPER_SPLITS and abs(figure.value - majority) < 0.006


def remark(backbone: str, method: str, dataset: str) -> str:
    """What a reader of the paper's figure at a place must know; mostly nothing.

    >>> remark("gcn", "postel", "cora")
    ''
    """
    if (backbone, method) == ("mlp", "sals") and dataset in ("photo", "cornell"):
        return "The paper prints 89.11 ± 0.52 for MLP with SALS on both Photo and Cornell: probably a slip."
    return ""
