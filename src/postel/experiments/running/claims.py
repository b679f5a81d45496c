"""Claims on runs: marks in the store that keep two studies from doing the same run at the same time."""

from __future__ import annotations

import threading
import time
import uuid
from types import TracebackType
from typing import Literal

from postel.errors import InputError
from postel.experiments.store import Store
from postel.owners import is_dead, this_process

#: Seconds after which a claim that is not renewed is void.
LEASE = 60.0


class Claims:
    """The claims of one study, renewed in the background until the block ends.

    A claim ends with the block. If its process dies, it is void at once on the same machine, and after ``lease``
    seconds on another one.

    Args:
        store: The store that holds the runs.
        lease: Seconds after which a claim that is not renewed is void.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(Path(folder) / "rows.sqlite")
        ...     with Claims(store) as first, Claims(store) as second:
        ...         first.take("a"), second.take("a"), second.take("b")
        ('claimed', 'busy', 'claimed')
    """

    def __init__(self, store: Store, lease: float = LEASE) -> None:
        self.store, self.lease = store, lease
        self.owner = f"{this_process()} {uuid.uuid4().hex}"
        self.since = time.time()
        self._over = threading.Event()
        self._renewal = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Claims:
        self._renewal.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._renewal.join()
        try:
            with self.store.writing() as connection:
                connection.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))
        except InputError:
            if kind is None:
                raise  # an error under way is the one to report: a full disk causes both

    def take(self, key: str) -> Literal["claimed", "busy", "done"]:
        """Claim a run unless another study has it.

        Args:
            key: The key of the run's spec.

        Returns:
            ``"claimed"`` if the run is now this study's, ``"busy"`` if another study is running it, ``"done"`` if
            it has its row or has failed since this block began.
        """
        now = time.time()
        with self.store.writing() as connection:
            if connection.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone():
                return "done"
            if connection.execute(
                "SELECT 1 FROM failures WHERE key = ? AND at >= ?", (key, self.since)
            ).fetchone():
                return "done"
            held = connection.execute("SELECT owner, expires FROM claims WHERE key = ?", (key,)).fetchone()
            if held and held[0] != self.owner and held[1] > now and not is_dead(held[0]):
                return "busy"
            claim = (key, self.owner, now + self.lease)
            connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", claim)
        return "claimed"

    def _renew(self) -> None:
        while not self._over.wait(self.lease / 4):
            try:
                with self.store.writing() as connection:
                    expires = time.time() + self.lease
                    connection.execute("UPDATE claims SET expires = ? WHERE owner = ?", (expires, self.owner))
            except InputError:
                continue  # the study's own next write will raise it
