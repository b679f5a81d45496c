"""What targets measure beside trainings, such as t-SNE coordinates: measured once, then read from the store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from postel.experiments.store.packing import packed, unpacked
from postel.experiments.store.sqlite import Store

_TABLE = "CREATE TABLE IF NOT EXISTS measured (target TEXT, key TEXT, value BLOB, PRIMARY KEY (target, key))"

_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'measured'"


class Measurements:
    """Plain values by target and key, in a table of their own beside the rows.

    Args:
        store: The store that holds them.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     measured = Measurements(Store(Path(folder) / "rows.sqlite"))
        ...     measured.put("figure-tsne", "texas", [1.5, 2])
        ...     measured.get("figure-tsne", "texas"), measured.get("figure-tsne", "cora")
        ([1.5, 2], None)
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def put(self, target: str, key: str, value: Any) -> None:
        """Store a value, in place of any that has the same key.

        Args:
            target: The target that measured it, such as ``figure-tsne``.
            key: What was measured.
            value: Plain values, without NaN and infinity.
        """
        content = packed(value)
        with self.store.writing() as connection:
            connection.execute(_TABLE)
            connection.execute("INSERT OR REPLACE INTO measured VALUES (?, ?, ?)", (target, key, content))

    def get(self, target: str, key: str) -> Any:
        """Return a stored value.

        Args:
            target: The target that measured it.
            key: What was measured.

        Returns:
            The value, or None if there is none.
        """
        with self.store.reading() as connection:
            if connection.execute(_THERE).fetchone() is None:
                return None
            query = "SELECT value FROM measured WHERE target = ? AND key = ?"
            found = connection.execute(query, (target, key)).fetchone()
        return None if found is None else self._unpacked(target, found[0])

    def all(self) -> Iterator[tuple[str, str, Any]]:
        """Yield every target, key and value, in order."""
        with self.store.reading() as connection:
            if connection.execute(_THERE).fetchone() is None:
                return
            for target, key, value in connection.execute("SELECT * FROM measured ORDER BY target, key"):
                yield target, key, self._unpacked(target, value)

    def _unpacked(self, target: str, content: Any) -> Any:
        try:
            return unpacked(content)
        except ValueError as error:
            raise self.store.damaged(f"in what {target!s:.40} measured: {error}") from error
