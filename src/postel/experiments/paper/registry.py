"""The targets of ``postel reproduce`` by name: every file ``table_*.py`` and ``figure_*.py`` of this folder."""

from __future__ import annotations

import difflib
import importlib
import pkgutil

import postel.experiments.paper as folder
from postel.errors import InputError
from postel.experiments.paper.target import Target


def target_names() -> list[str]:
    """The names, tables first.

    >>> target_names()[:2], len(target_names())
    (['table-ablation', 'table-datasets'], 19)
    """
    modules = [module.name for module in pkgutil.iter_modules(folder.__path__)]
    names = [name.replace("_", "-") for name in modules if name.startswith(("table_", "figure_"))]
    return sorted(names, key=lambda name: (not name.startswith("table"), name))


def find_target(name: str) -> Target:
    """The target called ``name``.

    >>> find_target("table-main").title
    'Test accuracy of every method, backbone and dataset'
    """
    names = target_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
        raise InputError(f"there is no table or figure {name!r}; {hint}")
    module = importlib.import_module(f"postel.experiments.paper.{name.replace('-', '_')}")
    target: Target = module.TARGET
    return target
