"""The paper's own figures, carried as CSV files beside this one."""

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


@dataclass(frozen=True)
class Carried:
    """A figure of the paper, with what it gives after the ± sign where it gives something."""

    value: float
    side: float | None = None


@cache
def carried(table: str) -> dict[tuple[str, str], Carried]:
    """The figures of one of the paper's tables by row and dataset.

    Rows are called as variants of methods are (``postel-without-ipl``), or as backbones in ``iterations``.

    >>> carried("limited_labels")["postel", "cora"]
    Carried(value=82.33, side=1.28)
    """
    return {
        (line["row"], line["dataset"]): Carried(
            float(line["value"]), float(line["ci95"]) if line["ci95"] else None
        )
        for line in _lines(table)
    }


@cache
def carried_main() -> dict[tuple[str, str, str], Carried]:
    """The figures of the paper's main table by backbone, method and dataset.

    >>> carried_main()["gcn", "postel", "cornell"]
    Carried(value=80.33, side=1.8)
    """
    backbones = {backbone_label(name): name for name in BACKBONES}
    return {
        (backbones[line["backbone"]], _MAIN_METHODS[line["method"]], name): Carried(
            float(line[f"{dataset_label(name)}_acc"]), float(line[f"{dataset_label(name)}_ci95"])
        )
        for line in _lines("main")
        for name in DATASETS
    }


def _lines(table: str) -> list[dict[str, str]]:
    text = resources.files(__name__).joinpath(f"{table}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))
