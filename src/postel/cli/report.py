"""``postel report``: everything that a store holds as one HTML page."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postel.cli import options
from postel.cli.console import notes, print_json
from postel.cli.console import out as screen

if TYPE_CHECKING:
    from postel.report.page import Page


def report(
    store: options.Results = Path("postel.sqlite"),
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write, one .html file.")] = Path(
        "report.html"
    ),
    figures: Annotated[
        Path | None,
        typer.Option("--figures", help="Folder with .svg and .png figures to include."),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="The title of the page.")] = (
        "Soft labels: report of a study"
    ),
    overwrite: options.Overwrite = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: options.Json = False,
) -> None:
    """Write one HTML file with everything that is in a store, beside the paper's numbers.

    The file needs no network and no other file. Nothing is run, and the store is left as it is.

    Example: postel report --store postel.sqlite --figures paper --out report.html
    """
    from postel.experiments.store.folder import open_results
    from postel.experiments.store.reader import Reader, read_study
    from postel.files import write_text
    from postel.outputs import Target, writing
    from postel.report.page import Page, check_page_name
    from postel.report.pictures import gains_picture, pictures_in

    check_page_name(out)
    with (
        writing(Target(out, "HTML"), overwrite=overwrite, inputs=[store]) as work,
        notes.status("reading the store ..."),
    ):
        study, pictures = read_study(store), pictures_in(figures) if figures is not None else []
        opening = gains_picture(Reader(open_results(store)))
        # The page opens on it: it is not shown again among the others.
        pictures = [one for one in pictures if opening is None or not one.caption.endswith("figure-gains")]
        page = Page(study, title, (), pictures, " ".join(["postel", *sys.argv[1:]]), opening)
        write_text(work / out.name, page.html())
    if as_json:
        print_json({"out": str(out), **_counts(page)})
    else:
        counts = ", ".join(f"{number:,} {name}" for number, name in page.counts)
        screen.print(f"the report of {counts} is in {out} ({out.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)
        if study.failures:
            notes.print(f"{len(study.failures)} runs of the store failed; the report lists them")
    if show:
        webbrowser.open(out.resolve().as_uri())


def _counts(page: Page) -> dict[str, Any]:
    """How much of what the page holds, for machines."""
    return {
        "runs": len(page.study.rows),
        "cells": len(page.cells),
        "trials": page.study.trials,
        "failures": len(page.study.failures),
        "figures": len(page.pictures),
    }
