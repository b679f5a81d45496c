"""Which engine ``auto`` takes, and why, in words."""

from __future__ import annotations

import os
from pathlib import Path

from postel.errors import InputError
from postel.scale.engine import Inputs
from postel.scale.request import Request

# What the memory engine takes besides the tables' own size: lookups, histograms, and the rows being written.
_FACTOR = 3


def choose_engine(request: Request, inputs: Inputs) -> tuple[str, str]:
    """Choose where a job counts.

    ``auto`` takes Spark where there is a master or an address that only Spark reads; memory where three times the
    tables' size is less than half of the free memory; DuckDB otherwise.

    Args:
        request: The job.
        inputs: Its opened tables.

    Returns:
        The name of the engine, and the reason in words.

    Raises:
        InputError: If the engine that was asked for cannot read the tables.
    """
    remote = [table for table in inputs.tables if table.remote]
    if request.engine != "auto":
        if remote and request.engine != "spark":
            raise InputError(f"{remote[0].what} {remote[0].path} is at an address: only engine spark reads it")
        return request.engine, "it was asked for"
    if request.master is not None:
        return "spark", f"the master {request.master} was given"
    if remote:
        return "spark", f"{remote[0].path} is at an address"
    free, need = free_memory(), _FACTOR * inputs.size
    words = f"about {need / 1e9:.2g} GB are needed and {free / 1e9:.2g} GB of memory are free"
    return ("memory", words) if need < free / 2 else ("duckdb", words)


def free_memory() -> int:
    """Return how many bytes of memory this process may still take; 4 GB where the system does not tell."""
    free = 4 * 10**9
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    elif "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", {}):
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # A container's limit is not in the machine's figures.
    group = Path("/sys/fs/cgroup")
    limit, used = group / "memory.max", group / "memory.current"
    if limit.exists() and used.exists() and (most := limit.read_text().strip()) != "max":
        free = min(free, max(0, int(most) - int(used.read_text())))
    return free
