"""The paper's loss curves on all ten datasets: PosteL, SALS and one-hot labels."""

from __future__ import annotations

from postel.paper.figures.loss import FigureLoss
from postel.paper.names import DATASETS
from postel.paper.variants import ONE_HOT, POSTEL, SALS


class FigureLossAll(FigureLoss):
    """Ten rows of three panels."""

    name = "figure-loss-all"
    title = "Loss curves of PosteL, SALS and one-hot labels on every dataset"
    datasets = DATASETS
    variants = (POSTEL, SALS, ONE_HOT)


TARGET = FigureLossAll
