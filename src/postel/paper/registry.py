"""The targets of ``postel reproduce`` by name: every file of the folders ``tables`` and ``figures``."""

from __future__ import annotations

import importlib
import pkgutil

from postel.checks import did_you_mean
from postel.errors import InputError
from postel.paper import figures, tables
from postel.paper.target import Target

#: Names of earlier releases that still work.
RENAMED = {"figure-neighbours": "figure-neighbors"}


def target_names() -> list[str]:
    """The names, tables first.

    >>> target_names()[:2], len(target_names())
    (['table-ablation', 'table-calibrated'], 21)
    """
    return [
        f"{kind}-{module.name.replace('_', '-')}"
        for kind, folder in (("table", tables), ("figure", figures))
        for module in pkgutil.iter_modules(folder.__path__)
    ]


def find_target(name: str) -> Target:
    """The target called ``name``.

    >>> find_target("table-main").title
    'Test accuracy of every method, backbone and dataset'
    """
    name, names = RENAMED.get(name, name), target_names()
    if name not in names:
        hint = did_you_mean(name, names).strip() or f"there are {', '.join(names)}"
        raise InputError(f"there is no table or figure {name!r}; {hint}")
    kind, _, rest = name.partition("-")
    module = importlib.import_module(f"postel.paper.{kind}s.{rest.replace('-', '_')}")
    target: Target = module.TARGET
    return target
