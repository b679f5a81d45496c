"""The two ways a user can be wrong: bad input, and an optional package that is not installed."""

from __future__ import annotations

import importlib
from typing import Any


class InputError(ValueError):
    """What came, what was expected and what to do, in one sentence; commands print it and exit with 2."""


class MissingExtraError(ImportError):
    """An optional package is needed; the message holds the pip command."""


def require_extra(module: str, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Name of the module.
        extra: The extra of postel that installs it.

    Returns:
        The module.

    Raises:
        MissingExtraError: If it is not installed; the message holds the pip command.

    Example:
        >>> require_extra("json", "cli").__name__
        'json'
        >>> require_extra("no_such_package", "plots")
        Traceback (most recent call last):
            ...
        postel.errors.MissingExtraError: no_such_package is not installed; run: pip install "postel[plots]"
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'{module} is not installed; run: pip install "postel[{extra}]"') from error
