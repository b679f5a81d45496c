"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataRoot = Annotated[
    str | None,
    typer.Option(
        "--data-root", envvar="POSTEL_DATA", help="Folder of graph files to look in first.", show_default=False
    ),
]
Backbone = Annotated[
    str, typer.Option("--backbone", "-b", help="gcn, gat, appnp, mlp, chebnet, gprgnn, bernnet, ordered_gnn.")
]
BackboneArgs = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A hyper-parameter of the backbone, as in --set hidden=32; may be repeated.",
        show_default=False,
    ),
]
Protocol = Annotated[str, typer.Option("--protocol", help="paper, stratified, limited, geom-gcn or public.")]
Recipe = Annotated[str, typer.Option("--recipe", help="Graph as in the paper, or the sound one: paper, sound.")]
Lr = Annotated[float, typer.Option("--lr", help="Learning rate.")]
WeightDecay = Annotated[float, typer.Option("--weight-decay", help="Weight decay.")]
MaxEpochs = Annotated[int, typer.Option("--max-epochs", help="Epochs at most.")]
Stopping = Annotated[
    str,
    typer.Option("--stopping", help="Stop rule: window-mean (the field's code) or patience (the paper's text)."),
]
PseudoLabels = Annotated[
    str,
    typer.Option(
        "--pseudo-labels", help="yes (until the validation loss stops falling), no, or a number of rounds."
    ),
]
Splits = Annotated[int, typer.Option("--splits", help="How many splits, from split 0 on.", min=1)]
Workers = Annotated[int, typer.Option("--workers", "-w", help="Processes, of one thread each.", min=1)]
Store = Annotated[Path, typer.Option("--store", help="SQLite file that keeps the rows.")]
Results = Annotated[
    Path, typer.Option("--store", help="SQLite file that keeps the rows, or a folder of exported ones.")
]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        help="Not needed any more: the rows in the store are all that a search goes on from.",
        show_default=False,
        hidden=True,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Run on the Dask cluster with this scheduler, as tcp://host:8786, instead of processes here.",
        show_default=False,
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace what is there, if this command could have written it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]


def tell_unused_storage(storage: str | None) -> None:
    """Say that trials are no longer kept, if somebody names a place for them.

    Args:
        storage: What ``--storage`` was given.
    """
    if storage is not None:
        from postel.cli.console import notes

        notes.print(f"--storage {storage} is not used: a search goes on from the rows in the store alone")


def pseudo_label_rounds(text: str) -> bool | int:
    """Read the value of ``--pseudo-labels``.

    Args:
        text: ``yes``, ``no`` or a number.

    Returns:
        True, False or a number of rounds.

    Raises:
        InputError: If it is none of these.

    Example:
        >>> pseudo_label_rounds("yes"), pseudo_label_rounds("no"), pseudo_label_rounds("3")
        (True, False, 3)
    """
    from postel.errors import InputError

    if text in ("yes", "no"):
        return text == "yes"
    if text.isdigit():
        return int(text)
    raise InputError(f"--pseudo-labels takes yes, no or a number of rounds, got {text!r}")


def key_values(pairs: list[str] | None, option: str = "--set") -> dict[str, object]:
    """Read values such as ``["a=1", "b=x"]``.

    Args:
        pairs: The values of a repeated option, None if it was not given.
        option: The option's name, for error messages.

    Returns:
        The values by name, read as JSON where they are JSON.

    Raises:
        InputError: If a value has no equals sign.

    Example:
        >>> key_values(["hidden=32", "teleport=0.2"])
        {'hidden': 32, 'teleport': 0.2}
    """
    from postel.errors import InputError
    from postel.experiments.spec import parse_value

    values = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"{option} takes key=value, got {pair!r}")
        values[key.strip()] = parse_value(value)
    return values
