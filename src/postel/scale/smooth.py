"""From an edge table and a label table to a file of soft labels, on the engine that suits."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from postel.checks import check_choice
from postel.errors import require_extra
from postel.exponents import MOST_LABELS
from postel.outputs import writing
from postel.scale.calibrated_fit import fitted_exponents
from postel.scale.calibrated_kernel import CalibratedModel
from postel.scale.choice import choose_engine
from postel.scale.classes import class_names
from postel.scale.engine import Engine, Inputs, PairCounts, Progress, silent
from postel.scale.kernel import Floats, Model, normalize_rows
from postel.scale.output import soft_label_targets, tables_path, temporary_folder, write_tables
from postel.scale.request import Columns, Request, parse_size
from postel.scale.tables import is_address
from postel.settings import CalibratedSettings, Flow, PosteLSettings

Location = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """What a job made.

    Args:
        out: Where the rows are.
        nodes: Number of rows.
        classes: The label of class 0, 1, ...
        labelled: Number of labelled nodes.
        prior: Share of each class, [K].
        conditional: P(neighbor's class | class), [K, K].
        engine: Name of the engine.
        reason: Why this engine.
        seconds: How long it took.
        exponents: How much prior, sum and mean of the neighbors' log-likelihoods count, by name, in a calibrated
            posterior; None in another.
    """

    out: str
    nodes: int
    classes: list[int] | list[str]
    labelled: int
    prior: Floats
    conditional: Floats
    engine: str
    reason: str
    seconds: float
    exponents: dict[str, float] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain values that fit into JSON."""
        arrays = {"prior": self.prior.tolist(), "conditional": self.conditional.tolist()}
        return {name: arrays.get(name, value) for name, value in vars(self).items()}


def smooth_tables(
    edges: Location,
    labels: Location,
    out: Location,
    *,
    settings: PosteLSettings | CalibratedSettings | None = None,
    pseudo_labels: Location | None = None,
    undirected: bool = False,
    flow: str = "source_to_target",
    nodes: str = "train",
    engine: str = "auto",
    memory_limit: str | int = "2GB",
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    temp_dir: Location | None = None,
    threads: int | None = None,
    tables: bool = False,
    overwrite: bool = False,
    columns: Columns | None = None,
    progress: Progress = silent,
    **changes: Any,
) -> Smoothed:
    """Turn an edge table and a label table into a Parquet table of soft labels, at any size.

    ``out`` then holds one row (node, soft_label) for every wanted node. It is a Parquet file, with
    ``engine="spark"`` a folder of Parquet files, and is there whole or not at all.

    Args:
        edges: The edge table, Parquet or CSV: a file, a glob or a folder (or an address that Spark reads).
        labels: The label table; every row of it is a training node.
        out: Where the soft labels go.
        settings: The settings of the method; the defaults of :class:`~postel.PosteLSettings` without it. With
            :class:`~postel.settings.CalibratedSettings` it is the calibrated posterior, whose exponents are fitted
            from the counts. The ``"local"`` likelihood needs the graph in memory and is refused.
        pseudo_labels: A table of labels that a model gave to further nodes, or of their probabilities in columns
            ``p_CLASS``, which the calibrated posterior takes; those of training nodes are ignored.
        undirected: Whether each row of edges counts both ways; a self-loop counts once.
        flow: Which end of a row is whose neighbor, where rows count one way: ``"source_to_target"``, as in
            :class:`~postel.PosteL` and torch_geometric's layers, or ``"target_to_source"``, as in the paper.
        nodes: Rows to write: ``"train"``, or ``"all"`` for every node with a label or an edge; those that are not
            in training have the noisy posterior.
        engine: ``"auto"``, ``"memory"``, ``"duckdb"`` or ``"spark"``.
        memory_limit: Memory of DuckDB or of local Spark, as ``"2GB"`` or in bytes.
        master: The Spark master, as ``spark://HOST:7077``.
        spark_conf: Further settings of Spark by name.
        temp_dir: Folder for temporary data, which are removed at the end.
        threads: Threads of DuckDB; all of the machine's without it.
        tables: Whether prior, conditional and class names are written beside ``out`` as JSON; they always are
            where labels are strings.
        overwrite: Whether an output that is there may be replaced.
        columns: Names of the tables' columns, and how files are read.
        progress: Called with what is being done.
        **changes: Single settings by name, as ``alpha=0.5``; they override those of ``settings``.

    Returns:
        What was made.

    Raises:
        InputError: If a table or a setting is wrong, or the output cannot be written.

    Example:
        >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     edges, labels, out = (f"{folder}/{name}.parquet" for name in ("edges", "labels", "soft"))
        ...     pq.write_table(pa.table({"source": [0, 0, 1, 2], "target": [1, 2, 0, 0]}), edges)
        ...     pq.write_table(pa.table({"node": [0, 1], "label": [0, 1]}), labels)
        ...     made = smooth_tables(edges, labels, out, alpha=0.5, beta=0.5, nodes="all")
        ...     np.array(pq.read_table(out)["soft_label"].to_pylist()).round(4).tolist()
        [[0.9167, 0.0833], [0.0833, 0.9167], [0.1667, 0.8333]]
    """
    check_choice("flow", flow, get_args(Flow))
    named = columns or Columns()
    if flow == "source_to_target" and not undirected:
        # Below, the first end of a row is the node and the second its neighbor.
        named = replace(named, source=named.target, target=named.source)
    request = Request(
        edges=fspath(edges),
        labels=fspath(labels),
        out=fspath(out),
        pseudo_labels=None if pseudo_labels is None else fspath(pseudo_labels),
        columns=named,
        settings=replace(settings or PosteLSettings(), **changes),
        undirected=undirected,
        nodes=nodes,
        engine=engine,
        memory_limit=parse_size(memory_limit),
        master=master,
        spark_conf=spark_conf or {},
        temp_dir=None if temp_dir is None else Path(temp_dir),
        threads=threads,
        tables=tables,
        overwrite=overwrite,
    )
    return run(request, progress)


def run(request: Request, progress: Progress = silent) -> Smoothed:
    """Run a job: see :func:`smooth_tables`.

    Args:
        request: The job.
        progress: Called with what is being done.

    Returns:
        What was made.
    """
    started = time.perf_counter()
    require_extra("pyarrow", "tables")
    inputs = Inputs.opened(request)
    name, reason = choose_engine(request, inputs)
    progress(f"engine {name}, because {reason}", None)
    with (
        temporary_folder(request.temp_dir) as folder,
        _placed(request, name, inputs, folder, progress) as (counter, target, tables),
    ):
        found = counter.census()
        names = class_names(list(found), request.settings.num_classes)
        per_class = np.array([found.get(label, 0) for label in names], np.float64 if inputs.soft else np.int64)
        pairs = counter.count(names)
        prior, conditional = normalize_rows(per_class), pairs.conditional()
        model, exponents = _model(request, counter, per_class, pairs)
        rows = counter.write(model, target)
        seconds = time.perf_counter() - started
        labelled = round(float(per_class.sum()))
        made = Smoothed(request.out, rows, names, labelled, prior, conditional, name, reason, seconds, exponents)
        if tables is not None and (request.tables or isinstance(names[0], str) or _are_there(request)):
            settings = {
                "method": asdict(request.settings),
                "undirected": request.undirected,
                "nodes": request.nodes,
            }
            write_tables(tables, {**made.as_dict(), "nodes": rows, "settings": settings})
    return made


def _model(
    request: Request, counter: Engine, per_class: NDArray[Any], pairs: PairCounts
) -> tuple[Model | CalibratedModel, dict[str, float] | None]:
    """What soft labels depend on besides neighbors, and the exponents if it is a calibrated posterior."""
    if isinstance(request.settings, PosteLSettings):
        return Model(normalize_rows(per_class), pairs.conditional(), request.settings), None
    model = CalibratedModel(per_class, pairs.high, (1.0, 1.0, 0.0), request.settings)
    fitted = fitted_exponents(*counter.sample(MOST_LABELS), model)
    return model._replace(exponents=(fitted.prior, fitted.total, fitted.mean)), asdict(fitted)


@contextlib.contextmanager
def _placed(
    request: Request, name: str, inputs: Inputs, folder: Path, progress: Progress
) -> Iterator[tuple[Engine, str, Path | None]]:
    """Make the engine, and the names that soft labels and tables (if wanted) have until the block ends well."""
    with contextlib.ExitStack() as stack:
        engine: Engine
        tables: Path | None = None
        if not is_address(request.out):
            # Kinds of a table at an address are known to Spark only, and not yet.
            wanted = request.tables or inputs.label_kind == "string" or inputs.labels.remote
            targets = soft_label_targets(request.out, wanted, overwrite=request.overwrite)
            work = stack.enter_context(writing(targets, overwrite=request.overwrite, inputs=inputs.files))
            target = str(work / Path(request.out).name)
            tables = work / Path(tables_path(request.out)).name if len(targets) > 1 else None
        if name == "spark":
            from postel.scale.spark_engine import SparkEngine
            from postel.scale.spark_session import spark_session
            from postel.scale.spark_tables import placed_by_spark

            session = stack.enter_context(spark_session(request, folder))
            if is_address(request.out):
                read = [table.path for table in inputs.tables]
                target = stack.enter_context(
                    placed_by_spark(session, request.out, overwrite=request.overwrite, inputs=read)
                )
            else:
                target = f"file://{Path(target).absolute()}"
            engine = SparkEngine(request, inputs, session, progress)
        elif name == "memory":
            from postel.scale.memory_engine import MemoryEngine
            from postel.scale.soft_memory import SoftMemoryEngine

            engine = (SoftMemoryEngine if inputs.soft else MemoryEngine)(request, inputs, progress)
        else:
            from postel.scale.duckdb_engine import DuckDBEngine

            engine = DuckDBEngine(request, inputs, folder, progress)
        stack.callback(engine.close)
        yield engine, target, tables


def _are_there(request: Request) -> bool:
    """Tell whether tables of an earlier job lie beside the output: they must not tell of other numbers than it."""
    return Path(tables_path(request.out)).exists()
