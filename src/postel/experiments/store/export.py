"""Rows as flat lines for spreadsheets and data frames: one column per setting and metric."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from postel.errors import InputError, require_extra
from postel.experiments.rows import Row
from postel.experiments.spec import RunSpec
from postel.files import replacing, write_text
from postel.training.metrics import Scores
from postel.training.result import Result

_SCORES = tuple(field.name for field in fields(Scores))
_RESULT = tuple(field.name for field in fields(Result))
# What a later release added has a default: lines of earlier ones do not have it.
_ADDED = {field.name for field in fields(Result) if field.default is not MISSING}


def flat_line(row: Row) -> dict[str, Any]:
    """Return one run as a flat mapping: every field of its spec, every metric, versions, host and seconds.

    Hyper-parameters of method and backbone are JSON, ``pseudo_labels`` is yes, no or a number as in commands.

    Args:
        row: The run; its curves are left out.

    Returns:
        The values by column.
    """
    values = row.without_rounds().as_dict()
    line: dict[str, Any] = {"key": row.key}
    for name, value in values["spec"].items():
        if name == "method":
            line["method"] = value["name"]
            line["method_params"] = json.dumps(value["params"], sort_keys=True)
        elif name == "backbone_args":
            line[name] = json.dumps(value, sort_keys=True)
        elif name == "pseudo_labels":
            line[name] = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        else:
            line[name] = value
    for name, value in values["result"].items():
        if name in ("val", "test"):
            line.update({f"{name}_{metric}": score for metric, score in (value or {}).items()})
        elif value is not None or name not in _ADDED:
            line[name] = value
    return {**line, "collapsed": row.collapsed, **row.made_by}


def row_of_line(line: Mapping[str, Any]) -> Row:
    """Make a row from a line of :func:`flat_line`.

    Args:
        line: The values by column; None stands for a missing one.

    Returns:
        The row.

    Raises:
        InputError: If it is no run, or its spec has another key than its own.
    """
    try:
        values = {name: value for name, value in line.items() if value is not None}
        rounds = values.pop("pseudo_labels")
        settings = {name: values.pop(name) for name in RunSpec.model_fields if name in values}
        settings["method"] = {"name": settings["method"], "params": json.loads(values.pop("method_params"))}
        settings["backbone_args"] = json.loads(settings["backbone_args"])
        settings["pseudo_labels"] = {"yes": True, "no": False}[rounds] if rounds in ("yes", "no") else int(rounds)
        spec = RunSpec(**settings)
        scores = {
            part: {name: values.pop(f"{part}_{name}") for name in _SCORES if f"{part}_{name}" in values} or None
            for part in ("val", "test")
        }
        names = [name for name in _RESULT if name in values or name not in _ADDED]
        result = Result.from_dict({n: scores[n] if n in scores else values.pop(n) for n in names})
        key, collapsed = values.pop("key"), bool(values.pop("collapsed", False))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"a line of results does not say what a run was: {error!r}") from error
    if spec.key != key:
        raise InputError(f"the run {key} was changed: its settings belong to {spec.key}")
    return Row(key, spec, result, collapsed, made_by=values)


def write_lines(rows: Sequence[Row], path: Path) -> int:
    """Write rows as flat lines.

    Args:
        rows: The runs.
        path: The file; its extension, .csv or .parquet, decides the format.

    Returns:
        The number of lines.

    Raises:
        InputError: If the file has another extension.
    """
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise InputError(f"results are exported to a file that ends in .csv or .parquet, got {path.name}")
    lines = [flat_line(row) for row in rows]
    columns = list(dict.fromkeys(name for line in lines for name in line))
    if ending == ".csv":
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, columns, restval="")
        writer.writeheader()
        writer.writerows(lines)
        write_text(path, text.getvalue())
    else:
        write_parquet(path, lines, columns)
    return len(lines)


def write_parquet(
    path: Path, lines: Sequence[Mapping[str, Any]], columns: Sequence[str], kind: str | None = None
) -> None:
    """Write lines as a Parquet file.

    Args:
        path: The file.
        lines: The values by column.
        columns: The columns to write, in order.
        kind: The type of all columns; if None, that of their values.
    """
    pyarrow = require_extra("pyarrow", "tables")
    parquet = require_extra("pyarrow.parquet", "tables")
    table = pyarrow.table({name: pyarrow.array([line.get(name) for line in lines], kind) for name in columns})
    with replacing(path) as stream:
        parquet.write_table(table, stream, compression="zstd", compression_level=19)
