"""Says which form of PosteL, and which alpha and beta, the validation nodes of GCN's row prefer over all graphs.

Run: python results/defaults.py [--store results/rows-study]. On every graph where PosteL was searched, each pair
of alpha and beta has the validation accuracy of its best network setting on the first split, before pseudo-labels,
where the search has seen most pairs. A pair's regret is how far it is below the best pair of that graph; pairs are
ranked by their mean regret over graphs. A search goes where it finds most, so some pairs were tried with few
network settings and look worse than they are: the number stands beside each. Test nodes are not looked at. It
prints; it changes no default.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from postel.experiments.results import Row
from postel.experiments.store.folder import open_results
from postel.experiments.store.reader import Reader
from postel.paper.names import dataset_label

FORMS = {"postel": "the text's form", "postel_as_released": "the released form"}
Pair = tuple[float, float]
Found = dict[tuple[str, str], dict[Pair, list[float]]]


def accuracies_of_pairs(rows: Iterable[Row]) -> Found:
    """Return the validation accuracies in percent of each pair of alpha and beta, by form and graph.

    Args:
        rows: Runs; those of GCN on the paper's first split without pseudo-labels and without other switches count.
    """
    found: Found = {}
    for row in rows:
        spec = row.spec
        place = (spec.backbone, spec.protocol, spec.split, spec.pseudo_labels)
        if spec.method.name not in FORMS or place != ("gcn", "paper", 0, False):
            continue
        method = spec.method.make()
        if set(spec.method.params) - {"alpha", "beta"}:
            continue
        pairs = found.setdefault((spec.method.name, spec.dataset), {})
        pair = (float(method.params()["alpha"]), float(method.params()["beta"]))
        pairs.setdefault(pair, []).append(100 * row.result.val.accuracy)
    return found


def ranked(found: Found, form: str) -> list[tuple[float, int, int, Pair]]:
    """Return mean regret in points, numbers of graphs and of runs, and pair: what most graphs tried, best first.

    Args:
        found: What :func:`accuracies_of_pairs` returned.
        form: The form of PosteL.
    """
    regrets: dict[Pair, list[float]] = {}
    runs: dict[Pair, int] = {}
    for pairs in (pairs for (name, _), pairs in found.items() if name == form):
        top = max(map(max, pairs.values()))
        for pair, accuracies in pairs.items():
            regrets.setdefault(pair, []).append(top - max(accuracies))
            runs[pair] = runs.get(pair, 0) + len(accuracies)
    most = max(map(len, regrets.values()), default=0)
    return sorted(
        (sum(lost) / most, most, runs[pair], pair) for pair, lost in regrets.items() if len(lost) == most
    )


def main() -> None:
    """Print the pairs of each form that validation nodes prefer, and which form they prefer on each graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="results/rows-study")
    reader = Reader(open_results(parser.parse_args().store))
    found = accuracies_of_pairs(reader.rows(sorted(reader.store.keys())))
    if not found:
        print("no search of PosteL with GCN is there: nothing to say on defaults")
        return
    for form, words in FORMS.items():
        print(f"\n{words}: mean regret on validation nodes, in points")
        for regret, graphs, runs, (alpha, beta) in ranked(found, form)[:10]:
            print(
                f"  alpha {alpha:.1f}, beta {beta:.1f}: {regret:.2f} over {graphs} graphs, {runs} network settings"
            )
    print("\nbest pair of each form on each graph, validation accuracy in percent")
    for graph in dict.fromkeys(graph for _, graph in found):
        best = {form: max(map(max, found[form, graph].values())) for form in FORMS if (form, graph) in found}
        print(
            f"  {dataset_label(graph)}: " + ", ".join(f"{FORMS[form]} {value:.2f}" for form, value in best.items())
        )


if __name__ == "__main__":
    main()
