"""What a job writes, and temporary folders that are gone afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra
from postel.files import write_text
from postel.outputs import Target
from postel.owners import remove, scratch_name, scratch_names

_TEMPORARY = "postel"


@contextlib.contextmanager
def temporary_folder(parent: Path | None) -> Iterator[Path]:
    """Make a new folder that is removed at the end whatever happens.

    Those of earlier jobs that were killed are removed at the beginning.

    Args:
        parent: Where it is made; in the system's own place without it.

    Yields:
        The folder.

    Raises:
        InputError: If it cannot be made.
    """
    home = Path(tempfile.gettempdir()) if parent is None else parent
    for left in scratch_names(home, _TEMPORARY)[0]:
        remove(left)
    folder = home / scratch_name(_TEMPORARY)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        reason = f"no temporary folder can be made: {error.strerror}"
        raise InputError(f"{reason}; set temp_dir (--temp-dir) to another place") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def soft_label_targets(out: str, tables: bool, *, overwrite: bool = False) -> list[Target]:
    """List what a job writes: the soft labels, and beside them tables as JSON.

    Tables that an earlier job left there are written again even if nobody asks: they would tell of other numbers.

    Args:
        out: Where the soft labels go.
        tables: Whether tables are asked for.
        overwrite: Whether what is there may be replaced.

    Returns:
        One or two targets, soft labels first.

    Example:
        >>> [target.path.name for target in soft_label_targets("folder/soft.parquet", tables=True)]
        ['soft.parquet', 'soft.json']
    """
    beside = Target(Path(tables_path(out)), "JSON", ours=_are_tables)
    stale = overwrite and beside.path.is_file() and beside.could_be_ours()
    return [Target(Path(out), "Parquet", folder=True), *([beside] if tables or stale else [])]


def _are_tables(path: Path) -> bool:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"classes", "prior", "conditional", "settings"} <= set(found)


def check_free(there: bool, out: str, overwrite: bool) -> None:
    """Check that an output is not there already, or may be replaced.

    Args:
        there: Whether it is there.
        out: Its name.
        overwrite: Whether it may be replaced.

    Raises:
        InputError: If it is there and may not be replaced.
    """
    if there and not overwrite:
        raise InputError(f"{out} is there already: remove it, name another, or set overwrite (--overwrite)")


def write_rows(batches: Iterable[Any], ids: str, path: str) -> int:
    """Write rows (node, soft_label) to a Parquet file and flush it to the disk.

    Args:
        batches: Record batches of rows.
        ids: Kind of the node ids, ``integer`` or ``string``.
        path: The file.

    Returns:
        The number of rows.
    """
    pa, pq = require_extra("pyarrow", "tables"), require_extra("pyarrow.parquet", "tables")
    node = pa.int64() if ids == "integer" else pa.string()
    schema = pa.schema([("node", node), ("soft_label", pa.list_(pa.float64()))])
    rows = 0
    with Path(path).open("wb") as stream:
        # Float bits look random: a dictionary of them, or packing them, costs time and saves nothing.
        with pq.ParquetWriter(stream, schema, use_dictionary=False, compression="none") as writer:
            for batch in batches:
                writer.write_batch(batch.cast(schema))
                rows += batch.num_rows
        stream.flush()
        os.fsync(stream.fileno())
    return rows


def tables_path(out: str) -> str:
    """Name the file of the prior and conditional tables: beside the soft labels, as JSON.

    Args:
        out: Where the soft labels go.

    Returns:
        The file's name.

    Example:
        >>> tables_path("soft.parquet"), tables_path("folder/soft")
        ('soft.json', 'folder/soft.json')
    """
    return out.rstrip("/").removesuffix(".parquet") + ".json"


def write_tables(path: Path, tables: dict[str, Any]) -> None:
    """Write the prior and conditional tables as JSON.

    Args:
        path: The file.
        tables: Plain values by name.
    """
    write_text(path, json.dumps(tables, indent=2, allow_nan=False) + "\n")
