"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from postel import registry, settings
from postel.cli import words
from postel.cli.console import notes
from postel.errors import InputError

_SHORT = {full: f"{full} ({alias})" for alias, full in registry.ALIASES.items()}
_METHODS = ", ".join(_SHORT.get(name, name) for name in (*registry.SMOOTHERS, *registry.FORMS))
_complete_method = words.completion([*registry.SMOOTHERS, *registry.FORMS, *registry.ALIASES])

DataRoot = Annotated[
    str | None,
    typer.Option("--data-root", envvar="POSTEL_DATA", help="Folder of graph files to search first."),
]
_GRAPH = typer.Argument(
    metavar="GRAPH", help="A dataset's name or the path of a graph file.", autocompletion=words.complete_graph
)
Graph = Annotated[str, _GRAPH]
OptionalGraph = Annotated[str | None, _GRAPH]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help=f"A soft-label method, as in postel:alpha=0.6: {_METHODS}.",
        autocompletion=_complete_method,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        help=f"Methods, separated by commas or repeated, as in -m ls,postel:alpha=0.6: {_METHODS}.",
        autocompletion=_complete_method,
    ),
]
Backbone = Annotated[str, words.choice(registry.BACKBONES, "--backbone", "-b", help="The network.")]
BackboneArgs = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A hyper-parameter of the network, as in --set hidden=32; may be repeated.",
    ),
]
Protocol = Annotated[str, words.choice(registry.PROTOCOLS, "--protocol", help="How nodes are split into sets.")]
Recipe = Annotated[
    str,
    words.choice(
        registry.RECIPES,
        "--recipe",
        help="Edges as in the paper, or symmetric without self-loops and repetitions.",
    ),
]
Lr = Annotated[float, typer.Option("--lr", help="Learning rate.")]
WeightDecay = Annotated[float, typer.Option("--weight-decay", help="Weight decay.")]
SearchSplits = Annotated[
    int | None,
    typer.Option(
        "--search-splits",
        help="Compare settings on at most this many splits; by default rungs grow from one split to all.",
        min=1,
    ),
]
MaxEpochs = Annotated[int, typer.Option("--max-epochs", help="Maximum number of epochs.")]
Stopping = Annotated[
    str,
    words.choice(
        registry.STOP_RULES,
        "--stopping",
        help="Stop when the validation loss is above its mean over the last 200 epochs, as published code does, "
        "or after 200 epochs without improvement, as the paper says.",
    ),
]
PseudoLabels = Annotated[
    str,
    typer.Option(
        "--pseudo-labels",
        help="Rounds of pseudo-labels: yes (until the validation loss stops falling), no, or a number.",
    ),
]
Splits = Annotated[int, typer.Option("--splits", help="Number of splits, starting with split 0.", min=1)]
Workers = Annotated[int, typer.Option("--workers", "-w", help="Number of processes, with one thread each.", min=1)]
Store = Annotated[Path, typer.Option("--store", help="SQLite file that stores the runs.")]
Results = Annotated[
    Path, typer.Option("--store", help="SQLite file that stores the runs, or a folder that postel export wrote.")
]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        help="Not needed any more: the rows in the store are all that a search goes on from.",
        hidden=True,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Run on the Dask cluster with this scheduler, as in tcp://host:8786, instead of in local processes.",
    ),
]
Device = Annotated[str, typer.Option("--device", help="The torch device, such as cpu, cuda or cuda:1.")]
BatchSize = Annotated[
    int | None,
    typer.Option(
        "--batch-size",
        help="Training nodes per step, with 15 and 10 sampled neighbors at one and two hops; by default all.",
        min=1,
        show_default=False,
    ),
]
Metric = Annotated[
    str,
    words.choice(
        get_args(settings.Metric),
        "--metric",
        help="The score on validation nodes that chooses settings and methods.",
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace existing output, if this command could have written it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


SEPARATOR_HELP = "Field separator of text files; by default a comma, or a tab in .tsv and in .txt with tabs."


def tell_unused_storage(storage: str | None) -> None:
    """Say that trials are no longer kept, if somebody names a place for them.

    Args:
        storage: What ``--storage`` was given.
    """
    if storage is not None:
        notes.print(f"--storage {storage} is not used: a search goes on from the rows in the store alone")


def check_usable(device: str, scheduler: str | None) -> None:
    """Check the device of many runs before any of them starts; a cluster's workers have devices of their own.

    Args:
        device: What ``--device`` was given.
        scheduler: What ``--scheduler`` was given.

    Raises:
        InputError: If there is no such device, or this machine has none.
    """
    if device != "cpu" and scheduler is None:
        from postel.training.fitting import check_device

        check_device(device)


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
    if text in ("yes", "no"):
        return text == "yes"
    if text.isdigit():
        return int(text)
    raise InputError(f"--pseudo-labels takes yes, no or a number of rounds, got {text!r}")


def key_values(pairs: list[str] | None) -> dict[str, object]:
    """Read the values of ``--set``, such as ``["a=1", "b=x"]``.

    Args:
        pairs: The values, None if the option was not given.

    Returns:
        The values by name, read as JSON where they are JSON.

    Raises:
        InputError: If a value has no equals sign.

    Example:
        >>> key_values(["hidden=32", "teleport=0.2"])
        {'hidden': 32, 'teleport': 0.2}
    """
    from postel.experiments.spec import parse_value

    values = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--set takes key=value, got {pair!r}")
        values[key.strip()] = parse_value(value)
    return values


def search_settings(pairs: list[str] | None, backbone: str) -> dict[str, object]:
    """Read the settings that a search leaves alone; an argument of the network goes by its own name.

    Args:
        pairs: The values of ``--set``, None if it was not given.
        backbone: The network's name.

    Returns:
        The values by the names that a search has.

    Example:
        >>> search_settings(["lr=0.05", "hidden=32"], "gcn")
        {'lr': 0.05, 'backbone_args.hidden': 32}
    """
    import inspect

    from postel.backbones import backbone_class

    own = inspect.signature(backbone_class(backbone)).parameters
    return {f"backbone_args.{name}" if name in own else name: value for name, value in key_values(pairs).items()}
