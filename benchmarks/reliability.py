"""How often the posterior is right where it is so sure: the plain one against the calibrated one.

    python benchmarks/reliability.py docs/images/reliability.png

Chameleon and Cora under the paper's protocol, all ten splits together, training labels alone. Each training node's
own label is left out of its posterior in both, so that the truth is news to it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import torch
from torch import Tensor

from postel import CalibratedPosteL, load_dataset
from postel.pictures import method_color, new_figure, save
from postel.smoothers.graph_labels import known_labels
from postel.training.metrics import calibration_error

SPLITS = 10
BINS = 10
GRAPHS = (
    *(
        (name, "paper")
        for name in ("cora", "citeseer", "pubmed", "photo", "chameleon", "squirrel", "actor", "texas")
    ),
    ("chameleon-filtered", "stratified"),
    ("cornell-corrected", "stratified"),
    ("cora", "limited"),
    ("csbm-heterophilic", "paper"),
)
#: The label and the method of each kind of calibration; a method has one color in every picture.
KINDS = {"none": ("plain posterior", "postel"), "exponents": ("calibrated", "calibrated")}


def sure_and_right(dataset: str, kind: str) -> tuple[Tensor, Tensor]:
    """Confidence and success of the posterior's best class at every training node of every split."""
    confidence, hits = [], []
    for split in range(SPLITS):
        data = load_dataset(dataset, split=split)
        known = known_labels(data)
        smoother = CalibratedPosteL(1.0, calibration=kind)  # type: ignore[arg-type]
        rows = smoother.train_targets(data.edge_index, known).rows
        top, best = rows.max(dim=1)
        confidence.append(top)
        hits.append(best == known.classes)
    return torch.cat(confidence), torch.cat(hits)


def print_exponents(graphs: tuple[tuple[str, str], ...]) -> None:
    """Print what the exponents of some graphs and protocols are, on split 0."""
    for dataset, protocol in graphs:
        data = load_dataset(dataset, split=0, protocol=protocol)
        known = known_labels(data)
        line = f"{dataset:20}{protocol:12}"
        for kind in ("exponents", "none"):
            made = CalibratedPosteL(1.0, calibration=kind).train_targets(data.edge_index, known)
            own = made.rows[torch.arange(len(known.index)), known.classes]
            line += f"{made.statistics['exponents']!s:34}loss {-own.log().mean():.2f}  "
        print(line)


def main() -> None:
    """Draw the picture and print its figures, and the exponents of a dozen graphs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    figure = new_figure(8.0, 3.8)
    for at, dataset in enumerate(("chameleon", "cora")):
        axes = figure.add_subplot(1, 2, at + 1)
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="as sure as right")
        for kind, (label, method) in KINDS.items():
            confidence, hits = sure_and_right(dataset, kind)
            bins = (confidence * BINS).long().clamp(max=BINS - 1)
            number = torch.bincount(bins, minlength=BINS)
            there = number >= 50
            sure = (torch.bincount(bins, confidence, minlength=BINS) / number)[there]
            right = (torch.bincount(bins, hits.double(), minlength=BINS) / number)[there]
            error = calibration_error(confidence, hits)
            name = f"{label} (error {error:.0%})"
            axes.plot(sure, right, "o-", color=method_color(method), markersize=4, label=name)
            sure_of, right_for = confidence.mean(), hits.double().mean()
            print(f"{dataset:10} {label:16} sure {sure_of:.3f}, right {right_for:.3f}, error {error:.3f}")
        axes.set(
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
            title=dataset.capitalize(),
            xlabel="confidence of the posterior",
        )
        if at == 0:
            axes.set_ylabel("share of training nodes that are right")
        axes.legend(frameon=False, loc="upper left", fontsize=8)
    save(figure, options.out)
    print_exponents(GRAPHS)


if __name__ == "__main__":
    main()
