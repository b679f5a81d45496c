"""``postel report``."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postel.cli import options

if TYPE_CHECKING:
    from postel.report.page import Study


def report(
    store: options.Results = Path("postel.sqlite"),
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write, one .html file.")] = Path(
        "report.html"
    ),
    figures: Annotated[
        Path | None,
        typer.Option("--figures", help="Folder with .svg and .png figures to put into it.", show_default=False),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="What stands at the top.")] = (
        "Soft labels: report of a study"
    ),
    overwrite: options.Overwrite = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: options.Json = False,
) -> None:
    """Write one HTML file that shows all that a store holds, ours beside the paper's.

    The file needs no network and no other file. Nothing is run, and the store is left as it is.

    Example: postel report --store postel.sqlite --figures paper --out report.html
    """
    from postel.cli.console import notes, print_json
    from postel.cli.console import out as screen
    from postel.outputs import Target, writing
    from postel.report.page import check_page_name, write_study

    check_page_name(out)
    with (
        writing(Target(out, "HTML"), overwrite=overwrite, inputs=[store]) as work,
        notes.status("reading the store ..."),
    ):
        study = write_study(work / out.name, store, figures=figures, title=title, command=_command())
    if as_json:
        print_json({"out": str(out), **_told(study)})
    else:
        told = ", ".join(f"{number:,} {name}" for number, name in study.counts)
        screen.print(f"the report of {told} is in {out} ({out.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)
        if study.failures:
            notes.print(f"{len(study.failures)} runs of the store failed; the report lists them")
    if show:
        webbrowser.open(out.resolve().as_uri())


def _told(study: Study) -> dict[str, Any]:
    """How much of what the report holds, for machines."""
    return {
        "runs": len(study.rows),
        "cells": len(study.lines),
        "trials": study.trials,
        "failures": len(study.failures),
        "figures": len(study.figures),
    }


def _command() -> str:
    return " ".join(["postel", *sys.argv[1:]])
