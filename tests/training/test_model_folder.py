"""Models on disk: what their cards keep, and what is refused of damaged and foreign ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from postel import NodeClassifier, PosteL, load_dataset
from postel.datasets import convert
from postel.errors import InputError

pytest.importorskip("safetensors")


def graph_file(folder: Path, name: str, classes: str = "abc", features: str = "uvw", label: str = "label") -> Path:
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    rows = [f"{i},{classes[i % len(classes)]},{i % 5},{i % 7},{rng.integers(9)}" for i in range(30)]
    (folder / "n.csv").write_text(f"node,{label},{','.join(features)}\n" + "\n".join(rows) + "\n")
    (folder / "e.csv").write_text("source,target\n" + "".join(f"{i},{(i + 3) % 30}\n" for i in range(30)))
    convert(folder / "e.csv", folder / "n.csv", folder / name, label=label)
    return folder / name


@pytest.fixture
def model(tmp_path: Path) -> Path:
    data = load_dataset(graph_file(tmp_path, "g.npz"), 0, "stratified")
    NodeClassifier("gcn", smoother=PosteL(), max_epochs=2, backbone_args={"hidden": 4}).fit(data).save(
        tmp_path / "m"
    )
    return tmp_path / "m"


def test_the_card_keeps_the_names_and_the_same_graph_fits(model: Path) -> None:
    card = json.loads((model / "model.json").read_text())
    assert card["class_names"] == ["a", "b", "c"] and card["feature_names"] == ["u", "v", "w"]
    data = load_dataset(model.parent / "g.npz", 0, "stratified")
    loaded = NodeClassifier.load(model)
    assert loaded.names_ == {"class_names": ["a", "b", "c"], "feature_names": ["u", "v", "w"]}
    assert loaded.predict(data).shape == (30,)


@pytest.mark.parametrize(
    ("classes", "features", "message"),
    [
        ("bcd", "uvw", "class 0 is 'a' for the model and 'b' in the graph"),
        ("ac", "uvw", "class 1 is 'b' for the model and 'c' in the graph"),
        ("abc", "vuw", "feature 0 is 'u' for the model and 'v' in the graph"),
    ],
)
def test_a_graph_that_numbers_otherwise_is_refused(model: Path, classes: str, features: str, message: str) -> None:
    data = load_dataset(graph_file(model.parent, "other.npz", classes, features), 0, "stratified")
    loaded = NodeClassifier.load(model)
    for use in (loaded.predict, loaded.predict_proba, loaded.score):
        with pytest.raises(InputError, match=message):
            use(data)


@pytest.mark.parametrize("classes", ["ab", "abcd"])
def test_a_graph_with_fewer_or_further_classes_in_the_same_order_fits(model: Path, classes: str) -> None:
    data = load_dataset(graph_file(model.parent, "other.npz", classes), 0, "stratified")
    loaded = NodeClassifier.load(model)
    assert loaded.predict(data).shape == (30,)
    if classes == "abcd":
        with pytest.raises(InputError, match="a node of class 3, and the model knows the classes 0 to 2"):
            loaded.score(data, torch.ones(30, dtype=torch.bool))


def test_a_model_and_a_graph_without_names_fit(model: Path) -> None:
    data = load_dataset(model.parent / "g.npz", 0, "stratified")
    card = json.loads((model / "model.json").read_text())
    del card["class_names"], card["feature_names"]
    (model / "model.json").write_text(json.dumps(card))
    loaded = NodeClassifier.load(model)  # as version 0.1 wrote them
    data.class_names = ["z", "y", "x"]
    assert loaded.predict(data).shape == (30,)
    karate = load_dataset("karate")
    NodeClassifier("gcn", max_epochs=1).fit(karate).save(model)
    assert json.loads((model / "model.json").read_text())["class_names"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": {"backbone_args": {"hidden": 2**31}}}, "no weight in weights.safetensors is as large"),
        ({"params": {"backbone_args": {"hidden": 10**400}}}, "no weight"),
        ({"params": {"backbone": "chebnet", "backbone_args": {"hops": 10**6}}}, "damaged|no weight"),
        ({"params": {"backbone": "ordered_gnn", "backbone_args": {"layers": 10**6}}}, "no weight"),
        ({"params": {"backbone": "appnp", "backbone_args": {"hops": 10**6}}}, "no weight"),
        ({"params": {"backbone_args": [1]}}, "damaged"),
        ({"params": {"backbone_args": {"hidden": "4"}}}, "damaged"),
        ({"params": {"unknown": 1}}, "damaged"),
        ({"params": {"num_neighbors": 5}}, "damaged"),
        ({"params": {"smoother": 3}}, "soft-label method"),
        ({"params": {"smoother": {"class": "Smoother", "params": {}}}}, "soft-label method"),
        ({"params": {"smoother": {"class": "PosteL", "params": {"alpha": 7}}}}, "soft-label method"),
        ({"num_features": 2**40}, "no weight"),
        ({"num_features": 2}, "other sizes"),
        ({"num_features": -3}, "damaged"),
        ({"num_classes": 2}, "other sizes"),
        ({"num_classes": 2**62}, "no weight"),
        ({"num_classes": 3.0}, "num_classes is missing or of the wrong kind"),
        ({"class_names": ["a"]}, "class_names must be a list of 3 texts"),
        ({"feature_names": [1, 2, 3]}, "feature_names must be a list of 3 texts"),
        ({"result": {}}, "damaged"),
        ({"result": {"val": 3}}, "damaged"),
        ({"epochs": "two"}, "epochs is missing or of the wrong kind"),
        ({"version": 2}, "has version 2"),
        ({"format": "another"}, "was not written by NodeClassifier.save"),
        ({"weights_sha256": "0"}, "does not belong"),
    ],
)
def test_a_card_that_was_changed_is_refused(model: Path, change: dict[str, Any], message: str) -> None:
    card = json.loads((model / "model.json").read_text())
    params = card["params"] | change.pop("params", {})
    (model / "model.json").write_text(json.dumps({**card, "params": params, **change}))
    with pytest.raises(InputError, match=message):
        NodeClassifier.load(model)


def test_a_user_s_own_network_gets_no_sizes_that_its_weights_have_not(model: Path) -> None:
    def own(in_channels: int, out_channels: int) -> nn.Module:
        assert in_channels < 10_000
        return nn.Linear(in_channels, out_channels)

    data = load_dataset("karate")
    NodeClassifier(own, max_epochs=1).fit(data).save(model)
    card = json.loads((model / "model.json").read_text())
    (model / "model.json").write_text(json.dumps({**card, "num_features": 2**33}))
    with pytest.raises(InputError, match="num_features is 8589934592, and no weight"):
        NodeClassifier.load(model, backbone=own)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b"[" * 100_000, b'{"format": 1}'])
def test_what_is_no_card_is_told(model: Path, content: bytes) -> None:
    (model / "model.json").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.json"):
        NodeClassifier.load(model)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"\xff" * 8 + b"{}"])
def test_foreign_weights_are_told(model: Path, content: bytes) -> None:
    import hashlib

    card = json.loads((model / "model.json").read_text())
    (model / "weights.safetensors").write_bytes(content)
    card["weights_sha256"] = hashlib.sha256(content).hexdigest()
    (model / "model.json").write_text(json.dumps(card))
    with pytest.raises(InputError, match="damaged or does not fit"):
        NodeClassifier.load(model)


@pytest.mark.parametrize("device", ["", "nan", "gpu", "meta", "xla", "cpu:x", "hpu", None])
def test_a_device_that_is_none_is_told(model: Path, device: Any) -> None:
    with pytest.raises(InputError, match="device"):
        NodeClassifier.load(model, device=device)
    with pytest.raises(InputError, match="device"):
        NodeClassifier("gcn", max_epochs=1, device=device).fit(load_dataset("karate"))


def test_other_places_are_told(tmp_path: Path, model: Path) -> None:
    for place in (tmp_path / "none", tmp_path / "n.csv", Path("x" * 5000)):
        with pytest.raises(InputError, match="is no model folder"):
            NodeClassifier.load(place)
