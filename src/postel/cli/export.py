"""``postel export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postel.cli import options


def export(
    out: Annotated[
        Path,
        typer.Argument(help="A file that ends in .csv or .parquet for the runs alone, or a folder for all of it."),
    ],
    store: Annotated[Path, typer.Option("--store", help="SQLite file that keeps the rows.")] = Path(
        "postel.sqlite"
    ),
    as_json: options.Json = False,
) -> None:
    """Write what a store holds as files for spreadsheets, data frames and repositories.

    A file has one line a run. A folder has besides what postel reproduce --render-only and postel report need to
    make every table, figure and page again, small enough to be committed: pass it to them as --store.

    Example: postel export results/rows --store postel.sqlite
    """
    from postel.cli.console import out as screen
    from postel.cli.console import print_json
    from postel.errors import InputError
    from postel.experiments.archive import write_archive
    from postel.experiments.store import Store

    if not store.is_file():
        raise InputError(f"there is no store {store}; name one with --store")
    kept = Store(store)
    if out.suffix:
        kept.export(out)
        files = [out]
    else:
        files = write_archive(kept, out)
    size = sum(path.stat().st_size for path in files)
    if as_json:
        print_json({"runs": len(kept), "files": [str(path) for path in files], "bytes": size})
    else:
        screen.print(f"{len(kept):,} runs are in {out} ({size / 1e6:.1f} MB)", soft_wrap=True)
