"""Soft-label methods on your own graph: an edge list and a node table in, paired differences over splits out.

Run: python examples/compare_on_your_graph.py [EDGES NODES], two CSV or Parquet files with the columns source and
target, and node, label and features; without them two small tables are written to a temporary folder first. An
empty label is a node without one. `postel compare` prints the same comparison as a table.
"""

import csv
import sys
import tempfile
from pathlib import Path

from postel.datasets import convert, csbm
from postel.experiments.comparison import comparison_specs
from postel.experiments.results import cells_of_rows
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec

METHODS = ("one_hot", "ls:epsilon=0.3", "sals", "postel")
SPLITS = 5


def write_tables(folder):
    """Paths of an edge list and a node table of pages that link to other topics more than to their own."""
    graph = csbm(300, [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]], mean_degree=6, num_features=16, seed=3)
    edges, nodes = folder / "links.csv", folder / "pages.csv"
    with edges.open("w", newline="") as stream:
        pairs = [(i, j) for i, j in graph.edge_index.T.tolist() if i < j]
        csv.writer(stream).writerows([("source", "target"), *((f"p{i}", f"p{j}") for i, j in pairs)])
    with nodes.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["node", "label", *(f"word{k}" for k in range(graph.num_features))])
        for i, (k, words) in enumerate(zip(graph.y, graph.x.toarray().tolist(), strict=True)):
            writer.writerow([f"p{i}", "" if i % 10 == 0 else ("news", "shop", "sport")[k], *words])
    return edges, nodes


with tempfile.TemporaryDirectory() as temporary:
    tables = sys.argv[1:3] if len(sys.argv) > 2 else write_tables(Path(temporary))
    path = Path(temporary) / "graph.npz"
    graph = convert(*tables, path, directed=False)  # links have no direction
    print(f"{graph.num_nodes} nodes, {int((graph.y < 0).sum())} without label, classes {graph.class_names}")
    methods = [MethodSpec.parse(text) for text in METHODS]
    specs = comparison_specs(str(path), methods, range(SPLITS), protocol="stratified", lr=0.05, max_epochs=120)
    cells = cells_of_rows(run_all(specs, workers=1))

one_hot = cells[0].accuracy
print(f"majority class {cells[0].majority:.1f} %; test accuracy in % over {SPLITS} splits, 95 % intervals")
for cell in cells:
    span = cell.accuracy.interval
    text = f"{cell.chosen.method.label:27} {span.mean:5.1f} [{span.low:.1f}, {span.high:.1f}]"
    if cell.accuracy is not one_hot:
        gain = cell.accuracy.gain_over(one_hot)
        low, high = gain.interval.low, gain.interval.high
        text += f"  over one-hot {gain.mean:+.1f} [{low:+.1f}, {high:+.1f}], p = {gain.corrected:.3f}"
    print(text)
