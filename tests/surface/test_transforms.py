"""Soft-label methods as torch_geometric's users meet them: printed, chained, and as functional transforms."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.data.datapipes import DatasetAdapter

from postel import PosteL
from postel.smoothers import SMOOTHERS, Smoother

NAMES = {
    "one_hot": "one_hot_labels",
    "uniform": "uniform_smoothing",
    "distillation": "distillation",
    "sals": "sals",
    "als": "als",
    "postel": "postel",
    "calibrated": "calibrated_postel",
}


@pytest.fixture
def data() -> Data:
    return Data(
        edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]),
        y=torch.tensor([0, 1, 1, 0]),
        train_mask=torch.tensor([True, True, False, False]),
    )


@pytest.mark.parametrize("method", SMOOTHERS.values())
def test_repr_shows_every_setting(method: type[Smoother]) -> None:
    text = repr(method())
    for name, parameter in inspect.signature(method).parameters.items():
        assert f"{name}={parameter.default!r}" in text
    # What is printed into a log makes the same object again.
    assert repr(eval(text, {method.__name__: method})) == text


def test_a_setting_at_its_default_is_printed_too() -> None:
    assert repr(PosteL(alpha=0.8, beta=0.4)).startswith("PosteL(alpha=0.8, beta=0.4, ")


def test_methods_are_functional_transforms(data: Data) -> None:
    graphs = DatasetAdapter([data])
    for method, name in NAMES.items():
        assert name in DatasetAdapter.functions, method
    (found,) = graphs.postel(alpha=0.5, beta=0.5)
    assert torch.equal(found.soft_y, PosteL(0.5, 0.5)(data).soft_y)
    assert "soft_y" not in data
