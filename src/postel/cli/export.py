"""``postel export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postel.cli import options


def export(
    out: Annotated[
        Path,
        typer.Argument(help="A folder for all of it, or a .csv or .parquet file for the runs alone."),
    ],
    store: options.Results = Path("postel.sqlite"),
    as_json: options.Json = False,
) -> None:
    """Write what a store holds as files for spreadsheets, data frames and repositories.

    A file has one line a run. A folder has besides what postel reproduce --render-only and postel report need to
    make every table, figure and page again, small enough to be committed: pass it to them as --store. From such a
    folder a .sqlite file is made, too: a store in which a study goes on.

    Example: postel export results/rows --store postel.sqlite
    """
    from postel.cli.console import out as screen
    from postel.cli.console import print_json
    from postel.errors import InputError
    from postel.experiments.archive import open_results, read_archive, write_archive

    if not store.exists():
        raise InputError(f"there is no store {store}; name one with --store")
    if out.suffix == ".sqlite":
        if not store.is_dir():
            raise InputError(f"{store} is a store already; copy the file")
        kept = read_archive(store, out)
        files = [out]
    elif out.suffix:
        kept = open_results(store)
        kept.export(out)
        files = [out]
    else:
        kept = open_results(store)
        files = write_archive(kept, out)
    size = sum(path.stat().st_size for path in files)
    if as_json:
        print_json({"runs": len(kept), "files": [str(path) for path in files], "bytes": size})
    else:
        screen.print(f"{len(kept):,} runs are in {out} ({size / 1e6:.1f} MB)", soft_wrap=True)
