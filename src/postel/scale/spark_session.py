"""A Spark session for one job; Java and the master are looked at first, since Spark itself fails late."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra
from postel.scale.java_process import end_java_process, has_java_process
from postel.scale.request import Request

_OLDEST_JAVA = 17


@contextlib.contextmanager
def spark_session(request: Request, folder: Path) -> Iterator[Any]:
    """Open a Spark session for one job; it is stopped at the end with its Java process.

    Where the process has a session already it is used, with settings of its own, and left running.

    Args:
        request: The job, with its master (``local[*]`` without one), memory limit and settings of Spark.
        folder: Where local Spark puts what does not fit into memory.

    Yields:
        The session.

    Raises:
        InputError: If there is no usable Java, or no session starts on the master.
    """
    sql = require_extra("pyspark.sql", "spark")
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        there = running.sparkContext.master
        if request.master is not None and request.master != there:
            raise InputError(f"a Spark session on {there} is running in this process: stop it or leave master out")
        own = running.newSession()
        for name, value in {**_query_settings(there), **request.spark_conf}.items():
            if own.conf.isModifiable(name):
                own.conf.set(name, value)
        yield own
        return
    master = request.master or "local[*]"
    check_master(master)
    check_java()
    fresh = not has_java_process()
    with _environment(_variables(master)):
        builder = sql.SparkSession.builder.appName("postel smooth").master(master)
        for name, value in {**_settings(request, master, folder), **request.spark_conf}.items():
            builder = builder.config(name, value)
        try:
            session = builder.getOrCreate()
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"no Spark session starts on master {master!r}: {reason}") from error
        try:
            yield session
        finally:
            # After Ctrl-C the Java process may be gone already: it hears of it, too.
            with contextlib.suppress(Exception):
                session.stop()
            if fresh:
                with contextlib.suppress(Exception):
                    end_java_process()


def check_java() -> str:
    """Find a Java that Spark can run on.

    Returns:
        Its path.

    Raises:
        InputError: If there is none.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"in {home}: correct JAVA_HOME" if home else "on PATH: install one or set JAVA_HOME"
        raise InputError(f"engine spark needs Java {_OLDEST_JAVA} or later, but there is no java {where}")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(\d+)', printed.stderr + printed.stdout)
    if match is None or int(match[1]) < _OLDEST_JAVA:
        version = match[1] if match else "an unknown version"
        raise InputError(f"engine spark needs Java {_OLDEST_JAVA} or later, but {java} is {version}")
    return java


def check_master(master: str) -> None:
    """Check that a master has a form that Spark knows and, if it is a standalone one, answers.

    Args:
        master: The master.

    Raises:
        InputError: If it has another form, or does not answer.

    Example:
        >>> check_master("local[2]")
        >>> check_master("spork://host")
        Traceback (most recent call last):
            ...
        postel.errors.InputError: master must be local[*], spark://HOST:PORT, yarn or k8s://URL; got 'spork://host'
    """
    if re.fullmatch(r"local(\[(\d+|\*)(,\d+)?\])?|yarn|k8s://.+", master):
        return
    match = re.fullmatch(r"spark://([^:/,]+:\d+(?:,[^:/,]+:\d+)*)", master)
    if match is None:
        raise InputError(f"master must be local[*], spark://HOST:PORT, yarn or k8s://URL; got {master!r}")
    for place in match[1].split(","):
        host, _, port = place.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=5):
            return
    raise InputError(f"no Spark master answers at {master!r}: start it, or correct the host and port")


def _settings(request: Request, master: str, folder: Path) -> Mapping[str, str]:
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **_query_settings(master),
    }
    if master.startswith("local"):
        # Driver and executor are one process here: it takes what the limit allows, and spills in our own folder.
        settings |= {
            "spark.driver.memory": f"{max(512, request.memory_limit >> 20)}m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(folder),
            "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder}",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.ui.enabled": "false",
        }
    return settings


def _query_settings(master: str) -> Mapping[str, str]:
    settings = {
        # Whether a table is sent whole is decided by rows, in the engine.
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.ansi.enabled": "true",
        # Columns by their exact names, and rows with a field too many or too few are errors, as everywhere else.
        "spark.sql.caseSensitive": "true",
        "spark.sql.csv.parser.columnPruning.enabled": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.skewJoin.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    }
    if master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = str(4 * (os.cpu_count() or 1))
    return settings


def _variables(master: str) -> Mapping[str, str]:
    # Executors run the interpreter that PYSPARK_PYTHON names; Spark's own choice, python3, may be another version.
    variables = {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}
    if master.startswith("local"):
        variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    return variables


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
