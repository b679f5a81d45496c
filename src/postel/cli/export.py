"""``postel export``: a store as files for spreadsheets, data frames and repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postel.cli import options
from postel.cli.console import out as screen
from postel.cli.console import print_json
from postel.errors import InputError


def export(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="A folder for everything, or a .csv or .parquet file for the runs alone."
        ),
    ],
    store: options.Results = Path("postel.sqlite"),
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Write the contents of a store as files for spreadsheets, data frames and repositories.

    A file has one line per run. A folder also has what postel reproduce --render-only and postel report need to
    make every table, figure and page again, small enough to be committed: pass it to them as --store. It can be
    turned back into a .sqlite file, a store in which a study can be continued.

    Example: postel export results/rows --store postel.sqlite
    """
    from postel.experiments.store.folder import archive_files, open_results, read_archive, write_archive
    from postel.outputs import Target, writing

    if not store.exists():
        raise InputError(f"there is no store {store}; name one with --store")
    if out.suffix == ".sqlite":
        if not store.is_dir():
            raise InputError(f"{store} is a store already; copy the file")
        # A store that exists may have grown since, so it is not replaced even with --overwrite.
        with writing(Target(out, "store")) as work:
            runs = len(read_archive(store, work / out.name))
        files = [out]
    elif out.suffix:
        kind = "Parquet" if out.suffix.lower() == ".parquet" else "text"
        with writing(Target(out, kind), overwrite=overwrite, inputs=[store]) as work:
            runs = open_results(store).export(work / out.name)
        files = [out]
    else:
        files = archive_files(out)
        targets = [Target(path, "JSON" if path.suffix == ".json" else "Parquet") for path in files]
        read = archive_files(store) if store.is_dir() else [store]
        with writing(targets, overwrite=overwrite, inputs=read) as work:
            results = open_results(store)
            write_archive(results, work)
            runs = len(results)
    size = sum(path.stat().st_size for path in files)
    if as_json:
        print_json({"runs": runs, "files": [str(path) for path in files], "bytes": size})
    else:
        screen.print(f"{runs:,} runs are in {out} ({size / 1e6:.1f} MB)", soft_wrap=True)
