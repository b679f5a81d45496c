"""The progress bar of a study: how much is done, how much is running, how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from postel.cli.console import notes

if TYPE_CHECKING:
    from postel.experiments.rows import Row
    from postel.experiments.spec import RunSpec


def time_left(fresh: int, elapsed: float, left: int) -> str:
    """Estimate how long the rest of a study will take.

    Args:
        fresh: How many runs have been done so far, without those that the store already had.
        elapsed: Seconds since the first of them was started.
        left: How many runs are left.

    Returns:
        The time left in words; empty if it cannot be estimated or nothing is left.

    Example:
        >>> time_left(10, 60.0, 95), time_left(0, 5.0, 3), time_left(3, 5.0, 0)
        ('0:09:30 left', '', '')
    """
    if fresh == 0 or left == 0:
        return ""
    minutes, seconds = divmod(round(elapsed / fresh * left), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02} left"


def make_bar(*columns: ProgressColumn, quiet: bool = False) -> Progress:
    """Make a progress bar on standard error that leaves nothing behind.

    Args:
        *columns: What stands behind description and bar.
        quiet: Whether to show nothing.
    """
    first = (TextColumn("{task.description}", markup=False), BarColumn())
    return Progress(*first, *columns, console=notes, disable=quiet, transient=True)


@contextmanager
def resumable(kept: Callable[[], str] | str) -> Iterator[None]:
    """End a command after Ctrl-C with a note that says what is kept.

    Args:
        kept: What is kept, and how to go on; a function if it changes within the block.
    """
    try:
        yield
    except KeyboardInterrupt:
        notes.print(f"interrupted: {kept if isinstance(kept, str) else kept()}")
        raise typer.Exit(130) from None


class StudyView:
    """A progress bar on standard error that appears with the first event; its methods are a study's callbacks.

    Args:
        title: What stands before the bar.
        total: How many runs there will be; if None, :meth:`trial` moves the bar.
        workers: How many runs can run at a time.
        quiet: Whether to show nothing.
    """

    def __init__(self, title: str, total: int | None, workers: int, *, quiet: bool = False) -> None:
        self.workers, self.total = workers, total
        self.stored = self.fresh = self.failed = self.started = 0
        self._first: float | None = None
        self._shown = False
        note = TextColumn("{task.fields[note]}", markup=False)
        self.progress = make_bar(MofNCompleteColumn(), note, TimeElapsedColumn(), quiet=quiet)
        self.bar = self.progress.add_task(title, total=total, note="")

    def __enter__(self) -> StudyView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the bar, if it was shown."""
        if self._shown:
            self._shown = False
            self.progress.stop()

    @property
    def done(self) -> int:
        """Number of runs that have a row."""
        return self.stored + self.fresh

    def row(self, row: Row) -> None:
        """Note that a run is done, or was found in the store.

        Args:
            row: Its row.
        """
        if self.started > self.fresh + self.failed:
            self.fresh += 1
        else:
            self.stored += 1
        self._show()

    def start(self, spec: RunSpec) -> None:
        """Note that a run was handed to a worker.

        Args:
            spec: What is run.
        """
        self.started += 1
        self._first = self._first or time.monotonic()
        self._show()

    def failure(self, spec: RunSpec, text: str) -> None:
        """Note that a run has failed.

        Args:
            spec: What was run.
            text: The traceback.
        """
        self.failed += 1
        self._show()

    def trial(self, done: int, limit: int) -> None:
        """Note how far a search is.

        Args:
            done: How many trainings were spent.
            limit: About how many there will be.
        """
        self._appear()
        self.progress.update(self.bar, completed=done, total=limit)

    def _appear(self) -> None:
        if not self._shown:
            self._shown = True
            self.progress.start()

    def _show(self) -> None:
        self._appear()
        # A few runs more than can run are handed out ahead.
        running = min(self.workers, self.started - self.fresh - self.failed)
        parts = [f"{running} running"] if running > 0 else []
        parts += [f"{self.failed} failed"] if self.failed else []
        if self.total is not None:
            elapsed = 0.0 if self._first is None else time.monotonic() - self._first
            parts.append(time_left(self.fresh, elapsed, self.total - self.done - self.failed))
            self.progress.update(self.bar, completed=self.done + self.failed)
        else:
            parts.append(f"{self.done} runs")
        self.progress.update(self.bar, note=", ".join(filter(None, parts)))
