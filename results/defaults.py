"""Says which form of PosteL, and which alpha and beta, the validation nodes of GCN's row prefer over all graphs.

Run: python results/defaults.py [--store results/rows-study]. On every graph where PosteL was searched, each pair
of alpha and beta has the validation accuracy of its best network setting on the first split, before pseudo-labels,
where the search has seen most pairs. A pair's regret is how far it is below the best pair of that graph; pairs are
ranked by their mean regret over graphs. Test nodes are not looked at. It prints; it changes no default.
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


def best_of_pairs(rows: Iterable[Row]) -> dict[tuple[str, str], dict[Pair, float]]:
    """Return the best validation accuracy in percent of each pair of alpha and beta, by form and graph.

    Args:
        rows: Runs; those of GCN on the paper's first split without pseudo-labels and without other switches count.
    """
    found: dict[tuple[str, str], dict[Pair, float]] = {}
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
        pairs[pair] = max(pairs.get(pair, 0.0), 100 * row.result.val.accuracy)
    return found


def ranked(found: dict[tuple[str, str], dict[Pair, float]], form: str) -> list[tuple[float, int, Pair]]:
    """Return mean regret in points, number of graphs, and pair: those that most graphs tried first, best first.

    Args:
        found: What :func:`best_of_pairs` returned.
        form: The form of PosteL.
    """
    graphs = {graph: pairs for (name, graph), pairs in found.items() if name == form}
    regrets: dict[Pair, list[float]] = {}
    for pairs in graphs.values():
        top = max(pairs.values())
        for pair, accuracy in pairs.items():
            regrets.setdefault(pair, []).append(top - accuracy)
    most = max(map(len, regrets.values()), default=0)
    return sorted((sum(lost) / len(lost), len(lost), pair) for pair, lost in regrets.items() if len(lost) == most)


def main() -> None:
    """Print the pairs of each form that validation nodes prefer, and which form they prefer on each graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="results/rows-study")
    reader = Reader(open_results(parser.parse_args().store))
    found = best_of_pairs(reader.rows(sorted(reader.store.keys())))
    if not found:
        print("no search of PosteL with GCN is there: nothing to say on defaults")
        return
    for form, words in FORMS.items():
        print(f"\n{words}: mean regret on validation nodes, in points")
        for regret, graphs, (alpha, beta) in ranked(found, form)[:10]:
            print(f"  alpha {alpha:.1f}, beta {beta:.1f}: {regret:.2f} over {graphs} graphs")
    print("\nbest pair of each form on each graph, validation accuracy in percent")
    for graph in dict.fromkeys(graph for _, graph in found):
        best = {form: max(found[form, graph].values()) for form in FORMS if (form, graph) in found}
        print(
            f"  {dataset_label(graph)}: " + ", ".join(f"{FORMS[form]} {value:.2f}" for form, value in best.items())
        )


if __name__ == "__main__":
    main()
