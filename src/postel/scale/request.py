"""What is asked for: the tables, the settings of the method and where the work may go; checked before any work."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from postel.errors import InputError

ENGINES = ("auto", "memory", "duckdb", "spark")
MAX_CLASSES = 10_000

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are read, and how files are to be understood."""

    source: str = "source"
    target: str = "target"
    node: str = "node"
    label: str = "label"
    separator: str = ","
    id_type: str = "auto"


@dataclass(frozen=True)
class Method:
    """The settings of the method; names and defaults are those of :class:`postel.PosteL`."""

    alpha: float = 0.8
    beta: float = 0.4
    likelihood: str = "edge"
    noise: str = "uniform"
    isolated: str = "prior"
    centers: str = "labelled"
    self_loops: bool = False
    num_classes: int | None = None

    def __post_init__(self) -> None:
        _check_range("alpha", self.alpha, 1.0)
        _check_choice("noise", self.noise, ("uniform", "off-target"))
        _check_range("beta", self.beta, 1.0 if self.noise == "off-target" else math.inf)
        _check_choice("likelihood", self.likelihood, ("edge", "normalized"))
        _check_choice("isolated", self.isolated, ("prior", "one-hot"))
        _check_choice("centers", self.centers, ("labelled", "train"))
        k = self.num_classes
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or not 2 <= k <= MAX_CLASSES):
            raise InputError(f"num_classes must be a whole number from 2 to {MAX_CLASSES}, got {k!r}")


@dataclass(frozen=True)
class Request:
    """One job: tables in, soft labels out."""

    edges: str
    labels: str
    out: str
    pseudo_labels: str | None = None
    columns: Columns = field(default_factory=Columns)
    method: Method = field(default_factory=Method)
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
        _check_choice("engine", self.engine, ENGINES)
        _check_choice("nodes", self.nodes, ("train", "all"))
        _check_choice("id_type", self.columns.id_type, ("auto", "integer", "string"))
        if len(self.columns.separator) != 1:
            raise InputError(f"separator must be a single character, got {self.columns.separator!r}")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads must be at least 1, got {self.threads}")
        if self.master is not None and self.engine in ("memory", "duckdb"):
            raise InputError(f"master {self.master!r} goes with engine spark or auto, not with {self.engine}")
        if self.temp_dir is not None and not self.temp_dir.is_dir():
            raise InputError(f"temp_dir {self.temp_dir} is no folder: make it or name another")


def parse_size(text: str | int) -> int:
    """Bytes from a size as people write it.

    >>> parse_size("2GB"), parse_size("1.5 GiB"), parse_size(4096)
    (2000000000, 1610612736, 4096)
    >>> parse_size("much")
    Traceback (most recent call last):
        ...
    postel.errors.InputError: a size like 2GB or 500MB was expected, got 'much'
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(text))
    if match is None or match[2].upper() not in _UNITS or not float(match[1]):
        raise InputError(f"a size like 2GB or 500MB was expected, got {str(text)!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _check_range(name: str, value: object, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or math.isinf(value):
        raise InputError(f"{name} must be a number, got {value!r}")
    if not 0 <= value <= high:
        limits = f"lie in [0, {high:g}]" if math.isfinite(high) else "be at least 0"
        raise InputError(f"{name} must {limits}, got {value}")
