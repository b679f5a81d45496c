"""The diagnosis as a picture: what neighbors look like around each class, and how classes are spread."""

from __future__ import annotations

import os
from typing import Any

from postel.datasets.diagnosis.result import Diagnosis
from postel.pictures import PALETTE, draw_heat_map, new_figure, save

_BLUE, _ORANGE, _GREEN = PALETTE[:3]
_MOST_NUMBERS = 20


def plot_diagnosis(diagnosis: Diagnosis, path: str | os.PathLike[str]) -> None:
    """Draw conditional, class shares, homophily and independence of a diagnosis.

    Args:
        diagnosis: The diagnosis.
        path: The file to write, .png or .svg.

    Raises:
        InputError: If the file has another ending or cannot be written.
    """
    figure = new_figure(11, 5.2)
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.1, 1))
    left, right = halves
    _heatmap(left.subplots(), diagnosis)
    shares, bars = right.subplots(2, 1)
    _shares(shares, diagnosis)
    _bars(bars, diagnosis)
    figure.suptitle(f"{diagnosis.name}: {diagnosis.structure.nodes:,} nodes, {diagnosis.structure.pairs:,} links")
    save(figure, path)


def _heatmap(axes: Any, diagnosis: Diagnosis) -> None:
    matrix = (diagnosis.training or diagnosis.all_labels).conditional
    labels = "training labels" if diagnosis.training else "all labels"
    names = diagnosis.class_names
    size = 0 if len(matrix) > _MOST_NUMBERS else 9 if len(matrix) <= 10 else 6
    image = draw_heat_map(axes, matrix, size=size)
    turned = 45 if max(map(len, names)) > 3 else 0
    axes.set_xticks(range(len(names)), names, rotation=turned)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("class of the neighbor")
    axes.set_ylabel("class of the node")
    axes.set_title(f"P(neighbor's class | node's class), {labels}")
    axes.figure.colorbar(image, ax=axes, shrink=0.8)


def _shares(axes: Any, diagnosis: Diagnosis) -> None:
    places = range(len(diagnosis.class_names))
    total = sum(diagnosis.all_labels.class_counts)
    series = [("all nodes", [count / total for count in diagnosis.all_labels.class_counts], _GREEN)]
    if diagnosis.training is not None:
        series.append(("training (prior)", diagnosis.training.prior, _BLUE))
    if diagnosis.evaluation is not None:
        series.append(("test", diagnosis.evaluation.test_shares, _ORANGE))
    width = 0.8 / len(series)
    for number, (label, values, color) in enumerate(series):
        axes.bar([place + width * number for place in places], values, width, label=label, color=color)
    axes.set_xticks([place + width * (len(series) - 1) / 2 for place in places], diagnosis.class_names)
    axes.set_title("share of each class")
    axes.legend(frameon=False)


def _bars(axes: Any, diagnosis: Diagnosis) -> None:
    measured = diagnosis.all_labels
    places = range(len(diagnosis.class_names))
    axes.bar(
        [place - 0.2 for place in places],
        measured.class_homophily,
        0.4,
        label="share with the same class (homophily)",
        color=_BLUE,
    )
    axes.bar(
        [place + 0.2 for place in places],
        measured.independence_gap,
        0.4,
        label="joint of two against product (total variation)",
        color=_ORANGE,
        hatch="//",
    )
    axes.set_xticks(places, diagnosis.class_names)
    axes.set_xlabel("class of the node")
    axes.set_ylim(0, 1.15)  # room for the legend
    axes.set_title("neighbors of each class, all labels")
    axes.legend(frameon=False, loc="upper left", fontsize="small")
