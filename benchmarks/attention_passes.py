"""What one pass over the attention weights costs, beside a plain copy: is GAT bound by memory or by calls?

    POSTEL_DATA=folder python benchmarks/attention_passes.py [cora chameleon] [--heads 8] [--json]

Every line is one operation on a number per edge and head; an epoch of GAT has some thirty of them. Its CPU time is
that of the fastest of many turns, in which all operations take part one after another. "Traffic" is what it has to
read and write; "of a copy" is the rate at which it does so against a copy between two tensors of that size. The
last line is a product with a single number: what a call costs whatever it works on.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from _measure import table
from torch.nn.functional import leaky_relu

from postel.backbones.attention import NEGATIVE_SLOPE, attention_pattern
from postel.datasets import load_dataset
from postel.graph import prepare
from postel.graph.bernoulli import keep_mask

# Calls in a turn: asking for the time takes as long as a small call.
CALLS = 20


def passes(dataset: str, heads: int, turns: int) -> dict[str, tuple[float, float]]:
    """Microseconds and gigabytes a second of every operation."""
    graph = prepare(load_dataset(dataset, split=0))
    pattern = attention_pattern(graph, heads)
    edges, nodes = pattern.sources.numel(), pattern.num_nodes
    weights, other, one = torch.rand(heads, edges), torch.rand(heads, edges), torch.rand(1)
    by_node = torch.rand(heads, nodes)
    # An operation and how many bytes it has to read and write.
    number = 4 * heads * edges
    gathered = 2 * number + 4 * edges
    operations: dict[str, tuple[Callable[[], object], int]] = {
        "copy": (lambda: other.copy_(weights), 2 * number),
        "gather by source": (lambda: by_node.index_select(1, pattern.sources), gathered),
        "gather by target": (lambda: by_node.index_select(1, pattern.targets), gathered),
        "order by source": (lambda: weights.index_select(1, pattern.order_by_source), gathered),
        "leaky ReLU": (lambda: leaky_relu(weights, NEGATIVE_SLOPE), 2 * number),
        "exp": (lambda: torch.exp(weights, out=other), 2 * number),
        "product": (lambda: weights * other, 3 * number),
        "product in place": (lambda: other.mul_(weights), 3 * number),
        "dropout mask": (lambda: keep_mask(weights.shape, 0.5), number),
        "sum by target": (lambda: pattern.sum_by_target(weights), number),
        "sum by source": (lambda: pattern.sum_by_source(weights), number),
        "one number": (lambda: one.mul_(1.0), 8),
    }
    fastest = dict.fromkeys(operations, float("inf"))
    with torch.inference_mode():
        for _ in range(turns):
            for name, (operation, _) in operations.items():
                other.fill_(1.0)
                started = time.process_time()
                for _ in range(CALLS):
                    operation()
                fastest[name] = min(fastest[name], (time.process_time() - started) / CALLS)
    return {name: (fastest[name] * 1e6, size / fastest[name] / 1e9) for name, (_, size) in operations.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=["cora"])
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {name: passes(name, options.heads, options.turns) for name in options.datasets}
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, rows in found.items():
        cells = [
            [operation, f"{spent:.1f}", f"{rate:.1f}", f"{rate / rows['copy'][1]:.2f}"]
            for operation, (spent, rate) in rows.items()
        ]
        print(table([name, "us", "traffic GB/s", "of a copy"], cells))


if __name__ == "__main__":
    main()
