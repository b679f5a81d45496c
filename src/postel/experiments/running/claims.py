"""Who is running what: marks in the store that keep two studies from doing the same run."""

from __future__ import annotations

import threading
import time
import uuid
from types import TracebackType
from typing import Literal

from postel.errors import InputError
from postel.experiments.store import Store
from postel.owners import is_dead, this_process

#: Seconds after which a claim that nobody renews is anybody's.
LEASE = 60.0


class Claims:
    """The claims of one study, renewed in the background until the block ends.

    A claim is given up with the block, is void at once when its process is seen dead on this machine, and after
    ``lease`` seconds when the process was on another one.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "rows.sqlite")
    ...     with Claims(store) as ours, Claims(store) as theirs:
    ...         ours.take("a"), theirs.take("a"), theirs.take("b")
    ('ours', 'theirs', 'ours')
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
                raise  # with an error under way, that one is told: a full disk hinders both

    def take(self, key: str) -> Literal["ours", "theirs", "over"]:
        """Whose the run is now; ``"over"`` if it has its row, or has failed since this block began."""
        now = time.time()
        with self.store.writing() as connection:
            if connection.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone():
                return "over"
            if connection.execute(
                "SELECT 1 FROM failures WHERE key = ? AND at >= ?", (key, self.since)
            ).fetchone():
                return "over"
            held = connection.execute("SELECT owner, expires FROM claims WHERE key = ?", (key,)).fetchone()
            if held and held[0] != self.owner and held[1] > now and not is_dead(held[0]):
                return "theirs"
            claim = (key, self.owner, now + self.lease)
            connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", claim)
        return "ours"

    def _renew(self) -> None:
        while not self._over.wait(self.lease / 4):
            try:
                with self.store.writing() as connection:
                    expires = time.time() + self.lease
                    connection.execute("UPDATE claims SET expires = ? WHERE owner = ?", (expires, self.owner))
            except InputError:
                continue  # the study's own next write tells of it
