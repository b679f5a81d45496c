"""Output that is under its final name whole or not at all, and temporary folders that are gone afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra
from postel.files import write_text


@contextlib.contextmanager
def temporary_folder(parent: Path | None) -> Iterator[Path]:
    """A new folder under ``parent`` (the system's own without it), removed at the end whatever happens."""
    try:
        name = tempfile.mkdtemp(prefix="postel-", dir=parent)
    except OSError as error:
        reason = f"no temporary folder can be made: {error.strerror}"
        raise InputError(f"{reason}; set temp_dir (--temp-dir) to another place") from error
    try:
        yield Path(name)
    finally:
        shutil.rmtree(name, ignore_errors=True)


@contextlib.contextmanager
def placed(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary name beside ``out`` that becomes ``out`` when the block ends well, and is removed otherwise.

    What is written there may be a file or a folder.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = Path(folder) / "a"
    ...     with placed(out) as name:
    ...         _ = name.write_text("whole")
    ...     out.read_text(), len(list(Path(folder).iterdir()))
    ('whole', 1)
    """
    check_free(out.exists(), str(out), overwrite)
    part = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        # A folder that cannot be written to should be known of before the work, not after it.
        part.touch()
        part.unlink()
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}; choose another folder") from error
    try:
        yield part
        if out.exists() and (out.is_dir() or part.is_dir()):
            # A folder is not replaced in one step: what is there is moved aside first.
            aside = part.with_suffix(".old")
            out.rename(aside)
            part.rename(out)
            _remove(aside)
        else:
            part.replace(out)
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def check_free(there: bool, out: str, overwrite: bool) -> None:
    """Raise one clear sentence where the output is there already and may not be replaced."""
    if there and not overwrite:
        raise InputError(f"{out} is there already: remove it, name another, or set overwrite (--overwrite)")


def write_rows(batches: Iterable[Any], ids: str, path: str) -> int:
    """The number of rows written to the Parquet file ``path``: (node, soft_label), flushed to the disk."""
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
    """Where the prior and conditional tables go: beside the soft labels, as JSON.

    >>> tables_path("soft.parquet"), tables_path("folder/soft")
    ('soft.json', 'folder/soft.json')
    """
    return out.rstrip("/").removesuffix(".parquet") + ".json"


def write_tables(path: Path, tables: dict[str, Any]) -> None:
    """Nothing; ``path`` then holds ``tables`` as JSON."""
    write_text(path, json.dumps(tables, indent=2, allow_nan=False) + "\n")
