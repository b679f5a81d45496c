"""Every public definition says what it does and documents every parameter under ``Args:``.

ruff's D417 looks only at docstrings that have an ``Args:`` section; this test also fails where there is none.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import postel

#: Packages whose docstrings do not have their Args yet. A package that is done leaves the list for good.
NOT_YET: tuple[str, ...] = ()

_SECTION = re.compile(r"^(Args|Attributes):$", re.MULTILINE)
_ENTRY = re.compile(r"^    \*{0,2}(\w+)(?: \([^)]*\))?:", re.MULTILINE)


def modules() -> list[str]:
    """Names of all modules of the package whose docstrings are checked."""
    found = [postel.__name__, *(info.name for info in pkgutil.walk_packages(postel.__path__, "postel."))]
    return [name for name in found if not any(name == part or name.startswith(f"{part}.") for part in NOT_YET)]


def documented(docstring: str | None) -> set[str]:
    """Names that the ``Args:`` or ``Attributes:`` section of a docstring explains."""
    names: set[str] = set()
    text = inspect.cleandoc(docstring or "")
    for match in _SECTION.finditer(text):
        # The section ends at the next line that is not indented.
        body = re.split(r"^\S", text[match.end() :].lstrip("\n"), maxsplit=1, flags=re.MULTILINE)[0]
        names |= set(_ENTRY.findall(body))
    return names


def undocumented(module: ModuleType) -> Iterator[str]:
    """What is missing in a module, one line per definition."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            yield from _of_class(value)
        elif inspect.isfunction(inspect.unwrap(value)) and callable(value):
            yield from _missing(f"{module.__name__}.{name}", value, [value.__doc__])


def _of_class(cls: type) -> Iterator[str]:
    where = f"{cls.__module__}.{cls.__qualname__}"
    if not _own_doc(cls):
        yield f"{where} has no docstring"
    if _takes_arguments(cls):
        texts = [_own_doc(cls), cls.__init__.__doc__]
        texts += [_own_doc(base) for base in cls.__mro__[1:] if base.__module__.startswith("postel.")]
        yield from _missing(where, cls.__init__, texts)
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if name.startswith("_") or not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        if inspect.isfunction(function) and not function.__qualname__.startswith(f"{cls.__qualname__}."):
            continue  # a function from elsewhere, as the default of a field, is documented where it is defined
        same = [vars(base).get(name) for base in cls.__mro__]
        texts = [inspect.getdoc(found) for found in same if found is not None]
        if not any(texts):
            yield f"{where}.{name} has no docstring"
        elif inspect.isfunction(function):
            yield from _missing(f"{where}.{name}", function, texts)


def _own_doc(cls: type) -> str | None:
    text = vars(cls).get("__doc__")
    # A dataclass without a docstring gets its signature as one.
    generated = dataclasses.is_dataclass(cls) and text and text.startswith(f"{cls.__name__}(")
    return None if generated else text


def _takes_arguments(cls: type) -> bool:
    # Errors, enumerations and tuples have constructors that are not ours; an inherited one is checked at its home.
    if issubclass(cls, Exception) or not inspect.isfunction(vars(cls).get("__init__")):
        return False
    return not getattr(cls, "_is_protocol", False)


def _missing(where: str, function: Any, texts: list[str | None]) -> Iterator[str]:
    names = set().union(*map(documented, texts))
    lacking = [name for name in _parameters(function) if name not in names]
    if not any(texts):
        yield f"{where} has no docstring"
    elif lacking:
        yield f"{where} does not document {', '.join(lacking)}"


def _parameters(function: Any) -> list[str]:
    function = inspect.unwrap(function)
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("self", "cls") and not name.startswith("_") and not _is_option(parameter, function)
    ]


def _is_option(parameter: inspect.Parameter, function: Any) -> bool:
    # An option of a command is documented by its help, which the command prints; its context is typer's.
    hint = _hint(parameter, function)
    marks = [parameter.default, *getattr(hint, "__metadata__", ())]
    return getattr(hint, "__name__", "") == "Context" or any(getattr(mark, "help", None) for mark in marks)


def _hint(parameter: inspect.Parameter, function: Any) -> Any:
    if not isinstance(parameter.annotation, str) or "." not in function.__module__:
        return parameter.annotation
    try:
        return eval(parameter.annotation, vars(sys.modules[function.__module__]))
    except NameError:  # imported for type checkers only
        return None


@pytest.mark.parametrize("name", modules())
def test_every_parameter_is_documented(name: str) -> None:
    assert list(undocumented(importlib.import_module(name))) == []


def test_the_check_finds_what_is_missing() -> None:
    module = ModuleType("sample")
    source = '''
def silent(a): ...

def partly(a, b, **rest):
    """Do something.

    Args:
        a: The first,
            explained at length.

    Returns:
        b: not an argument.
    """

def whole(a, *b):
    """Do something.

    Args:
        a (int): The first.
        *b: The others.
    """

class Shape:
    """A shape."""

    def __init__(self, sides): ...

    def grow(self, by):
        """Grow."""

    def shrink(self): ...

class Square(Shape):
    """A square.

    Args:
        side: Its side.
    """

    def __init__(self, side): ...
'''
    exec(source, vars(module))
    for value in vars(module).values():
        if callable(value):
            value.__module__ = "sample"
    assert list(undocumented(module)) == [
        "sample.silent has no docstring",
        "sample.partly does not document b, rest",
        "sample.Shape does not document sides",
        "sample.Shape.grow does not document by",
        "sample.Shape.shrink has no docstring",
    ]
