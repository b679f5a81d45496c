"""A fitted model as a folder: ``weights.safetensors`` and ``model.json``; nothing is pickled."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from postel.backbones import BACKBONES, Backbone, ModelFn, make_backbone
from postel.errors import InputError, require_extra
from postel.files import is_file, write_text
from postel.outputs import Target, writing
from postel.smoothers import Smoother
from postel.training.fitting import check_device
from postel.training.names import checked_card_names
from postel.training.result import Result

if TYPE_CHECKING:
    from postel.training.classifier import NodeClassifier

FORMAT = "postel-node-classifier"
VERSION = 1
_CARD = "model.json"
_WEIGHTS = "weights.safetensors"
_LARGEST_CARD = 64 << 20
# Layers, hops and the like are never more; widths may be, and then a weight has them.
_ALWAYS_SANE = 1000


def save_model(model: NodeClassifier, folder: Path) -> None:
    """Write a fitted model to a folder.

    Args:
        model: The model.
        folder: The folder; it is made if it does not exist, and a model saved there before is replaced.

    Raises:
        InputError: If an argument of the model cannot be written as JSON, or the folder holds other files of
            these names.
    """
    safetensors = require_extra("safetensors.torch", "training")
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.backbone_.state_dict().items()}
    weights = safetensors.save(state)
    params = model.get_params(deep=False)
    params["backbone"] = params["backbone"] if isinstance(params["backbone"], str) else None
    params["smoother"] = _smoother_card(params["smoother"])
    card = {
        "format": FORMAT,
        "version": VERSION,
        "params": params,
        "num_features": model.num_features_,
        "num_classes": model.num_classes_,
        **_fitting_names(model),
        "epochs": model.epochs_,
        "result": model.result_.as_dict(),
        # Ties the two files together: weights of another model, or a part of them, are noticed.
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
    }
    try:
        text = json.dumps(card, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the model's arguments cannot be written as JSON ({error})") from error
    # A model saved before may be replaced, as a cell of a notebook that is run again does; other files are not.
    with writing(model_targets(folder), overwrite=True) as work:
        (work / _WEIGHTS).write_bytes(weights)
        write_text(work / _CARD, text + "\n")


def _fitting_names(model: NodeClassifier) -> dict[str, list[str] | None]:
    """The names of classes and features, as far as there is one for each."""
    sizes = {"class_names": model.num_classes_, "feature_names": model.num_features_}
    names = getattr(model, "names_", {})
    return {what: names.get(what) if len(names.get(what) or ()) == size else None for what, size in sizes.items()}


def model_targets(folder: Path) -> list[Target]:
    """Return what :func:`save_model` writes, as targets of :func:`postel.outputs.writing`.

    Args:
        folder: The model's folder.

    Returns:
        The targets.
    """
    # The card first: weights alone, after a kill between the two, would not be known for a model's.
    return [Target(folder / _CARD, "JSON", ours=_is_card), Target(folder / _WEIGHTS, "weights", ours=_has_card)]


def _has_card(weights: Path) -> bool:
    return _is_card(weights.with_name(_CARD))


def _is_card(path: Path) -> bool:
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(card, dict) and card.get("format") == FORMAT


def load_model(
    cls: type[NodeClassifier], folder: Path, backbone: ModelFn | nn.Module | None, device: str
) -> NodeClassifier:
    """Read a model from a folder, ready to predict.

    Args:
        cls: The class of the model.
        folder: The folder that :func:`save_model` wrote.
        backbone: The class, function or instance of a user's own network, if it is one.
        device: Where to put the network.

    Returns:
        The fitted model.

    Raises:
        InputError: If the folder is no model folder, is damaged, or needs ``backbone``.
    """
    safetensors = require_extra("safetensors.torch", "training")
    unreadable = require_extra("safetensors", "training").SafetensorError
    check_device(device)
    card = _read_card(folder)
    params: dict[str, Any] = dict(card["params"])
    if params.get("backbone") is None and backbone is None:
        raise InputError(
            f"{folder} holds a user's own module; pass its function: NodeClassifier.load(path, backbone=model_fn)"
        )
    params["backbone"] = backbone if params.get("backbone") is None else params["backbone"]
    params["smoother"] = _smoother_from(params.get("smoother"), folder)
    params["device"] = device
    try:
        # Folders of version 0.1 spell it "neighbors".
        params["num_neighbors"] = tuple(params.pop("neighbors", None) or params.get("num_neighbors", ()))
        weights = (folder / _WEIGHTS).read_bytes()
        if hashlib.sha256(weights).hexdigest() != card["weights_sha256"]:
            raise InputError(f"{_WEIGHTS} does not belong to {_CARD}")
        model = cls(**params)
        state = safetensors.load(weights)

        def make() -> Backbone:
            sizes = card["num_features"], card["num_classes"]
            return make_backbone(model.backbone, *sizes, **(model.backbone_args or {}))

        _check_sizes(card, model.backbone_args, state)
        if isinstance(model.backbone, str):
            _check_shapes(state, make)
        network = make()
        network.load_state_dict(state)
        result = Result.from_dict(card["result"])
        sizes = {"class_names": card["num_classes"], "feature_names": card["num_features"]}
        model.names_ = checked_card_names(card, sizes)
    except (
        *(InputError, OSError, RuntimeError, TypeError, ValueError, KeyError, AttributeError, MemoryError),
        *(IndexError, OverflowError, ZeroDivisionError, RecursionError, unreadable),
    ) as error:
        raise InputError(f"{folder} is damaged or does not fit this version: {_first_line(error)}") from error
    model.backbone_ = network.to(device).eval()
    model._remember_sizes(card["num_features"], card["num_classes"])
    model.epochs_, model.result_ = card["epochs"], result
    return model


def _check_sizes(card: dict[str, Any], arguments: dict[str, Any] | None, state: dict[str, Tensor]) -> None:
    """Refuse a card whose numbers no weight has, before memory or time is taken for them."""
    largest = max([_ALWAYS_SANE, *(side for tensor in state.values() for side in tensor.shape)])
    sizes = {"num_features": card["num_features"], "num_classes": card["num_classes"]}
    for name, value in {**(arguments or {}), **sizes}.items():
        if isinstance(value, int) and abs(value) > largest:
            raise InputError(f"{name} is {str(value)[:40]}, and no weight in {_WEIGHTS} is as large")


def _check_shapes(state: dict[str, Tensor], make: Callable[[], Backbone]) -> None:
    """Refuse weights of another network than the card tells of, before memory is taken for it."""
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in make().state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in state.items()}:
        raise InputError(f"{_WEIGHTS} belongs to a network of other sizes than {_CARD} says")


def _read_card(folder: Path) -> dict[str, Any]:
    path = folder / _CARD
    if not is_file(path) or not is_file(folder / _WEIGHTS):
        raise InputError(
            f"{str(folder)[:200]} is no model folder: it needs {_CARD} and {_WEIGHTS}, which NodeClassifier.save "
            "writes"
        )
    try:
        if path.stat().st_size > _LARGEST_CARD:
            raise ValueError(f"it has more than {_LARGEST_CARD} bytes")
        card = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path} is damaged: it is not JSON ({_first_line(error)})") from error
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise InputError(f"{path} was not written by NodeClassifier.save: its format is not {FORMAT!r}")
    if card.get("version") != VERSION:
        raise InputError(f"{path} has version {card.get('version')!r}, this postel reads {VERSION}")
    needed = {
        "params": dict,
        "num_features": int,
        "num_classes": int,
        "epochs": int,
        "result": dict,
        "weights_sha256": str,
    }
    for name, kind in needed.items():
        if not isinstance(card.get(name), kind) or isinstance(card[name], bool):
            raise InputError(f"{path} is damaged: {name} is missing or of the wrong kind")
    named = card["params"].get("backbone", "")
    if named is not None and (not isinstance(named, str) or named not in BACKBONES):
        raise InputError(f"{path} names an unknown backbone, {card['params'].get('backbone')!r}")
    return card


def _smoother_card(smoother: Smoother | None) -> dict[str, Any] | None:
    if smoother is None:
        return None
    return {"method": smoother.method_name(), "class": type(smoother).__name__, "params": smoother.params()}


def _smoother_from(card: Any, folder: Path) -> Smoother | None:
    if card is None:
        return None
    try:
        # Only the package's own methods are looked up: a file must not name what to import.
        module = importlib.import_module("postel.smoothers")
        cls = getattr(module, card["class"])
        if not (isinstance(cls, type) and issubclass(cls, Smoother)):
            raise TypeError(f"{card['class']} is no soft-label method")
        return cls(**card["params"])
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{folder} names a soft-label method that is not known here: {_first_line(error)}"
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:200]
