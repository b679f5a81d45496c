"""``postel convert``: tables of edges and nodes to a graph file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postel.cli.console import notes, out, print_json
from postel.cli.options import SEPARATOR_HELP, Json, Overwrite
from postel.errors import InputError

if TYPE_CHECKING:
    from postel.datasets.storage import StoredGraph

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="EDGES NODES GRAPH_FILE",
        help="Edge list with a source and a target column, node table with a node, a label and feature columns "
        "(.csv, .tsv, .txt or .parquet), and the graph file to write (.npz). An .npz file of the "
        "heterophilous-graphs collection takes the place of both tables.",
    ),
]
Source = Annotated[str, typer.Option(help="Column of the edge list where a link starts.")]
Target = Annotated[str, typer.Option(help="Column of the edge list where a link ends.")]
Node = Annotated[str, typer.Option(help="Column of the node table with the node's id.")]
Label = Annotated[str, typer.Option(help="Column of the node table with the class; empty if unknown.")]
Split = Annotated[
    str,
    typer.Option(
        help="Column of the node table, if any, that says train, val, test or nothing; several splits go in "
        "split0, split1 and so on."
    ),
]
EdgeWeight = Annotated[
    str | None,
    typer.Option(
        help="Column of the edge list with the link's weight, if any; methods use it with "
        "edge_weight=true, as in -m postel:edge_weight=true.",
    ),
]
SplitTable = Annotated[
    Path | None,
    typer.Option(
        help="Separate table of splits: node and such columns, or node, split (its number) and part.",
    ),
]
Separator = Annotated[str | None, typer.Option(help=SEPARATOR_HELP)]
Undirected = Annotated[
    bool | None,
    typer.Option(
        "--undirected/--directed",
        help="Make links go both ways, with repeated links merged and their weights added up, or keep them as "
        "listed (the default, as in postel smooth). Links of a collection's graph go both ways by default.",
    ),
]


def convert(
    files: Files,
    source: Source = "source",
    target: Target = "target",
    node: Node = "node",
    label: Label = "label",
    split: Split = "split",
    edge_weight: EdgeWeight = None,
    split_table: SplitTable = None,
    separator: Separator = None,
    undirected: Undirected = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make a graph file from an edge list and a node table; its path can be used wherever a dataset's name can.

    Example: postel convert links.csv pages.csv web.npz --label topic --undirected
    Example: postel convert roman_empire.npz roman-empire.npz
    """
    from postel.datasets.storage.conversion import convert as convert_tables
    from postel.datasets.storage.conversion import convert_collection

    graph_file = files[-1]
    if len(files) == 2 and files[0].suffix == ".npz":
        graph = convert_collection(files[0], graph_file, directed=undirected is False, overwrite=overwrite)
    elif len(files) == 3:
        graph = convert_tables(
            files[0],
            files[1],
            graph_file,
            source=source,
            target=target,
            node=node,
            label=label,
            split=split,
            edge_weight=edge_weight,
            split_table=split_table,
            separator=separator,
            directed=not undirected,
            overwrite=overwrite,
        )
    else:
        raise InputError(
            "give an edge list, a node table and the graph file to write, or an .npz of the heterophilous-graphs "
            f"collection and the graph file; got {len(files)} file{'s' * (len(files) != 1)}"
        )
    classes = list(graph.class_names) or [str(k) for k in range(graph.num_classes)]
    splits = {name: int(masks.shape[1]) for name, masks in sorted(graph.splits.items())}
    entries = int(graph.edge_index.shape[1])
    summary = {
        "path": str(graph_file),
        "nodes": graph.num_nodes,
        "edge_entries": entries,
        "edge_weights": graph.edge_weight is not None,
        "features": graph.num_features,
        "classes": classes,
        "unlabelled_nodes": int((graph.y < 0).sum()),
        "splits": splits,
        "fingerprint": graph.fingerprint(),
    }
    if json:
        print_json(summary)
        return
    one_way = _one_way_entries(graph)
    ways = f"{one_way:,} of them one way" if one_way else "both ways"
    count = sum(splits.values())
    out.print(
        f"{graph_file}: {graph.num_nodes:,} nodes, {entries:,} entries ({ways}), "
        f"{'' if graph.edge_weight is None else 'weights, '}{graph.num_features:,} features, "
        f"classes {', '.join(classes)}"
        + (f", {count} split{'s' * (count > 1)} (--protocol public)" if count else ""),
        soft_wrap=True,
    )
    if one_way and not undirected:
        notes.print(
            "note: a network and soft labels use a link in its own direction only; if links have no direction, "
            "convert again with --undirected",
            soft_wrap=True,
        )


def _one_way_entries(graph: StoredGraph) -> int:
    """Count the entries whose way back is not listed."""
    import numpy as np

    source, target = graph.edge_index
    there = np.unique(source * graph.num_nodes + target)
    return int((~np.isin(target * graph.num_nodes + source, there)).sum())
