"""Constructor arguments in scikit-learn's manner: read, changed and printed."""

from __future__ import annotations

import inspect
from typing import Any, Self

from postel.checks import did_you_mean
from postel.errors import InputError
from postel.smoothers import Smoother


class Parameters:
    """What :class:`~postel.NodeClassifier` inherits, so that scikit-learn's ``clone`` and searches know it.

    A subclass stores each argument of its constructor unchanged, under its own name. Arguments of the soft-label
    method that it holds as ``smoother`` are named ``smoother__alpha`` and so on.

    Example:
        >>> from postel import NodeClassifier, PosteL
        >>> model = NodeClassifier("gcn", smoother=PosteL(alpha=0.8)).set_params(smoother__alpha=0.3, lr=0.05)
        >>> model.get_params()["smoother__alpha"], model.lr
        (0.3, 0.05)
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor by name.

        Args:
            deep: Whether to add the arguments of the soft-label method, as ``smoother__alpha``.

        Returns:
            The arguments.
        """
        own = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        smoother = own.get("smoother")
        if deep and isinstance(smoother, Smoother):
            own |= {f"smoother__{name}": value for name, value in smoother.params().items()}
        return own

    def set_params(self, **params: Any) -> Self:
        """Change some arguments of the constructor.

        A soft-label method is never changed itself, as others may hold it too: ``smoother__alpha=0.3`` puts a new
        one with that argument in its place.

        Args:
            **params: New values by name.

        Returns:
            The same object.

        Raises:
            InputError: If there is no such argument, or a value does not fit the soft-label method.
        """
        own = self.get_params(deep=False)
        nested: dict[str, Any] = {}
        for name in params:
            part, separator, rest = name.partition("__")
            if separator and part == "smoother":
                nested[rest] = params[name]
            elif name not in own:
                hint = did_you_mean(name, own)
                raise InputError(
                    f"{type(self).__name__} has no argument {name!r}; {hint}it takes {', '.join(own)}"
                )
        smoother = params.get("smoother", own.get("smoother"))
        if nested:
            smoother = _changed(smoother, nested)
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
        if nested:
            self.smoother = smoother
        return self

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in inspect.signature(type(self)).parameters.items()}
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if type(value) is not type(defaults[name]) or value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _changed(smoother: Any, changes: dict[str, Any]) -> Smoother:
    if not isinstance(smoother, Smoother):
        raise InputError(
            f"smoother is {smoother!r}, which has no argument {next(iter(changes))!r}; set smoother to a method "
            "such as PosteL() first"
        )
    return smoother.replaced(**changes)
