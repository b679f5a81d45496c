"""One epoch on a graph too large for full-batch steps: time of every part and peak memory.

    python benchmarks/minibatch.py [--nodes 2400000] [--entries 120000000] [--backbone gcn] [--json]

The graph is synthetic with hubs; 8 % of the nodes are in training. An epoch is a pass over all training nodes in
sampled batches and a layer-wise evaluation of all nodes. Soft labels travel as a node attribute.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from _measure import peak_megabytes, table
from torch_geometric.data import Data

from postel.backbones import BACKBONES, make_backbone
from postel.graph import Features, LargeGraph, Neighbors
from postel.training import NeighborBatches, Settings, Watch, layerwise_logits, train_in_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK = 5_000_000


def synthetic_graph(nodes: int, entries: int, features: int, classes: int, seed: int = 0) -> Data:
    """A symmetric graph with hubs, dense features and classes; made chunk by chunk to keep the peak low."""
    rng = np.random.default_rng(seed)
    pairs = entries // 2
    edge_index = torch.empty((2, 2 * pairs), dtype=torch.int64)
    for low in range(0, pairs, CHUNK):
        high = min(low + CHUNK, pairs)
        # The cube of a uniform number makes low node numbers hubs.
        hub = (rng.random(high - low) ** 3 * nodes).astype(np.int64)
        other = rng.integers(0, nodes, high - low)
        edge_index[0, low:high], edge_index[1, low:high] = torch.from_numpy(hub), torch.from_numpy(other)
    edge_index[0, pairs:], edge_index[1, pairs:] = edge_index[1, :pairs], edge_index[0, :pairs]
    x = torch.from_numpy(rng.standard_normal((nodes, features), dtype=np.float32))
    y = torch.from_numpy(rng.integers(0, classes, nodes))
    return Data(x=x, edge_index=edge_index, y=y)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2_400_000)
    parser.add_argument("--entries", type=int, default=120_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--classes", type=int, default=47)
    parser.add_argument("--train-share", type=float, default=0.08)
    parser.add_argument("--backbone", choices=BACKBONES, default="gcn")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--num_neighbors", type=int, nargs="+", default=[15, 10])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, float | str]] = []

    @contextmanager
    def part(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        rows.append({"part": name, "seconds": time.perf_counter() - started, "peak_mb": peak_megabytes()})

    with part("make the graph"):
        data = synthetic_graph(options.nodes, options.entries, options.features, options.classes)
        order = torch.randperm(options.nodes, generator=torch.Generator().manual_seed(0))
        train = order[: int(options.train_share * options.nodes)].sort().values
        val = order[-options.nodes // 50 :].sort().values
        data.soft_y = torch.zeros(options.nodes, options.classes)
        data.soft_y[train] = 0.1 / options.classes
        data.soft_y[train, data.y[train]] += 0.9
    with part("group the edges"):
        neighbors = Neighbors.from_edge_index(data.edge_index, options.nodes)
        del data.edge_index
    whole = LargeGraph(Features(data.x), neighbors)
    watch = Watch({"val": (val, data.y[val])}, options.nodes)
    batches = NeighborBatches(
        data, train, num_neighbors=options.num_neighbors, batch_size=options.batch_size, neighbors=neighbors
    )
    settings = Settings(max_epochs=1)
    with part(f"one epoch: {len(batches)} batches and evaluation"):
        outcome = train_in_batches(
            lambda: make_backbone(options.backbone, options.features, options.classes),
            batches,
            whole,
            watch,
            settings,
        )
    with part("of which layer-wise evaluation"):
        layerwise_logits(outcome.backbone, whole)
    if options.json:
        print(json.dumps({**vars(options), "parts": rows}, indent=2))
        return
    cells = [[str(row["part"]), f"{row['seconds']:.1f}", f"{row['peak_mb']:.0f}"] for row in rows]
    print(f"{options.backbone}: {options.nodes} nodes, {options.entries} entries, {options.features} features")
    print(table(["part", "seconds", "peak MB so far"], cells))


if __name__ == "__main__":
    main()
