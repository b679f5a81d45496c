"""Every method has a functional twin, and the transform gives exactly what the function gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from torch import Tensor
from torch_geometric.data import Data

from postel import ALS, SALS, CalibratedPosteL, Distillation, OneHot, PosteL, UniformSmoothing, functional
from postel.errors import InputError
from postel.labels import KnownLabels
from postel.settings import CalibratedSettings, PosteLSettings
from postel.smoothers import SMOOTHERS, Smoother
from support import SmallGraph, small_graphs

PAIRS: list[tuple[Smoother, Callable[[Tensor, KnownLabels], Tensor]]] = [
    (OneHot(), lambda edges, known: functional.one_hot_soft_labels(known)),
    (UniformSmoothing(0.3), lambda edges, known: functional.uniform_soft_labels(known, 0.3)),
    (
        UniformSmoothing(0.3, spread="others"),
        lambda edges, known: functional.uniform_soft_labels(known, 0.3, spread="others"),
    ),
    (
        SALS(0.4, weight="sym", isolated="uniform", self_loops=True, pseudo_labels=True),
        lambda edges, known: functional.sals_soft_labels(
            edges, known, 0.4, weight="sym", isolated="uniform", self_loops=True, pseudo_labels=True
        ),
    ),
    (
        ALS(0.6, steps=2, restart=0.1, normalization="sym", self_loops=True),
        lambda edges, known: functional.als_soft_labels(
            edges, known, 0.6, steps=2, restart=0.1, normalization="sym", self_loops=True
        ),
    ),
    (
        CalibratedPosteL(0.3, calibration="temperature", centers="train"),
        lambda edges, known: functional.calibrated_soft_labels(
            edges, known, CalibratedSettings(0.2, calibration="temperature"), alpha=0.3, centers="train"
        ),
    ),
    (PosteL(0.3, 0.7), lambda edges, known: functional.posterior_soft_labels(edges, known, alpha=0.3, beta=0.7)),
    (
        PosteL.as_released(0.3, 0.7),
        lambda edges, known: functional.posterior_soft_labels(edges, known, PosteLSettings.as_released(0.3, 0.7)),
    ),
    (
        PosteL(0.3, 0.7, likelihood="local", hops=2),
        lambda edges, known: functional.posterior_soft_labels(
            edges, known, PosteLSettings(0.5, 0.7, hops=2), alpha=0.3, likelihood="local"
        ),
    ),
]


@pytest.mark.parametrize(("method", "function"), PAIRS, ids=[repr(method) for method, _ in PAIRS])
@given(graph=small_graphs())
def test_transform_and_function_agree_to_the_bit(method, function, graph: SmallGraph):
    assert torch.equal(method.soft_labels(graph.edge_index, graph.known), function(graph.edge_index, graph.known))


@given(graph=small_graphs(pseudo=False))
def test_distillation_and_its_function_agree_to_the_bit(graph: SmallGraph):
    mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
    mask[torch.tensor(graph.train)] = True
    logits = torch.linspace(-2, 3, graph.num_nodes * graph.num_classes).view(graph.num_nodes, -1)
    data = Data(edge_index=graph.edge_index, y=torch.tensor(graph.classes), train_mask=mask, teacher_logits=logits)
    made = Distillation(0.3, temperature=2.0, num_classes=graph.num_classes)(data).soft_y
    function = functional.distillation_soft_labels(graph.known, logits, 0.3, temperature=2.0, dtype=torch.float32)
    assert torch.equal(made, function)


def test_every_method_has_a_function_that_takes_its_hyper_parameters():
    names = {"postel": "posterior"}
    for name, method in SMOOTHERS.items():
        function = getattr(functional, f"{names.get(name, name)}_soft_labels")
        takes = inspect.signature(function).parameters
        assert name in ("postel", "calibrated") or not takes.keys() - {
            *inspect.signature(method).parameters,
            *("edge_index", "known", "teacher_logits", "dtype", "device"),
        }


def test_functions_check_their_arguments():
    known = KnownLabels.from_index(torch.tensor([0, 1]), torch.tensor([0, 1]), num_nodes=2)
    edges = torch.tensor([[0], [1]])
    with pytest.raises(InputError, match="epsilon must lie"):
        functional.uniform_soft_labels(known, 2.0)
    with pytest.raises(InputError, match="weight must be one of"):
        functional.sals_soft_labels(edges, known, weight="degree")
    with pytest.raises(InputError, match="steps must be a whole number above 0"):
        functional.als_soft_labels(edges, known, steps=0)
    with pytest.raises(InputError, match=r"node ids in \[0, 1\], got 5"):
        functional.sals_soft_labels(torch.tensor([[0], [5]]), known)
    with pytest.raises(InputError, match=r"teacher_logits must have shape \[2, 2\], got \[2, 3\]"):
        functional.distillation_soft_labels(known, torch.zeros(2, 3))
    with pytest.raises(InputError, match="temperature must be a number above 0"):
        functional.distillation_soft_labels(known, torch.zeros(2, 2), temperature=0.0)
    with pytest.raises(InputError, match="alpha must lie"):
        functional.posterior_soft_labels(edges, known, alpha=2.0)
    with pytest.raises(TypeError, match="gamma"):
        functional.posterior_soft_labels(edges, known, gamma=2.0)
