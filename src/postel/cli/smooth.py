"""``postel smooth``: soft labels of tables, at any size."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from postel.cli.console import out, print_json
from postel.cli.options import SEPARATOR_HELP, Json, Overwrite
from postel.cli.progress import make_bar
from postel.cli.words import choice
from postel.errors import InputError
from postel.settings import CalibratedSettings as Calibrated
from postel.settings import PosteLSettings as Default

_method = partial(typer.Option, rich_help_panel="Method")
_tables = partial(typer.Option, rich_help_panel="Tables")
_engine = partial(typer.Option, rich_help_panel="Engine")
_method_choice = partial(choice, rich_help_panel="Method")
_tables_choice = partial(choice, rich_help_panel="Tables")
_CALIBRATIONS = ("exponents", "temperature", "none")
_FLOWS = ("source_to_target", "target_to_source")
_ENGINES = ("auto", "memory", "duckdb", "spark")

Method = Annotated[
    str,
    _method_choice(
        ("postel", "calibrated"),
        "--method",
        help="Posterior smoothing as in the paper, or our calibrated form.",
    ),
]
Likelihood = Annotated[
    str, _method_choice(("edge", "normalized"), "--likelihood", help="Weigh edges equally, or nodes.")
]
Noise = Annotated[
    str,
    _method_choice(
        ("uniform", "off-target"), "--noise", help="Noise on all classes, or on all but the node's own."
    ),
]
Isolated = Annotated[
    str,
    _method_choice(
        ("prior", "one-hot"),
        "--isolated",
        help="What replaces the posterior of a training node without labelled neighbors.",
    ),
]
Centers = Annotated[
    str,
    _method_choice(
        ("labelled", "train"), "--centers", help="Nodes whose neighbors are counted for the conditional."
    ),
]
Calibration = Annotated[
    str, _method_choice(_CALIBRATIONS, "--calibration", help="Calibrated only: how confidence is fitted.")
]
Flow = Annotated[
    str,
    _tables_choice(
        _FLOWS, "--flow", help="Which nodes are neighbors if rows count one way: a node's sources, or its targets."
    ),
]
Nodes = Annotated[str, _tables_choice(("train", "all"), "--nodes", help="Nodes to write: training nodes, or all.")]
IdType = Annotated[str, _tables_choice(("auto", "integer", "string"), "--id-type", help="Type of node ids.")]
Engine = Annotated[str, choice(_ENGINES, "--engine", help="What computes the labels.", rich_help_panel="Engine")]
SparkConf = Annotated[list[str] | None, _engine("--spark-conf", help="NAME=VALUE for Spark; may be repeated.")]
TempDir = Annotated[Path | None, _engine(help="Folder for temporary data, which is removed at the end.")]


def smooth(
    edges: str = typer.Option(..., help="Edge table: Parquet or CSV; a file, a glob or a folder."),
    labels: str = typer.Option(..., help="Label table: the training nodes and their labels."),
    out_path: str = typer.Option(..., "--out", "-o", help="Parquet file to write; with engine spark, a folder."),
    pseudo_labels: str | None = typer.Option(
        None,
        help="Labels that a model predicted for other nodes; for calibrated also probabilities (postel predict).",
    ),
    method: Method = "postel",
    alpha: float | None = _method(
        None,
        help=f"Weight of the posterior, not the one-hot label; {Default.alpha}, calibrated {Calibrated.alpha}.",
    ),
    beta: float = _method(Default.beta, help="Weight of the uniform noise."),
    likelihood: Likelihood = Default.likelihood,
    noise: Noise = Default.noise,
    isolated: Isolated = Default.isolated,
    centers: Centers = Default.centers,
    self_loops: bool = _method(Default.self_loops, help="Count a self-loop as a neighbor."),
    calibration: Calibration = Calibrated.calibration,
    leave_one_out: bool = _method(
        Calibrated.leave_one_out, help="Calibrated only: leave a node's own label out of its posterior."
    ),
    num_classes: int | None = _method(
        Default.num_classes, help="Number of classes, if the last ones have no label."
    ),
    undirected: bool = _tables(
        False,
        "--undirected/--directed",
        help="Count each row of edges both ways, or as listed (the default, as in postel convert).",
    ),
    flow: Flow = "source_to_target",
    nodes: Nodes = "train",
    source: str = _tables("source", help="Edge column: where a link starts."),
    target: str = _tables("target", help="Edge column: where it ends."),
    node: str = _tables("node", help="Label column: the node."),
    label: str = _tables("label", help="Label column: its label."),
    id_type: IdType = "auto",
    separator: str | None = _tables(None, help=SEPARATOR_HELP),
    tables: bool = typer.Option(False, help="Write prior and conditional beside the output as JSON."),
    overwrite: Overwrite = False,
    engine: Engine = "auto",
    memory_limit: str = _engine("2GB", help="Memory limit of DuckDB or local Spark."),
    threads: int | None = _engine(None, help="Number of threads of DuckDB."),
    master: str | None = _engine(None, help="Spark master, as in spark://HOST:7077."),
    spark_conf: SparkConf = None,
    temp_dir: TempDir = None,
    as_json: Json = False,
) -> None:
    """Turn an edge table and a label table into a Parquet table of soft labels, at any size.

    Example: postel smooth --edges edges/ --labels train.csv --out soft.parquet --undirected
    """
    from rich.progress import TimeElapsedColumn

    from postel.scale import Columns, smooth_tables

    settings = _settings(
        method,
        {} if alpha is None else {"alpha": alpha},
        {"centers": centers, "num_classes": num_classes},
        {"beta": beta, "likelihood": likelihood, "noise": noise, "isolated": isolated, "self_loops": self_loops},
        {"calibration": calibration, "leave_one_out": leave_one_out},
    )
    bar = make_bar(TimeElapsedColumn())
    with ExitStack() as stack:
        task = bar.add_task("starting", total=None)

        def progress(stage: str, share: float | None) -> None:
            if not bar.live.is_started:  # not before the input is checked
                stack.enter_context(bar)
            if stage.startswith("engine "):
                bar.console.print(stage)
            else:
                bar.update(task, description=stage, total=None if share is None else 1.0, completed=share or 0.0)

        made = smooth_tables(
            edges,
            labels,
            out_path,
            settings=settings,
            pseudo_labels=pseudo_labels,
            undirected=undirected,
            flow=flow,
            nodes=nodes,
            engine=engine,
            memory_limit=memory_limit,
            master=master,
            spark_conf=_pairs(spark_conf),
            temp_dir=temp_dir,
            threads=threads,
            tables=tables,
            overwrite=overwrite,
            columns=Columns(source, target, node, label, separator, id_type),
            progress=progress,
        )
    if as_json:
        print_json(made.as_dict())
        return
    out.print(
        f"{made.nodes:,} soft labels over {len(made.classes)} classes, from {made.labelled:,} labelled nodes, "
        f"in {made.seconds:.1f} s on {made.engine}: {made.out}",
        soft_wrap=True,
    )
    if made.exponents is not None:
        fitted = ", ".join(f"{name} {value:.3g}" for name, value in made.exponents.items())
        out.print(f"exponents, which say how much neighbors tell: {fitted}", soft_wrap=True)


def _settings(
    method: str,
    alpha: dict[str, Any],
    shared: dict[str, Any],
    postel: dict[str, Any],
    calibrated: dict[str, Any],
) -> Default | Calibrated:
    """The settings of the method; an option of the other method is refused, since it would change nothing."""
    other, defaults = (calibrated, Calibrated) if method == "postel" else (postel, Default)
    for name, value in other.items():
        if value != getattr(defaults, name):
            raise InputError(f"--{name.replace('_', '-')} is no option of --method {method}: leave it out")
    if method == "postel":
        return Default(**alpha, **shared, **postel)
    return Calibrated(**alpha, **shared, **calibrated)


def _pairs(texts: list[str] | None) -> dict[str, str]:

    for text in texts or ():
        if "=" not in text:
            raise InputError(f"--spark-conf takes NAME=VALUE, got {text!r}")
    return {name: value for name, _, value in (text.partition("=") for text in texts or ())}
