"""``postel convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postel.cli.console import out, print_json
from postel.cli.options import Json, Overwrite

Edges = Annotated[Path, typer.Argument(help="Edge list, CSV or Parquet: a source and a target column.")]
Nodes = Annotated[Path, typer.Argument(help="Node table, CSV or Parquet: a node, a label and feature columns.")]
GraphFile = Annotated[Path, typer.Argument(help="Graph file to write (.npz).")]
Source = Annotated[str, typer.Option(help="Column of the edge list where a link starts.")]
Target = Annotated[str, typer.Option(help="Column of the edge list where a link ends.")]
Node = Annotated[str, typer.Option(help="Column of the node table with the name of the node.")]
Label = Annotated[str, typer.Option(help="Column of the node table with the class; empty where it is not known.")]
Split = Annotated[
    str, typer.Option(help="Column of the node table that says train, val, test or nothing, if any.")
]
Directed = Annotated[bool, typer.Option("--directed", help="Keep links as they are; otherwise they go both ways.")]


def convert(
    edges: Edges,
    nodes: Nodes,
    graph_file: GraphFile,
    source: Source = "source",
    target: Target = "target",
    node: Node = "node",
    label: Label = "label",
    split: Split = "split",
    directed: Directed = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make a graph file from an edge list and a node table; its path can be used wherever a dataset's name can.

    Example: postel convert links.csv pages.csv web.npz --label topic
    """
    from postel.datasets.storage.conversion import convert as convert_tables

    graph = convert_tables(
        edges,
        nodes,
        graph_file,
        source=source,
        target=target,
        node=node,
        label=label,
        split=split,
        directed=directed,
        overwrite=overwrite,
    )
    summary = {
        "path": str(graph_file),
        "nodes": graph.num_nodes,
        "edge_entries": int(graph.edge_index.shape[1]),
        "features": graph.num_features,
        "classes": list(graph.class_names),
        "unlabelled_nodes": int((graph.y < 0).sum()),
        "splits": sorted(graph.splits),
        "fingerprint": graph.fingerprint(),
    }
    if json:
        print_json(summary)
        return
    ways = "as listed" if directed else "both ways"
    out.print(
        f"{graph_file}: {graph.num_nodes:,} nodes, {summary['edge_entries']:,} entries ({ways}), "
        f"{graph.num_features:,} features, classes {', '.join(graph.class_names)}",
        soft_wrap=True,
    )
