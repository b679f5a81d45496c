"""Counting on Spark: the same SQL as on DuckDB; soft labels are made where the rows are, never on the driver."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from postel import checks, errors, settings
from postel.errors import InputError, require_extra
from postel.scale import calibrated_kernel, kernel, soft_sql, sql
from postel.scale.batches import misread
from postel.scale.calibrated_kernel import CalibratedModel
from postel.scale.classes import conflict
from postel.scale.engine import Engine, Inputs, Names, PairCounts, Progress, histograms_of
from postel.scale.kernel import Counts, Model
from postel.scale.probabilities import check_known, labels_of, leading_class, not_a_distribution
from postel.scale.request import Request
from postel.scale.spark_tables import looked_up, read_probabilities, read_table
from postel.scale.tables import Table

# Up to so many labelled nodes their table is sent to every executor (some 100 MB there); beyond, edges and labels
# meet in a shuffle, which splits the partitions that a hub makes too large.
BROADCAST_ROWS = 1_000_000

_TYPES = {"integer": "bigint", "string": "string"}
_AT_FAULT = (
    "is no whole number",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "FAILED_READ_FILE",
    "CANNOT_READ",
    "MALFORMED",
    "CSV header",
)


class SparkEngine(Engine):
    """The :class:`postel.scale.engine.Engine` on a Spark session.

    Args:
        request: The job.
        inputs: Its tables; those at an address are looked up here.
        spark: The session.
        progress: Called with what is being done.
    """

    def __init__(self, request: Request, inputs: Inputs, spark: Any, progress: Progress) -> None:
        self._request, self._spark, self._progress = request, spark, progress
        tables = [looked_up(table, spark) if table.remote else table for table in inputs.tables]
        pseudo = tables[2] if inputs.pseudo is not None else None
        self._inputs = Inputs.of(tables[0], tables[1], pseudo, request.columns.id_type)
        self._kept: list[Any] = []

    def close(self) -> None:
        """Drop what was kept on the executors."""
        for frame in self._kept:
            # The session itself may be what failed.
            with contextlib.suppress(Exception):
                frame.unpersist()

    def census(self) -> Mapping[int | str, float]:
        inputs = self._inputs
        read_table(self._spark, inputs.edges, ("source", "target"), (inputs.ids, inputs.ids), "edges")
        kinds = (inputs.ids, inputs.label_kind)
        hard = None if inputs.soft else inputs.pseudo
        for name, table in (("labels", inputs.labels), ("pseudo", hard)):
            if table is not None:
                read_table(self._spark, table, ("node", "label"), kinds, name)
        with self._running("reading labels", *inputs.tables[1:]):
            self._keep("found", sql.found(hard is not None))
            for node, label, other, train in self._spark.sql(sql.CONFLICT).collect():
                raise conflict("labels" if train else "pseudo-labels", node, (label, other))
            found: dict[int | str, float] = {label: int(n) for label, n in self._spark.sql(sql.CENSUS).collect()}
            if inputs.pseudo is not None and inputs.soft:
                found = self._soft_census(inputs.pseudo, list(found))
        self._labelled = round(sum(found.values()))
        return found

    def _soft_census(self, table: Table, trained: list[int | str]) -> dict[int | str, float]:
        self._columns = labels_of(table, self._inputs.label_kind)
        check_known(table, self._columns, trained)
        read_probabilities(self._spark, table, self._inputs.ids, self._columns, "said")
        self._keep("soft", soft_sql.SOFT)
        for node, parts, least, total in self._spark.sql(soft_sql.misfits(len(self._columns))).collect():
            raise not_a_distribution(node, int(parts), least, total)
        return dict(map(tuple, self._spark.sql(soft_sql.CENSUS).collect()))

    def count(self, names: Names) -> PairCounts:
        functions = require_extra("pyspark.sql.functions", "spark")
        # Not from rows of Python: Spark would start Python workers to read them.
        listed = functions.posexplode(functions.lit(list(names))).alias("class", "label")
        frame = self._spark.range(1).select(listed)
        label = frame["label"].cast(_TYPES[self._inputs.label_kind]).alias("label")
        functions.broadcast(frame.select(label, "class")).createOrReplaceTempView("names")
        soft = self._inputs.soft
        self._keep("known", soft_sql.known(leading_class(names, self._columns)) if soft else sql.KNOWN)
        small = self._labelled <= BROADCAST_ROWS
        hint = "/*+ BROADCAST(a), BROADCAST(b) */" if small else "/*+ MERGE(a), MERGE(b) */"
        self._keep("counts", (soft_sql if soft else sql).counts(self._request, len(names), hint))
        self._width = len(names) * (2 if self._request.reverse else 1)
        normalized = self._request.likelihood == "normalized"
        pairs = sql.pairs(self._request, len(names), soft=soft)
        query = sql.shares(self._request, "div") if normalized else pairs
        high, low = np.zeros((2, len(names), len(names)), dtype=np.float64 if soft else np.int64)
        with self._running("counting", self._inputs.edges):
            for center, neighbor, upper, lower in self._spark.sql(query).collect():
                high[center, neighbor], low[center, neighbor] = upper, lower
        return PairCounts(high, low if normalized else None)

    def sample(self, most: int) -> tuple[Counts, Counts]:
        with self._running("choosing nodes"):
            dtype = np.float64 if self._inputs.soft else np.int64
            return histograms_of(self._spark.sql(sql.sample(most, "div")).collect(), self._width, dtype)

    def write(self, model: Model | CalibratedModel, target: str) -> int:
        functions = require_extra("pyspark.sql.functions", "spark")
        # At most one row per class and node comes here, so no hub is large.
        entries = functions.collect_list(functions.struct("class", "n")).alias("entries")
        rows = (
            self._spark.sql(sql.rows(self._request))
            .groupBy("node")
            .agg(functions.max("own").alias("own"), entries)
        )
        with self._running("writing"), carried_by_value(), warnings.catch_warnings():
            # Spark would rather read type hints, but for that it needs pandas.
            warnings.filterwarnings("ignore", message="It is preferred to specify type hints")
            kind = functions.ArrowUDFType.SCALAR
            soften = functions.arrow_udf(rows_function(model), "array<double>", kind)
            rows.select("node", soften("own", "entries").alias("soft_label")).write.parquet(target)
        schema = f"node {_TYPES[self._inputs.ids]}, soft_label array<double>"
        return int(self._spark.read.schema(schema).parquet(target).count())

    def _keep(self, name: str, query: str) -> None:
        level = require_extra("pyspark", "spark").StorageLevel.MEMORY_AND_DISK
        frame = self._spark.sql(query).persist(level)
        frame.createOrReplaceTempView(name)
        self._kept.append(frame)

    @contextlib.contextmanager
    def _running(self, stage: str, *reads: Table) -> Iterator[None]:
        """Show the progress of what runs in the block; ``reads`` are the tables at fault if it fails to read."""
        java = require_extra("py4j.protocol", "spark").Py4JError
        spark_error = require_extra("pyspark.errors", "spark").PySparkException
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(stage, over), daemon=True)
        self._progress(stage, None)
        watcher.start()
        try:
            yield
        except (java, spark_error) as error:
            if reads and any(sign in str(error) for sign in _AT_FAULT):
                raise misread(reads[0], error) from error
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"Spark gave up while {stage}: {reason}") from error
        finally:
            over.set()
            watcher.join()

    def _watch(self, stage: str, over: threading.Event) -> None:
        tracker = self._spark.sparkContext.statusTracker()
        while not over.wait(0.5):
            with contextlib.suppress(Exception):
                stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
                tasks = sum(info.numTasks for info in stages if info)
                done = sum(info.numCompletedTasks for info in stages if info)
                self._progress(stage, done / tasks if tasks else None)


def rows_function(model: Model | CalibratedModel) -> Callable[[Any, Any], Any]:
    """Make the function that an executor runs on a batch of nodes; it needs no postel installed there.

    Args:
        model: What soft labels depend on besides neighbors.

    Returns:
        A function from Arrow ``own`` [R] and ``entries`` [R] to soft labels: see
        :func:`postel.scale.rows.soft_lists`.
    """
    from postel.scale.rows import soft_lists

    make = soft_lists

    def run(own: Any, entries: Any) -> Any:
        return make(own, entries, model)

    # A function is sent as code where its module is: see below.
    run.__module__ = make.__module__
    return run


@contextlib.contextmanager
def carried_by_value() -> Iterator[None]:
    """Send the kernel's functions to executors as code within the block, not as names to import there."""
    from postel.scale import rows

    cloudpickle = require_extra("pyspark.cloudpickle", "spark")
    modules = (kernel, calibrated_kernel, rows, settings, checks, errors)
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
