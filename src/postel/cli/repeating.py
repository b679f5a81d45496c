"""A run once more: its spec from a file or a store, and what beside the spec decides how it is computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postel.errors import InputError

if TYPE_CHECKING:
    import typer

    from postel.experiments.spec import RunSpec

#: What may stand beside ``--from``: where the run is computed and what becomes of it, not what it is.
_BESIDE = {"repeated", "key", "out", "overwrite", "data_root", "as_json", "device"}


def ways_of(batch_size: int | None, device: str) -> dict[str, Any]:
    """Collect how a run is computed, as far as that is not the usual way, the whole graph on the CPU.

    A spec does not tell it: specs name runs whose bytes are the same everywhere.

    Args:
        batch_size: Training nodes in a step, None for all of the graph.
        device: The torch device.

    Returns:
        Arguments of ``NodeClassifier``.

    Example:
        >>> ways_of(None, "cpu"), ways_of(512, "cpu")
        ({}, {'batch_size': 512})
    """
    in_batches: dict[str, Any] = {} if batch_size is None else {"batch_size": batch_size}
    return in_batches | ({} if device == "cpu" else {"device": device})


def refuse_settings(context: typer.Context) -> None:
    """Check that nothing but the run to repeat says what is trained.

    Args:
        context: The command's context.

    Raises:
        InputError: If a setting was typed as well.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name not in _BESIDE and source is not None and source.name == "COMMANDLINE":
            spelled = parameter.opts[0] if parameter.opts[0].startswith("-") else "GRAPH"
            raise InputError(f"--from says what to train; leave out {spelled}, or name a graph instead of --from")


def stored_run(
    path: Path, key: str | None, ways: dict[str, Any]
) -> tuple[RunSpec, dict[str, Any] | None, dict[str, Any]]:
    """Read the run that a user wants again.

    Args:
        path: A run.json, a folder that has one, or with ``key`` a store or a folder of exported rows.
        key: The run's key in a store.
        ways: How it is to be computed, as far as the user says.

    Returns:
        The spec, the validation scores it had (None if the file has none), and how it is computed.

    Raises:
        InputError: If there is no such run.
    """
    from pydantic import ValidationError

    from postel.experiments.spec import RunSpec
    from postel.experiments.store.folder import open_results

    if not path.exists():
        raise InputError(f"there is no {path}; --from takes a run.json, a model's folder or a store")
    if key is not None:
        rows = open_results(path).rows([key], rounds=False)
        if not rows:
            raise InputError(f"{path} has no run {key}")
        return rows[0].spec, rows[0].result.val.as_dict(), ways
    file = path / "run.json" if path.is_dir() else path
    if not file.is_file() or file.suffix == ".sqlite":
        raise InputError(f"{path} may hold many runs; name one with --key")
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        spec = RunSpec(**values.get("spec", values))
    except (OSError, ValueError, TypeError, AttributeError, ValidationError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise InputError(f"{file} is no run.json, as postel train --out writes: {reason}") from error
    stored = values.get("ways", {}) if isinstance(values.get("ways", {}), dict) else {}
    allowed = {name: stored[name] for name in ("batch_size", "device") if name in stored}
    result = values.get("result")
    return spec, (result or {}).get("val"), {**allowed, **ways}
