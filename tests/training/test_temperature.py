"""Temperature scaling against a brute-force search over temperatures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from postel import NodeClassifier, UniformSmoothing, load_dataset
from postel.errors import InputError
from postel.training import Result
from postel.training.temperature import BOUNDS, fit_temperature, scaled_loss

_GRID = np.geomspace(*BOUNDS, 4001)


def _brute_force(logits: torch.Tensor, classes: torch.Tensor) -> float:
    """The lowest loss on a fine grid of temperatures, written out node by node."""
    z = logits.double().numpy()
    losses = np.zeros(len(_GRID))
    for row, label in zip(z, classes.tolist(), strict=True):
        scaled = row[None, :] / _GRID[:, None]
        top = scaled.max(1)
        losses += top + np.log(np.exp(scaled - top[:, None]).sum(1)) - scaled[:, label]
    return float(losses.min() / len(z))


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    nodes=st.integers(1, 30),
    num_classes=st.integers(2, 7),
    scale=st.sampled_from([1e-6, 1e-2, 1.0, 30.0, 1e4]),
    separable=st.booleans(),
)
def test_no_temperature_of_a_fine_grid_is_better(seed, nodes, num_classes, scale, separable):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(nodes, num_classes, generator=generator)
    classes = torch.randint(num_classes, (nodes,), generator=generator)
    if separable:
        classes = logits.argmax(1)
    temperature = fit_temperature(logits, classes)
    assert BOUNDS[0] <= temperature <= BOUNDS[1]
    assert scaled_loss(logits, classes, temperature) <= _brute_force(logits, classes) + 1e-9
    assert fit_temperature(logits, classes) == temperature


@given(seed=st.integers(0, 1000), factor=st.floats(0.2, 5.0))
def test_scaled_logits_have_a_scaled_temperature(seed, factor):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(40, 3, generator=generator).double()
    classes = torch.randint(3, (40,), generator=generator)
    one = fit_temperature(logits, classes)
    if 10 * BOUNDS[0] < one < BOUNDS[1] / 10:
        assert fit_temperature(factor * logits, classes) == pytest.approx(factor * one, rel=1e-8)


def test_the_ends():
    logits = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert fit_temperature(logits, torch.tensor([0, 1])) == BOUNDS[0]
    assert fit_temperature(logits, torch.tensor([1, 0])) == BOUNDS[1]
    assert fit_temperature(torch.full((3, 2), 7.0), torch.tensor([0, 1, 1])) == 1.0
    assert scaled_loss(logits, torch.tensor([0, 1]), 1.0) == pytest.approx(math.log1p(math.exp(-1)))


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="at least one node"):
        fit_temperature(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(InputError, match="finite logits"):
        fit_temperature(torch.tensor([[float("nan"), 0.0]]), torch.tensor([0]))
    with pytest.raises(InputError, match="above 0"):
        scaled_loss(torch.zeros(1, 2), torch.tensor([0]), 0.0)


def test_a_fit_reports_both_and_soft_labels_do_not_inflate_the_scaled_loss():
    data = load_dataset("karate")
    plain = NodeClassifier("gcn", max_epochs=60).fit(data)
    soft = NodeClassifier("gcn", smoother=UniformSmoothing(0.8), max_epochs=60).fit(data)
    for model in (plain, soft):
        logits, classes = model.logits_[data.val_mask], data.y[data.val_mask]
        assert model.result_.val_loss_scaled == scaled_loss(logits, classes, fit_temperature(logits, classes))
        assert model.result_.val_loss_scaled <= model.result_.val_loss
        assert model.result_.one_class_val == (logits.argmax(1).unique().numel() == 1)
        assert Result.from_dict(model.result_.as_dict()) == model.result_
    gap = soft.result_.val_loss - plain.result_.val_loss
    assert soft.result_.val_loss_scaled - plain.result_.val_loss_scaled < gap


def test_a_model_that_names_one_class_is_told():
    data = load_dataset("karate")
    data.x = torch.zeros_like(data.x)
    assert NodeClassifier("gcn", max_epochs=5).fit(data).result_.one_class_val is True
