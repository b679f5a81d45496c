"""Tables on disk, the engines, and one Spark session for the whole run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.conftest import lacking


@pytest.fixture(scope="session")
def java() -> None:
    """Java is there, or the test is left out."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        lacking("java", "Spark needs Java, and there is none")


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session in this process; jobs find and use it."""
    sql = pytest.importorskip("pyspark.sql")
    folder = tmp_path_factory.mktemp("spark")
    before = {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")}
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder = sql.SparkSession.builder.master("local[2]")
    settings = {"ui.enabled": "false", "driver.memory": "1g", "local.dir": str(folder), "log.level": "OFF"}
    # Compiling for speed takes longer than these small jobs run.
    settings["driver.extraJavaOptions"] = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder}"
    settings |= {"sql.codegen.wholeStage": "false", "sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in (settings | {"sql.warehouse.dir": str(folder / "warehouse")}).items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield session
    session.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(params=["memory", "duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    elif request.param == "duckdb":
        pytest.importorskip("duckdb")
    return str(request.param)


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a table: Parquet or CSV, one file or a folder of ``parts`` (some of them empty)."""

    def write(name: str, columns: Mapping[str, Any], form: str = "parquet", parts: int = 1) -> Path:
        table = pa.table(dict(columns))
        if parts == 1:
            path = tmp_path / f"{name}.{form}"
            _write(table, path, form)
            return path
        folder = tmp_path / name
        folder.mkdir()
        cuts = np.linspace(0, table.num_rows, parts, dtype=int)
        for part, (first, last) in enumerate(zip([0, *cuts], [*cuts, table.num_rows], strict=True)):
            _write(table.slice(first, last - first), folder / f"part-{part}.{form}", form)
        if form == "csv":
            (folder / "part-empty.csv").touch()
        (folder / "_SUCCESS").touch()
        return folder

    return write


def _write(table: pa.Table, path: Path, form: str) -> None:
    if form == "parquet":
        pq.write_table(table, path)
    else:
        pa.csv.write_csv(table, path)


@pytest.fixture(scope="session")
def read_soft() -> Callable[[Path], dict[Any, np.ndarray]]:
    """A function from a file or folder of soft labels to a dictionary by node."""

    def read(path: Path) -> dict[Any, np.ndarray]:
        table = pq.read_table(path)
        rows = table.to_pydict()
        assert len(set(rows["node"])) == table.num_rows
        return {node: np.array(row) for node, row in zip(rows["node"], rows["soft_label"], strict=True)}

    return read
