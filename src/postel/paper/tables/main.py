"""The paper's main table: eight backbones on ten datasets, with its six kinds of labels and two that it lacks."""

from __future__ import annotations

from typing import ClassVar

from postel.paper.accuracy import AccuracyTable
from postel.paper.names import BACKBONES, DATASETS
from postel.paper.published import Published, published_main
from postel.paper.questions import Asked
from postel.paper.variants import EIGHT, Variant


class TableMain(AccuracyTable):
    """Accuracy of every method, backbone and dataset: 640 cells by default.

    480 of them are the paper's; the released form of PosteL and the calibrated posterior are beside them.
    """

    name = "table-main"
    title = "Test accuracy of every method, backbone and dataset"
    datasets = DATASETS
    backbones = BACKBONES
    variants: ClassVar[tuple[Variant, ...]] = EIGHT
    any_method = True
    notes = (
        "The paper took its one-hot figures from He et al. (2021) and searched only for the other rows; here "
        "one-hot labels have the budget of the others.",
    )

    def paper(self, asked: Asked) -> Published | None:
        """Return the paper's figure, which is of its own splits.

        Args:
            asked: The question.
        """
        return paper_figure(asked)


def paper_figure(asked: Asked) -> Published | None:
    """Return what the paper's main table has for a question; None for other splits than its own.

    Args:
        asked: The question.
    """
    if asked.question.protocol != "paper":
        return None
    return published_main().get((asked.backbone, asked.variant.slug, asked.dataset))


TARGET = TableMain
