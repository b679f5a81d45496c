"""Defaults are the paper's; what is out of range is one sentence."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import nn

from postel.backbones import BACKBONES, backbone_class, make_backbone
from postel.errors import InputError

PAPER = {
    "gcn": {"hidden": 64, "num_layers": 2, "dropout": 0.5},
    "gat": {"hidden": 8, "heads": 8, "num_layers": 2, "dropout": 0.5},
    "appnp": {"hidden": 64, "num_layers": 2, "steps": 10, "dropout": 0.5},
    "mlp": {"hidden": 64, "num_layers": 2, "dropout": 0.5},
    "chebnet": {"hidden": 32, "num_layers": 2, "terms": 2, "dropout": 0.5},
    "gprgnn": {"hidden": 64, "num_layers": 2, "steps": 10, "dropout": 0.5},
    "bernnet": {"hidden": 64, "num_layers": 2, "order": 10, "dropout": 0.5},
    "ordered_gnn": {"num_layers": 2, "dropout": 0.5},
}


@pytest.mark.parametrize("name", BACKBONES)
def test_defaults_are_the_papers(name):
    cls = backbone_class(name)
    assert cls.name == name
    defaults = {key: value.default for key, value in inspect.signature(cls).parameters.items()}
    assert {key: defaults[key] for key in PAPER[name]} == PAPER[name]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("nope", {}, "unknown backbone 'nope'; choose one of gcn, gat, appnp, mlp"),
        ("gcn", {"depth": 3}, "gcn has no argument 'depth'; it takes hidden, num_layers, dropout"),
        ("gcn", {"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
        ("gcn", {"dropout": -0.1}, r"dropout must lie in \[0, 1\)"),
        ("gcn", {"dropout": float("nan")}, r"dropout must lie in \[0, 1\)"),
        ("gcn", {"hidden": 0}, "hidden must be a whole number above 0, got 0"),
        ("gcn", {"num_layers": 1}, "num_layers must be a whole number of at least 2, got 1"),
        ("gat", {"heads": 1.5}, "heads must be a whole number above 0, got 1.5"),
        ("gat", {"attention_dropout": 2}, r"attention_dropout must lie in \[0, 1\)"),
        ("appnp", {"teleport": 1.2}, r"teleport must lie in \[0, 1\], got 1.2"),
        ("appnp", {"steps": 0}, "steps must be a whole number above 0"),
        ("gprgnn", {"propagation_dropout": 1}, r"propagation_dropout must lie in \[0, 1\)"),
        ("chebnet", {"terms": 0}, "terms must be a whole number above 0"),
        ("bernnet", {"order": 0}, "order must be a whole number above 0"),
        ("bernnet", {"filter_lr": 0}, "filter_lr must be above 0"),
        ("ordered_gnn", {"hidden": 10, "chunk": 4}, "hidden must be a multiple of chunk, got 10 and 4"),
        ("ordered_gnn", {"linear_weight_decay": -1}, "linear_weight_decay must be at least 0"),
    ],
)
def test_bad_arguments_are_one_sentence(name, arguments, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        make_backbone(name, 4, 2, **arguments)
    assert "\n" not in str(caught.value)


def test_propagation_weights_have_no_weight_decay_and_bernnet_its_own_rate():
    for name, weight, lr in (("gprgnn", "gamma", 0.3), ("bernnet", "theta", 0.02)):
        arguments = {"filter_lr": 0.02} if name == "bernnet" else {}
        backbone = make_backbone(name, 4, 2, **arguments)
        groups = backbone.parameter_groups(0.3, 0.1)
        own = [group for group in groups if any(p is getattr(backbone, weight) for p in group["params"])]
        assert len(own) == 1 and own[0]["weight_decay"] == 0.0 and own[0]["lr"] == lr
        others = [group for group in groups if group is not own[0]]
        assert [(group["lr"], group["weight_decay"]) for group in others] == [(0.3, 0.1)]


@pytest.mark.parametrize("name", BACKBONES)
def test_every_parameter_is_in_exactly_one_group(name):
    backbone = make_backbone(name, 4, 2)
    grouped = [p for group in backbone.parameter_groups(0.1, 0.0) for p in group["params"]]
    assert {id(p) for p in grouped} == {id(p) for p in backbone.parameters()}
    assert len(grouped) == len({id(p) for p in grouped})


def test_ordered_gnn_splits_weight_decay_as_the_original():
    backbone = make_backbone("ordered_gnn", 4, 2, hidden=8, chunk=4, linear_weight_decay=0.7)
    gates, linear = backbone.parameter_groups(0.1, 0.2)
    assert (gates["weight_decay"], linear["weight_decay"]) == (0.2, 0.7)
    grouped = {id(p) for group in (gates, linear) for p in group["params"]}
    assert not grouped & {id(p) for p in backbone.input_norms.parameters()}


def test_model_function_must_return_a_module():
    with pytest.raises(InputError, match="model_fn must return a torch module, got int"):
        make_backbone(lambda inputs, outputs: 3, 4, 2)


def test_fresh_weights_have_the_published_spread():
    torch.manual_seed(0)
    glorot = make_backbone("gcn", 500, 7)
    assert glorot.first.weight.abs().max() <= (6 / 564) ** 0.5 and glorot.first.bias.abs().max() == 0
    assert glorot.first.weight.std().item() == pytest.approx((6 / 564 / 3) ** 0.5, rel=0.05)
    linear, torchs = make_backbone("mlp", 500, 7).extract.first, nn.Linear(500, 64)
    assert linear.weight.std().item() == pytest.approx(torchs.weight.std().item(), rel=0.05)
