"""The Java process behind PySpark: all that is used of PySpark's private names, and of nothing else, is here.

PySpark has no public way to end the process that it started, or to rename a folder on a file system that only
Spark knows. A test says which private names must be there.
"""

from __future__ import annotations

import contextlib
import subprocess
from typing import Any

from postel.errors import require_extra

#: The private names, by the class of ``pyspark`` that has them.
PRIVATE_NAMES = {"SparkContext": ("_gateway", "_jvm"), "sql.SparkSession": ("_jvm", "_jsc")}


def has_java_process() -> bool:
    """Return whether PySpark has started a Java process here, which it keeps for a next session."""
    return require_extra("pyspark", "spark").SparkContext._gateway is not None


def end_java_process() -> None:
    """End the Java process, and with it all that it holds.

    Spark keeps it for a next session, with the first one's memory and folders: those are gone by then.
    """
    context = require_extra("pyspark", "spark").SparkContext
    gateway, context._gateway, context._jvm = context._gateway, None, None
    if gateway is not None:
        gateway.shutdown()
        # It ends when its input does.
        gateway.proc.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(timeout=30)


def hadoop_path(spark: Any) -> Any:
    """Return Hadoop's class of paths.

    Args:
        spark: The session.
    """
    return spark._jvm.org.apache.hadoop.fs.Path


def hadoop_configuration(spark: Any) -> Any:
    """Return what Hadoop needs to know to open a file system.

    Args:
        spark: The session.
    """
    return spark._jsc.hadoopConfiguration()
