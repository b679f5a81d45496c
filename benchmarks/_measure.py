"""Timing that survives a busy machine: sides take turns in one process, and CPU time of one thread is counted."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping


def interleaved(sides: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    """Return CPU milliseconds per epoch for each side, one value per round, after one turn to warm up.

    A side is a function that runs some epochs and returns how many.
    """
    times: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, run in sides.items():
            started = time.process_time()
            epochs = run()
            spent = (time.process_time() - started) / epochs * 1e3
            if turn > 0:
                times[name].append(spent)
    return times


def peak_megabytes() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A plain-text table: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    lines = []
    for row in [columns, *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells))
    return "\n".join(lines)
