"""From an edge table and a label table to a file of soft labels, on the engine that suits."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from postel.errors import require_extra
from postel.outputs import writing
from postel.scale.choice import choose_engine
from postel.scale.classes import class_names
from postel.scale.engine import Engine, Inputs, Progress, silent
from postel.scale.kernel import Floats, Model, normalize_rows
from postel.scale.output import soft_label_targets, tables_path, temporary_folder, write_tables
from postel.scale.request import Columns, Request, parse_size
from postel.scale.tables import is_address
from postel.settings import PosteLSettings

Location = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """What a job gave: where the rows are, the engine and why it, and the prior [K] and conditional [K, K]."""

    out: str
    nodes: int
    classes: list[int] | list[str]
    labelled: int
    prior: Floats
    conditional: Floats
    engine: str
    reason: str
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        arrays = {"prior": self.prior.tolist(), "conditional": self.conditional.tolist()}
        return {name: arrays.get(name, value) for name, value in vars(self).items()}


def smooth_tables(
    edges: Location,
    labels: Location,
    out: Location,
    *,
    settings: PosteLSettings | None = None,
    pseudo_labels: Location | None = None,
    undirected: bool = False,
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
    """What was made, once ``out`` holds a row (node, soft_label) for every wanted node.

    ``edges``, ``labels`` and ``pseudo_labels`` are Parquet or CSV: a file, a glob or a folder (or an address that
    Spark reads); ``columns`` names theirs. ``undirected`` counts each row of edges both ways, a self-loop once.
    Every row of ``labels`` is a training node; pseudo-labels of training nodes are ignored. ``nodes`` is ``train``
    or ``all``: every node with a label or an edge, those not in training with the noisy posterior. The settings
    of the method are those of :class:`postel.PosteL`.

    ``out`` is a Parquet file, with ``engine="spark"`` a folder of Parquet files; it is there whole or not at all.
    ``tables`` writes prior, conditional and class names beside it as JSON; string labels always do.

    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"source": [0, 0, 1, 2], "target": [1, 2, 0, 0]}), f"{folder}/edges.parquet")
    ...     pq.write_table(pa.table({"node": [0, 1], "label": [0, 1]}), f"{folder}/labels.parquet")
    ...     made = smooth_tables(f"{folder}/edges.parquet", f"{folder}/labels.parquet", f"{folder}/soft.parquet",
    ...         alpha=0.5, beta=0.5, nodes="all")
    ...     np.array(pq.read_table(f"{folder}/soft.parquet")["soft_label"].to_pylist()).round(4).tolist()
    [[0.9167, 0.0833], [0.0833, 0.9167], [0.1667, 0.8333]]
    """
    request = Request(
        edges=fspath(edges),
        labels=fspath(labels),
        out=fspath(out),
        pseudo_labels=None if pseudo_labels is None else fspath(pseudo_labels),
        columns=columns or Columns(),
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
    """What was made: see :func:`smooth_tables`."""
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
        per_class = np.array([found.get(label, 0) for label in names], dtype=np.int64)
        pairs = counter.count(names)
        prior, conditional = normalize_rows(per_class), pairs.conditional()
        rows = counter.write(Model(prior, conditional, request.settings), target)
        seconds = time.perf_counter() - started
        labelled = int(per_class.sum())
        made = Smoothed(request.out, rows, names, labelled, prior, conditional, name, reason, seconds)
        if tables is not None and (request.tables or isinstance(names[0], str) or _are_there(request)):
            settings = {
                "method": asdict(request.settings),
                "undirected": request.undirected,
                "nodes": request.nodes,
            }
            write_tables(tables, {**made.as_dict(), "nodes": rows, "settings": settings})
    return made


@contextlib.contextmanager
def _placed(
    request: Request, name: str, inputs: Inputs, folder: Path, progress: Progress
) -> Iterator[tuple[Engine, str, Path | None]]:
    """The engine, and the names that soft labels and tables (if wanted) have until the block ends well."""
    with contextlib.ExitStack() as stack:
        engine: Any
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

            engine = MemoryEngine(request, inputs, progress)
        else:
            from postel.scale.duckdb_engine import DuckDBEngine

            engine = DuckDBEngine(request, inputs, folder, progress)
        stack.callback(engine.close)
        yield engine, target, tables


def _are_there(request: Request) -> bool:
    """Whether tables of an earlier job lie beside the output: they must not tell of other numbers than it."""
    return Path(tables_path(request.out)).exists()
