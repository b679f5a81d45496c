"""The paper's own figures, as CSV files beside this one, and what must be said of some of them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

from postel.paper.names import BACKBONES, DATASETS, backbone_label, dataset_label

_MAIN_METHODS = {
    "GT(BernNet)": "one_hot",
    "LS": "uniform",
    "KD": "distillation",
    "SALS": "sals",
    "ALS": "als",
    "PosteL": "postel",
}
_PAPER_SPLITS = 10


@dataclass(frozen=True)
class Published:
    """A figure of the paper.

    Args:
        value: The figure.
        side: What the paper gives after the ± sign; None where it gives nothing.
    """

    value: float
    side: float | None = None

    def __str__(self) -> str:
        return f"{self.value:.2f}" + ("" if self.side is None else f" ±{self.side:.2f}")

    def is_majority(self, majority: float, splits: int) -> bool:
        """Return whether it is, to its two decimals, the accuracy of always predicting the majority class.

        Args:
            majority: That accuracy on our splits, in percent.
            splits: How many splits those are; only all of the paper's can tell.

        Example:
            >>> Published(80.33).is_majority(80.3279, 10), Published(80.33).is_majority(80.3279, 3)
            (True, False)
        """
        return splits == _PAPER_SPLITS and abs(self.value - majority) < 0.006


@cache
def published(table: str) -> dict[tuple[str, str], Published]:
    """Return the figures of one of the paper's tables by row and dataset.

    Rows are called as variants of methods are (``postel-without-ipl``), or as backbones in ``iterations``.

    Args:
        table: The name of its CSV file.

    Example:
        >>> published("limited_labels")["postel", "cora"]
        Published(value=82.33, side=1.28)
    """
    return {
        (line["row"], line["dataset"]): Published(
            float(line["value"]), float(line["ci95"]) if line["ci95"] else None
        )
        for line in _lines(table)
    }


@cache
def published_main() -> dict[tuple[str, str, str], Published]:
    """Return the figures of the paper's main table by backbone, method and dataset.

    Example:
        >>> published_main()["gcn", "postel", "cornell"]
        Published(value=80.33, side=1.8)
    """
    backbones = {backbone_label(name): name for name in BACKBONES}
    return {
        (backbones[line["backbone"]], _MAIN_METHODS[line["method"]], name): Published(
            float(line[f"{dataset_label(name)}_acc"]), float(line[f"{dataset_label(name)}_ci95"])
        )
        for line in _lines("main")
        for name in DATASETS
    }


def remark(backbone: str, method: str, dataset: str) -> str:
    """Return what a reader of a figure of the main table must know; mostly nothing.

    Args:
        backbone: The figure's network.
        method: Its method.
        dataset: Its dataset.

    Example:
        >>> remark("gcn", "postel", "cora")
        ''
    """
    if (backbone, method) == ("mlp", "sals") and dataset in ("photo", "cornell"):
        return "The paper prints 89.11 ± 0.52 for MLP with SALS on both Photo and Cornell: probably a slip."
    return ""


def _lines(table: str) -> list[dict[str, str]]:
    text = resources.files(__name__).joinpath(f"{table}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))
