"""What is asked for: the tables, the settings of the method and where the work may go; checked before any work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from postel.checks import MAX_CLASSES, check_choice, check_count, check_separator
from postel.errors import InputError
from postel.settings import CalibratedSettings, PosteLSettings

ENGINES = ("auto", "memory", "duckdb", "spark")
LIKELIHOODS = ("edge", "normalized")
MAX_THREADS = 4096

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are read, and how files are to be understood.

    Args:
        source: Edge column of the center.
        target: Edge column of its neighbor.
        node: Label column of the node.
        label: Label column of its label.
        separator: What is between the fields of CSV files; without it a comma, or a tab for .tsv and for .txt that
            has tabs, as in ``postel convert``.
        id_type: Type of the node ids: ``auto``, ``integer`` or ``string``.
    """

    source: str = "source"
    target: str = "target"
    node: str = "node"
    label: str = "label"
    separator: str | None = None
    id_type: str = "auto"


@dataclass(frozen=True)
class Request:
    """One job: tables in, soft labels out. It is checked when it is made.

    Args:
        edges: The edge table: a file, a glob, a folder or an address.
        labels: The table of training nodes and their labels.
        out: Where the soft labels go.
        pseudo_labels: The table of labels that a model gave to further nodes.
        columns: Names of columns, and how files are read.
        settings: The settings of the method.
        undirected: Whether each row of edges counts both ways.
        nodes: Rows to write: ``train`` or ``all``.
        engine: ``auto``, ``memory``, ``duckdb`` or ``spark``.
        memory_limit: Memory of DuckDB or of local Spark, in bytes.
        master: The Spark master.
        spark_conf: Further settings of Spark.
        temp_dir: Where temporary data go.
        threads: Threads of DuckDB.
        tables: Whether prior and conditional are written beside the output.
        overwrite: Whether an output that is there may be replaced.

    Raises:
        InputError: If a value is out of its range, or two of them do not go together.
    """

    edges: str
    labels: str
    out: str
    pseudo_labels: str | None = None
    columns: Columns = field(default_factory=Columns)
    settings: PosteLSettings | CalibratedSettings = field(default_factory=PosteLSettings)
    undirected: bool = False
    nodes: str = "train"
    engine: str = "auto"
    memory_limit: int = 2 * 10**9
    master: str | None = None
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    temp_dir: Path | None = None
    threads: int | None = None
    tables: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_choice("engine", self.engine, ENGINES)
        check_choice("nodes", self.nodes, ("train", "all"))
        check_choice("id_type", self.columns.id_type, ("auto", "integer", "string"))
        if self.likelihood not in LIKELIHOODS:
            raise InputError(
                f"for tables likelihood must be one of {', '.join(map(repr, LIKELIHOODS))}, got "
                f"{self.likelihood!r}: ego graphs need the graph in memory, as postel.PosteL has it"
            )
        if getattr(self.settings, "edge_weight", False) is not False:
            raise InputError(
                "tables count each row of edges once: for edge_weight use the transform on a graph in memory, as "
                "postel.PosteL has it"
            )
        if (self.settings.num_classes or 2) > MAX_CLASSES:
            raise InputError(f"num_classes must be at most {MAX_CLASSES}, got {self.settings.num_classes}")
        if self.columns.separator is not None:
            checked = replace(self.columns, separator=check_separator(self.columns.separator))
            object.__setattr__(self, "columns", checked)
        if self.threads is not None:
            check_count("threads", self.threads)
            if self.threads > MAX_THREADS:
                raise InputError(f"threads must be at most {MAX_THREADS}, got {self.threads}")
        if self.master is not None and self.engine in ("memory", "duckdb"):
            raise InputError(f"master {self.master!r} goes with engine spark or auto, not with {self.engine}")
        if self.temp_dir is not None and not self.temp_dir.is_dir():
            raise InputError(f"temp_dir {self.temp_dir} is no folder: make it or name another")

    @property
    def likelihood(self) -> str:
        """What the conditional is estimated from; the calibrated posterior knows edges only."""
        return self.settings.likelihood if isinstance(self.settings, PosteLSettings) else "edge"

    @property
    def self_loops(self) -> bool:
        """Whether a self-loop is a neighbor; to the calibrated posterior it is none, ever."""
        return isinstance(self.settings, PosteLSettings) and self.settings.self_loops

    @property
    def reverse(self) -> bool:
        """Whether histograms have K further columns: the centers that have a training node as their neighbor.

        They are what its own label is left out of the counts by.
        """
        return isinstance(self.settings, CalibratedSettings)


def parse_size(text: str | int) -> int:
    """Read a size as people write it.

    Args:
        text: The size, as ``2GB``; a number is one of bytes.

    Returns:
        The bytes.

    Raises:
        InputError: If it is no size.

    Example:
        >>> parse_size("2GB"), parse_size("1.5 GiB"), parse_size(4096)
        (2000000000, 1610612736, 4096)
        >>> parse_size("much")
        Traceback (most recent call last):
            ...
        postel.errors.InputError: a size like 2GB or 500MB was expected, got 'much'
    """
    match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(text), re.ASCII)
    size = float(match[1]) * _UNITS.get(match[2].upper(), 0) if match else 0.0
    if not size:
        raise InputError(f"a size like 2GB or 500MB was expected, got {str(text)[:60]!r}")
    # Beyond that engines fail on the number itself.
    return int(min(size, 2**53))
