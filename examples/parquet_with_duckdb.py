"""Soft labels of a Parquet graph past memory with DuckDB, then joined to a PyG ``Data`` by node id.

Run: python examples/parquet_with_duckdb.py [NODES]. The tables are written to a temporary folder; with tables of
your own, give their paths to smooth_tables. The edges are never in memory at once: only the memory limit is.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from postel import PosteL, load_dataset
from postel.datasets import csbm
from postel.scale import join_soft_labels, smooth_tables

NODES = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
ALPHA, BETA = 0.8, 0.4


def write_tables(data, folder):
    """An edge table of four files, each link once, and the labels of the training nodes only."""
    source, target = data.edge_index[:, data.edge_index[0] < data.edge_index[1]].numpy()
    (folder / "edges").mkdir()
    for part in range(4):
        columns = {"source": source[part::4], "target": target[part::4]}
        pq.write_table(pa.table(columns), folder / "edges" / f"part-{part}.parquet")
    index = data.train_mask.nonzero().view(-1)
    pq.write_table(pa.table({"node": index.numpy(), "label": data.y[index].numpy()}), folder / "train.parquet")


graph = csbm(NODES, mean_degree=10, degree_law="power-law", num_features=8, seed=0)
data = load_dataset(graph, protocol="stratified")
with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    write_tables(data, folder)
    made = smooth_tables(
        folder / "edges",
        folder / "train.parquet",
        folder / "soft.parquet",
        alpha=ALPHA,
        beta=BETA,
        undirected=True,
        engine="duckdb",
        memory_limit="500MB",
        threads=1,
    )
    print(f"{made.nodes} soft labels from {made.labelled} labelled nodes on {made.engine}")
    print(f"conditional, one row per class of the node:\n{made.conditional.round(2)}")
    data = join_soft_labels(data, folder / "soft.parquet")  # data.soft_y [N, K], ready for a loop or a loader

train = data.train_mask
print(f"rows sum to 1 within {(data.soft_y[train].sum(1) - 1).abs().max():.0e}")
in_memory = PosteL(ALPHA, BETA)(data).soft_y
print(f"largest difference from the transform in memory: {(data.soft_y - in_memory)[train].abs().max():.0e}")
torch.testing.assert_close(data.soft_y[train], in_memory[train])
