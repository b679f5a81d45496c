"""A user's own network: a class, a function or an instance, made fresh for every training."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from postel.errors import InputError

ModelFn = Callable[[int, int], nn.Module]

#: What torch_geometric's models ask for and have no default of their own for: as wide and deep as our GCN.
_SIZES = {"hidden_channels": 64, "num_layers": 2}


def make_module(
    model: ModelFn | nn.Module, in_channels: int, out_channels: int, arguments: Mapping[str, Any]
) -> nn.Module:
    """Make a fresh module of a user's model; its weights come from torch's global generator.

    Args:
        model: A class, as ``torch_geometric.nn.GCN``; a function ``model_fn(in_channels, out_channels)``; or an
            instance, which is copied and reset and stays as it is itself.
        in_channels: Number of features per node.
        out_channels: Number of classes.
        arguments: Further arguments of the class or function. A class that needs ``hidden_channels`` or
            ``num_layers`` and is given none has 64 and 2.

    Returns:
        The module.

    Raises:
        InputError: If the model cannot be made with these arguments, an instance cannot be reset or has other
            sizes than the graph, or no module comes back.

    Example:
        >>> from torch_geometric.nn import GCN
        >>> make_module(GCN, 4, 3, {})
        GCN(4, 3, num_layers=2)
        >>> make_module(nn.Linear(4, 3), 4, 3, {}).weight.shape
        torch.Size([3, 4])
    """
    if isinstance(model, nn.Module):
        return _copy(model, in_channels, out_channels, arguments)
    if not callable(model):
        raise InputError(
            f"backbone must be a name, a class, a function or a torch module, got {type(model).__name__}"
        )
    if isinstance(model, type):
        module = _of_class(model, in_channels, out_channels, arguments)
    else:
        module = model(in_channels, out_channels, **arguments)
    if not isinstance(module, nn.Module):
        raise InputError(f"model_fn must return a torch module, got {type(module).__name__}")
    return module


def _of_class(model: type, in_channels: int, out_channels: int, arguments: Mapping[str, Any]) -> Any:
    if not issubclass(model, nn.Module):
        raise InputError(f"{model.__name__} is no class of torch modules")
    parameters = inspect.signature(model).parameters
    open_ended = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in arguments:
        if name not in parameters and not open_ended:
            raise InputError(f"{model.__name__} has no argument {name!r}; it takes {', '.join(parameters)}")
    if not {"in_channels", "out_channels"} <= parameters.keys():
        return _made(model, in_channels, out_channels, **arguments)
    sizes = {
        name: size
        for name, size in _SIZES.items()
        if name in parameters and parameters[name].default is inspect.Parameter.empty
    }
    # torch_geometric's MLP has None as the default of all its sizes: without them it has no layer at all.
    if "channel_list" in parameters and "channel_list" not in arguments:
        sizes = dict(_SIZES)
    return _made(model, **{"in_channels": in_channels, "out_channels": out_channels, **sizes, **arguments})


def _made(model: type, *sizes: int, **arguments: Any) -> Any:
    try:
        return model(*sizes, **arguments)
    except TypeError as error:
        raise InputError(f"{model.__name__} cannot be made with these arguments: {error}") from error


def _copy(model: nn.Module, in_channels: int, out_channels: int, arguments: Mapping[str, Any]) -> nn.Module:
    name = type(model).__name__
    if arguments:
        raise InputError(f"backbone_args are for names, classes and functions; this {name} is made already")
    for size, expected, what in (
        ("in_channels", in_channels, "features"),
        ("out_channels", out_channels, "classes"),
    ):
        found = getattr(model, size, None)
        if isinstance(found, int) and not isinstance(found, bool) and found not in (expected, -1):
            raise InputError(f"this {name} has {size}={found}, but the graph has {expected} {what}")
    module = copy.deepcopy(model)
    _reset(module)
    return module


def _reset(module: nn.Module) -> None:
    """Draw the weights anew: by the module's own ``reset_parameters``, else by those of its parts."""
    reset = getattr(module, "reset_parameters", None)
    if callable(reset):
        reset()
        return
    if next(module.parameters(recurse=False), None) is not None:
        raise InputError(
            f"{type(module).__name__} has weights but no reset_parameters(), so it cannot be trained from fresh "
            "ones; pass its class or a function that makes it"
        )
    for part in module.children():
        _reset(part)
