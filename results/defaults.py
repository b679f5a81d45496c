"""Says which form of PosteL, and which alpha and beta, validation nodes prefer with GCN, for its defaults.

Run: python results/defaults.py [--store results/rows-defaults] [--run cora,texas]. ``--run`` trains what the store
lacks of the named graphs first. Every pair of alpha and beta, and one-hot labels, have the same four network
settings and the same splits, as many as 1,000 validation nodes take and ten at most, without pseudo-labels. A pair
scores what its best network setting has on validation nodes, mean over splits, less the same of one-hot labels;
pairs are ranked by their mean over graphs. Test nodes are not looked at. It prints; it changes no default.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
from collections.abc import Iterable, Sequence
from statistics import fmean

from postel.instructions import use_common_instructions

use_common_instructions()  # before torch is used; rows were made with them

from postel.datasets import load_dataset  # noqa: E402
from postel.experiments.comparison import comparison_specs  # noqa: E402
from postel.experiments.results import Row  # noqa: E402
from postel.experiments.running.executor import run_all  # noqa: E402
from postel.experiments.spec import MethodSpec, RunSpec  # noqa: E402
from postel.experiments.store import Store  # noqa: E402
from postel.experiments.store.folder import open_results  # noqa: E402
from postel.experiments.store.reader import Reader  # noqa: E402
from postel.grouping import grouped  # noqa: E402
from postel.paper.names import dataset_label  # noqa: E402

#: The share of noise is beta / (1 + beta) in the text's form, 9 to 90 %, and beta itself in the released one.
BETAS = {"postel": (0.1, 0.4, 1.0, 1.5, 9.0), "postel_as_released": (0.1, 0.4, 0.6, 0.9)}
ALPHAS = (0.2, 0.5, 0.8)
ONE_HOT = MethodSpec(name="one_hot")
METHODS = (
    ONE_HOT,
    *(
        MethodSpec(name=form, params={"alpha": alpha, "beta": beta})
        for form, betas in BETAS.items()
        for alpha in ALPHAS
        for beta in betas
    ),
)
NETWORKS = tuple({"lr": lr, "weight_decay": decay} for lr, decay in itertools.product((0.01, 0.05), (0.0, 0.0005)))
#: Validation accuracy of each method, by graph.
Scores = dict[str, dict[str, float]]
#: Validation nodes that the splits of a graph have together at least, if ten splits have them.
NODES = 1000


def specs_of(dataset: str, splits: Sequence[int]) -> list[RunSpec]:
    """Return every run of a graph.

    Args:
        dataset: The graph's name.
        splits: Its splits.
    """
    return [
        spec
        for network in NETWORKS
        for spec in comparison_specs(dataset, METHODS, splits, pseudo_labels=False, **network)
    ]


def splits_of(dataset: str) -> range:
    """Return the splits of a graph, so many that they have enough validation nodes.

    Args:
        dataset: The graph's name.
    """
    nodes = int(load_dataset(dataset, split=0).val_mask.sum())
    return range(min(10, math.ceil(NODES / nodes)))


def scores_of(rows: Iterable[Row]) -> Scores:
    """Return the validation accuracy in percent of each method at its best network setting, by graph.

    Only splits that all methods have with all network settings count; a graph without one is left out.

    Args:
        rows: Runs; others than those of :func:`specs_of` are passed over.
    """
    networks = [tuple(network.values()) for network in NETWORKS]
    methods = [method.label for method in METHODS]
    found: Scores = {}
    for graph, every in grouped(filter(_counts, rows), lambda row: row.spec.dataset).items():
        runs = {
            point: {row.split: 100 * row.result.val.accuracy for row in same}
            for point, same in grouped(every, lambda row: _point(row.spec)).items()
        }
        by_point = [runs.get(point, {}) for point in itertools.product(methods, networks)]
        shared = set.intersection(*map(set, by_point))
        if shared:
            found[graph] = {
                method: max(fmean(runs[method, network][split] for split in shared) for network in networks)
                for method in methods
            }
    return found


def _counts(row: Row) -> bool:
    spec = row.spec
    return (spec.backbone, spec.protocol, spec.pseudo_labels, spec.seed) == ("gcn", "paper", False, spec.split)


def _point(spec: RunSpec) -> tuple[str, tuple[float, ...]]:
    return spec.method.label, (spec.lr, spec.weight_decay)


def ranked(scores: Scores) -> list[tuple[float, float, str]]:
    """Return mean and lowest gain over one-hot labels in points, and method: best mean first.

    Args:
        scores: What :func:`scores_of` returned.
    """
    gains = {
        method: [score[method] - score[ONE_HOT.label] for score in scores.values()]
        for method in (method.label for method in METHODS if method != ONE_HOT)
    }
    return sorted(((fmean(gain), min(gain), method) for method, gain in gains.items()), reverse=True)


def main() -> None:
    """Print how every pair does on the graphs that the store has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="results/rows-defaults")
    parser.add_argument("--run", default="", metavar="GRAPHS", help="train what is missing of these graphs first")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    for graph in filter(None, asked.run.split(",")):
        splits = splits_of(graph)
        print(f"{dataset_label(graph)}: {len(splits)} splits", file=sys.stderr, flush=True)
        run_all(specs_of(graph, splits), workers=asked.workers, store=Store(asked.store))
    reader = Reader(open_results(asked.store))
    scores = scores_of(reader.rows(sorted(reader.store.keys())))
    if not scores:
        print("no graph has all of its runs: nothing to say on defaults")
        return
    print(f"validation nodes of {', '.join(map(dataset_label, scores))}: gain over one-hot labels, in points")
    for mean, lowest, method in ranked(scores):
        each = ", ".join(f"{score[method] - score[ONE_HOT.label]:+.1f}" for score in scores.values())
        print(f"  {method:37} mean {mean:+.2f}, lowest {lowest:+.2f} ({each})")


if __name__ == "__main__":
    main()
