"""The list of commands."""

from __future__ import annotations

import typer

import postel
from postel.cli.compare import compare
from postel.cli.convert import convert
from postel.cli.datasets import datasets
from postel.cli.demo import demo
from postel.cli.diagnose import diagnose
from postel.cli.doctor import doctor
from postel.cli.export import export
from postel.cli.fetch import fetch
from postel.cli.predict import predict
from postel.cli.report import report
from postel.cli.reproduce import reproduce
from postel.cli.smooth import smooth
from postel.cli.train import train
from postel.cli.tune import tune
from postel.cli.words import Command

app = typer.Typer(
    help="Soft labels for node classification on graphs.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"postel {postel.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


for _command in (
    demo,
    datasets,
    fetch,
    convert,
    diagnose,
    smooth,
    train,
    predict,
    compare,
    tune,
    reproduce,
    report,
    export,
    doctor,
):
    app.command(cls=Command)(_command)
