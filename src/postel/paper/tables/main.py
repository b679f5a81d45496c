"""The paper's main table: eight backbones on ten datasets, with its six kinds of labels and two that it lacks."""

from __future__ import annotations

from typing import ClassVar

from postel.paper.accuracy import AccuracyTable
from postel.paper.names import BACKBONES, DATASETS
from postel.paper.published import Published, published_main
from postel.paper.requests import CellRequest
from postel.paper.variants import EIGHT, Variant


class TableMain(AccuracyTable):
    """Accuracy of every method, backbone and dataset: 640 cells by default.

    480 of them are the paper's; the released form of PosteL and the calibrated posterior are beside them.
    """

    title = "Test accuracy of every method, backbone and dataset"
    datasets = DATASETS
    backbones = BACKBONES
    variants: ClassVar[tuple[Variant, ...]] = EIGHT
    any_method = True
    notes = (
        "The paper took its one-hot figures from He et al. (2021) and searched only for the other rows; here "
        "one-hot labels have the budget of the others.",
    )

    def paper(self, request: CellRequest) -> Published | None:
        """Return the paper's figure, which is of its own splits.

        Args:
            request: The question.
        """
        if request.question.protocol != "paper":
            return None
        return published_main().get((request.backbone, request.variant.slug, request.dataset))
