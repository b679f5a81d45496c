"""The two ways a user can be wrong: bad input, and an optional package that is not installed."""

from __future__ import annotations

import importlib
from typing import Any


class InputError(ValueError):
    """What came, what was expected and what to do, in one sentence; commands print it and exit with 2."""


class MissingExtraError(ImportError):
    """An optional package is needed; the message holds the pip command."""


def require_extra(module: str, extra: str) -> Any:
    """The imported ``module``, or one sentence that says how to install it.

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
