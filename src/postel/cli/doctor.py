"""``postel doctor``: what is installed and available, and what to do where something is missing."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from postel.cli import options
from postel.cli.console import out, print_json, print_table
from postel.errors import InputError

_CORE = ("torch", "torch_geometric", "numpy", "scipy")
_SIGNS = {"ok": "✓", "lacking": "–", "wrong": "✗"}
_AREAS = {"core": "Core", "extras": "Extras", "data": "Data", "machine": "Machine", "store": "Store"}


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        area: The group it belongs to, such as ``"core"`` or ``"data"``.
        name: What was checked.
        state: ``"ok"``, ``"lacking"`` (something optional is missing) or ``"wrong"``.
        said: What was found.
        todo: What to do about it; empty if there is nothing to do.
    """

    area: str
    name: str
    state: Literal["ok", "lacking", "wrong"]
    said: str
    todo: str = ""


def doctor(
    store: Annotated[Path, typer.Option("--store", help="SQLite file of results to check.")] = Path(
        "postel.sqlite"
    ),
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
) -> None:
    """Show what is installed, whether it works, and what to do about what is missing.

    Nothing is downloaded or changed. The exit code is 0 when the core works, 1 when it does not.

    Example: postel doctor --store postel.sqlite
    """
    core = core_findings()
    works = all(finding.state == "ok" for finding in core)
    looks: list[Callable[[], list[Finding]]] = [extra_findings]
    if works:  # the other parts stand on it
        looks += [lambda: data_findings(data_root), machine_findings]
    findings = [*core, *(finding for look in looks for finding in look()), store_finding(store)]
    if as_json:
        print_json({"works": works, "findings": [asdict(finding) for finding in findings]})
    else:
        for area, title in _AREAS.items():
            rows = [_cells(finding) for finding in findings if finding.area == area]
            if rows:
                print_table(title, ("", "", ""), rows, left=3)
                out.print()
        out.print("The core works." if works else "The core does not work: see the lines marked ✗.", style="bold")
    if not works:
        raise typer.Exit(1)


def core_findings() -> list[Finding]:
    """Check whether the packages that everything needs are installed, and whether soft labels come out right."""
    findings = []
    for name in _CORE:
        try:
            importlib.import_module(name)
        except Exception as error:  # a package that is there and broken raises whatever it likes
            todo = f"pip install --force-reinstall {name}"
            findings.append(Finding("core", name, "wrong", f"{type(error).__name__}: {error}", todo))
        else:
            findings.append(Finding("core", name, "ok", metadata.version(name)))
    if all(finding.state == "ok" for finding in findings):
        findings.append(_trial())
    return [Finding("core", "python", "ok", platform.python_version()), *findings]


def extra_findings() -> list[Finding]:
    """Check what is installed of every extra, and name the command that installs the rest."""
    try:
        extras = extras_of(metadata.requires("postel") or [])
    except metadata.PackageNotFoundError:
        return [Finding("extras", "postel", "lacking", "is used without being installed", "pip install postel")]
    return [_extra(name, needs) for name, needs in extras.items() if name not in ("all", "dev")]


def extras_of(requirements: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the packages of every extra with their lowest versions.

    Args:
        requirements: Requirements as the metadata of an installed package holds them.

    Returns:
        Names and lowest versions of packages, by extra.

    Example:
        >>> extras_of(["torch>=2.6", 'typer>=0.15; extra == "cli"', 'postel[cli]; extra == "all"'])
        {'cli': [('typer', '0.15')], 'all': []}
    """
    extras: dict[str, list[tuple[str, str]]] = {}
    for requirement in requirements:
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", requirement)
        needed = re.match(r"([\w.-]+)(\[[^]]*\])?\s*(?:\(?>=\s*([\w.]+))?", requirement)
        if extra is None or needed is None:
            continue
        packages = extras.setdefault(extra[1], [])
        if needed[1] != "postel":  # an extra within an extra has a line of its own
            packages.append((needed[1], needed[3] or "0"))
    return extras


def data_findings(data_root: str | None) -> list[Finding]:
    """Check which datasets are at hand, in the data root or the cache, and whether they are the right ones.

    Args:
        data_root: The folder of graph files; that of ``POSTEL_DATA`` if None.

    Returns:
        The findings.
    """
    from postel.datasets.catalog import CATALOG
    from postel.datasets.sources import NotAtHandError, find_cache, obtain

    have, lack, findings = [], [], []
    for name, entry in CATALOG.items():
        try:
            obtain(entry, data_root=data_root, network=False, prepare=False)
        except NotAtHandError:
            lack.append(name)
        except InputError as error:
            findings.append(Finding("data", name, "wrong", str(error), f"postel fetch {name} --force"))
        else:
            have.append(name)
    findings.insert(0, Finding("data", "at hand", "ok", ", ".join(have)))
    if lack:
        todo = f"postel fetch {' '.join(lack)}, or --data-root FOLDER (POSTEL_DATA)"
        findings.append(Finding("data", "not at hand", "lacking", ", ".join(lack), todo))
    return [*findings, _folder("data", "cache", find_cache(), "set POSTEL_CACHE to a folder that can be written")]


def machine_findings() -> list[Finding]:
    """Check cores and threads, and Java for the Spark engine."""
    import torch

    from postel.scale.spark_session import check_java

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = torch.get_num_threads()
    said = f"cores: {usable}; threads of torch: {threads}; studies do best with --workers {usable}"
    slow = f"OMP_NUM_THREADS={usable}: more threads than cores slow each other down" if threads > usable else ""
    cores = Finding("machine", "threads", "lacking" if slow else "ok", said, slow)
    try:
        return [cores, Finding("machine", "java", "ok", check_java())]
    except InputError as error:
        return [
            cores,
            Finding("machine", "java", "lacking", str(error), "only postel smooth --engine spark needs it"),
        ]


def store_finding(path: Path) -> Finding:
    """Check whether a store is whole and can be written, and what it holds; nothing is changed.

    Args:
        path: The store's file.

    Returns:
        The finding.
    """
    tell = partial(Finding, "store", str(path))
    if not path.exists():
        return tell(
            "lacking", "is not there yet", "postel compare, tune and reproduce make one; --store names another"
        )
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=5)) as connection:
            health = connection.execute("PRAGMA quick_check").fetchone()[0]
            schema = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = {
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            counts = {
                name: connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0]
                for name in ("runs", "cells", "failures")
                if name in tables
            }
    except sqlite3.Error as error:
        todo = "name a store with --store; a damaged one can be saved with: sqlite3 FILE .recover"
        return tell("wrong", f"cannot be read: {error}", todo)
    if health != "ok" or "runs" not in counts:
        said = f"is damaged: {health}" if health != "ok" else "is no store of postel's"
        return tell("wrong", said, "sqlite3 FILE .recover, or begin another with --store")
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items()) + f"; schema {schema}, whole"
    if not os.access(path, os.W_OK) or not os.access(path.resolve().parent, os.W_OK):
        todo = "make the file and its folder writable to add results; reports work as it is"
        return tell("lacking", f"{said}, read-only", todo)
    failed = "postel report tells why runs failed; the same study retries"
    return tell("ok", said, failed if counts.get("failures") else "")


def _trial() -> Finding:
    """Compare PosteL on four nodes with the numbers that Eq. 1 to 4 give by hand."""
    import torch

    from postel import PosteL
    from postel.labels import KnownLabels

    edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
    known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=4)
    rows = PosteL(alpha=0.5, beta=0.5).soft_labels(edges, known)
    expected = torch.tensor([[11, 1], [1, 11], [2, 10], [6, 6]], dtype=rows.dtype) / 12
    if torch.allclose(rows, expected, atol=1e-9):
        return Finding("core", "soft labels", "ok", "right on a graph of four nodes")
    return Finding(
        "core", "soft labels", "wrong", f"came out as {rows.tolist()}", "pip install --upgrade postel torch"
    )


def _extra(name: str, needs: list[tuple[str, str]]) -> Finding:
    installed, lacking = [], []
    for package, least in needs:
        try:
            found = metadata.version(package)
        except metadata.PackageNotFoundError:
            lacking.append(package)
            continue
        installed.append(f"{package} {found}")
        if _numbers(found) < _numbers(least):
            lacking.append(f"{package}>={least}")
    said = ", ".join([*installed, *(f"{package} lacks" for package in lacking)]) or "nothing of its own"
    todo = f'pip install "postel[{name}]"' if lacking else ""
    return Finding("extras", name, "lacking" if lacking else "ok", said, todo)


def _folder(area: str, name: str, path: Path, todo: str) -> Finding:
    nearest = next(parent for parent in (path, *path.resolve().parents) if parent.exists())
    free = f"{shutil.disk_usage(nearest).free / 1e9:.1f} GB free"
    if not os.access(nearest, os.W_OK):
        return Finding(area, name, "lacking", f"{path} cannot be written", todo)
    return Finding(area, name, "ok", f"{path}, {free}" + ("" if path.exists() else ", made when needed"))


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, which order it well enough.

    >>> _numbers("2.13.0+cpu") > _numbers("2.6")
    True
    """
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0])[:3])


def _cells(finding: Finding) -> tuple[Any, ...]:
    from rich.text import Text

    said = Text(finding.said)
    if finding.todo:
        said.append(f" → {finding.todo}", "bold")
    return _SIGNS[finding.state], finding.name, said
