"""Says what one-hot labels gain if their models are told the class shares of validation nodes, and nothing else.

Run: python results/class_shares.py [--datasets texas,cora] [--protocol paper] [--store results/rows-study]. The
paper's splits train on the same number of nodes of every class, as far as there are enough, so that validation and
test nodes have other shares of the classes than training nodes. A model's probabilities can be weighted for that
after training: by the classes' shares of the validation nodes over those of the training nodes. Here that is done
to the models of one-hot labels at the searched setting, which are trained again to the digit; what soft labels
score stands beside it, from the rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from postel.instructions import use_common_instructions

use_common_instructions()  # before torch is used; rows were made with them

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from postel.experiments.intervals import bootstrap_interval  # noqa: E402
from postel.experiments.results import Row  # noqa: E402
from postel.experiments.running.execute import (  # noqa: E402
    alone_on_one_thread,
    classifier_of,
    load_data,
    trained,
)
from postel.experiments.store.folder import open_results  # noqa: E402
from postel.experiments.store.reader import Reader  # noqa: E402
from postel.paper.names import DATASETS, dataset_label  # noqa: E402
from postel.paper.requests import Options, request_cells  # noqa: E402
from postel.paper.variants import CALIBRATED, LS, ONE_HOT, POSTEL, POSTEL_AS_RELEASED  # noqa: E402

SOFT = (LS, POSTEL, POSTEL_AS_RELEASED, CALIBRATED)
HEADS = ("graph", "largest class, training", "test", "one-hot", "weighted", "gains", "95 %", "on validation nodes")


@dataclass(frozen=True)
class Weighted:
    """One split of one-hot labels, in percent.

    Args:
        largest: The shares among training and test nodes of the class that most test nodes have.
        plain: The accuracy on validation and test nodes.
        weighted: The same after weighting.
    """

    largest: tuple[float, float]
    plain: tuple[float, float]
    weighted: tuple[float, float]


def class_weights(known: Tensor, wanted: Tensor, num_classes: int) -> Tensor:
    """Return the shares of the classes among some labels over those among others, one added to every count.

    Args:
        known: Labels of the nodes that a model was trained on.
        wanted: Labels of nodes with the shares that it should expect.
        num_classes: How many classes there are.

    Example:
        >>> class_weights(torch.tensor([0, 1]), torch.tensor([0, 0, 0, 0]), 2)
        tensor([1.6667, 0.3333], dtype=torch.float64)
    """
    known_shares, shares = (
        (torch.bincount(labels, minlength=num_classes) + 1).double() / (len(labels) + num_classes)
        for labels in (known, wanted)
    )
    return shares / known_shares


def weigh(row: Row) -> Weighted:
    """Train a run again and weigh its probabilities.

    Args:
        row: A run with one-hot labels.

    Raises:
        RuntimeError: If it does not come out again.
    """
    data = load_data(row.spec)
    with alone_on_one_thread():
        probabilities = trained(classifier_of(row.spec), data).logits_.double().softmax(dim=1)
    train, val, test = (data.y[mask] for mask in (data.train_mask, data.val_mask, data.test_mask))
    weighted = probabilities * class_weights(train, val, probabilities.shape[1])

    def accuracies(scores: Tensor) -> tuple[float, float]:
        right = scores.argmax(dim=1) == data.y
        return _percent(right[data.val_mask]), _percent(right[data.test_mask])

    plain = accuracies(probabilities)
    if row.result.test is None or abs(plain[1] - 100 * row.result.test.accuracy) > 1e-9:
        raise RuntimeError(f"{row.spec.dataset}, split {row.spec.split} does not come out again: {plain[1]}")
    common = test.mode().values
    return Weighted((_percent(train == common), _percent(test == common)), plain, accuracies(weighted))


def _percent(flags: Tensor) -> float:
    return 100 * flags.double().mean().item()


def line_of(dataset: str, protocol: str, reader: Reader) -> Sequence[str]:
    """Return the line of a graph, or nothing if GCN with one-hot labels was not searched on it.

    Args:
        dataset: The graph.
        protocol: How its nodes are split.
        reader: The reader of the study's rows.
    """
    plain, *soft = (
        request.answer(reader)
        for request in request_cells(Options(), [dataset], ["gcn"], [ONE_HOT, *SOFT], protocol=protocol)
    )
    if plain is None:
        return ()
    found = [weigh(row) for row in plain.rows]
    gain = bootstrap_interval([one.weighted[1] - one.plain[1] for one in found])
    numbers = (
        *(f"{fmean(shares):.1f}" for shares in zip(*(one.largest for one in found), strict=True)),
        *(f"{fmean(one):.2f}" for one in ([one.plain[1] for one in found], [one.weighted[1] for one in found])),
        f"{gain.mean:+z.2f}",
        f"[{gain.low:+z.2f}, {gain.high:+z.2f}]",
        f"{fmean(one.weighted[0] - one.plain[0] for one in found):+z.2f}",
    )
    others = ("not run" if cell is None else f"{cell.accuracy.interval.mean:.2f}" for cell in soft)
    return dataset_label(dataset), *numbers, *others


def main() -> None:
    """Print a table, one line per graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=lambda text: text.split(","), default=list(DATASETS))
    parser.add_argument("--protocol", default="paper")
    parser.add_argument("--store", default="results/rows-study")
    arguments = parser.parse_args()
    reader = Reader(open_results(arguments.store))
    heads = (*HEADS, *(variant.label for variant in SOFT))
    print("|", " | ".join(heads), "|")
    print("|---" * len(heads), "|", sep="")
    for dataset in arguments.datasets:
        if line := line_of(dataset, arguments.protocol, reader):
            print("|", " | ".join(line), "|", flush=True)


if __name__ == "__main__":
    main()
