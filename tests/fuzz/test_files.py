"""Graph files, models and stores, damaged at random: the right answer or one sentence, within a gigabyte."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from fuzz.mutations import bounded, changed_values, damaged, one_gigabyte
from postel import NodeClassifier, PosteL, diagnose, load_dataset
from postel.datasets import StoredGraph, read_graph_file, write_graph_file
from postel.errors import InputError

pytest.importorskip("safetensors")
pytest.importorskip("pydantic")


def told(action: Callable[[], Any]) -> Any:
    """What an action returns, or None where it refuses in one sentence; all else is a finding."""
    with one_gigabyte():
        try:
            return action()
        except InputError as refusal:
            sentence = str(refusal)
    assert 10 < len(sentence) < 2000 and "Traceback" not in sentence
    return None


# Graph files


def small_graph() -> StoredGraph:
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    parts = np.stack([rng.permutation(np.arange(24) % 3) for _ in range(3)])
    masks = np.stack([parts == k for k in range(3)])
    x = rng.integers(3, size=(24, 5)) * 0.5
    edges = rng.integers(24, size=(2, 60))
    names = tuple(f"f{k}" for k in range(5))
    return StoredGraph.checked(x, edges, y, {"public": masks, "geom-gcn": masks}, ("a", "b", "c"), names)


GRAPH = small_graph()
ARRAYS: dict[str, Any] = {}
CONTENT = b""


@pytest.fixture(scope="module", autouse=True)
def graph_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    global CONTENT
    path = tmp_path_factory.mktemp("fuzz") / "g.npz"
    write_graph_file(path, GRAPH)
    CONTENT = path.read_bytes()
    with np.load(path) as archive:
        ARRAYS.update({name: archive[name] for name in archive.files})
    return path


@bounded(150)
@given(st.data())
def test_bytes_of_a_graph_file(graph_file: Path, data: st.DataObject) -> None:
    graph_file.write_bytes(data.draw(damaged(CONTENT)))
    graph = told(lambda: read_graph_file(graph_file))
    if graph is not None:  # bytes of a zip archive that mean nothing
        assert graph.fingerprint() == GRAPH.fingerprint()
        assert graph.class_names == GRAPH.class_names and graph.feature_names == GRAPH.feature_names
        assert all(np.array_equal(graph.splits[name], GRAPH.splits[name]) for name in GRAPH.splits)


@st.composite
def other_array(draw: st.DrawFn, array: Any) -> Any:
    kind = draw(st.sampled_from(("value", "type", "shape", "longer", "shorter", "empty", "random")))
    if kind == "value" and array.size and array.dtype.kind in "iu":
        changed = array.astype(np.int64).copy()
        extremes = (-1, 0, 1, 3, 23, 24, 1000, 2**31 - 2, 2**40, 2**62, -(2**63))
        changed.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(extremes))
        return changed
    if kind == "type":
        to = draw(st.sampled_from(("<f8", "<i1", "<u8", "<c8", "?", "<U3", "S2", "<M8[s]")))
        with np.errstate(all="ignore"), contextlib.suppress(ValueError, TypeError):
            return array.astype(to)
    if kind == "shape":
        return array.reshape(draw(st.sampled_from(((-1,), (1, -1), (-1, 1), (1, 1, -1)))))
    if kind == "longer":
        return np.concatenate([array.ravel(), array.ravel()])
    if kind == "shorter":
        return array.ravel()[: array.size // 2]
    if kind == "empty":
        return np.zeros(draw(st.sampled_from(((0,), (2, 0), (0, 5), ()))), dtype=array.dtype)
    return np.random.default_rng(draw(st.integers(0, 9))).integers(-2, 30, size=array.shape)


@bounded(150)
@given(st.data())
def test_arrays_of_a_graph_file(graph_file: Path, data: st.DataObject) -> None:
    arrays = dict(ARRAYS)
    known = data.draw(st.booleans())
    if not known:
        del arrays["fingerprint"]
    for name in data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=2, unique=True)):
        if data.draw(st.integers(0, 5)) == 0:
            del arrays[name]
        else:
            arrays[name] = data.draw(other_array(arrays[name]))
    np.savez_compressed(graph_file, **arrays)
    graph = told(lambda: read_graph_file(graph_file))
    if graph is None:
        return
    if known and "fingerprint" in arrays:
        assert graph.fingerprint() == GRAPH.fingerprint()
    protocol = data.draw(st.sampled_from(("public", "geom-gcn", "stratified", "paper")))
    loaded = told(lambda: load_dataset(graph_file, 0, protocol))
    if loaded is not None:
        assert loaded.x.shape == (graph.num_nodes, graph.num_features)
        told(lambda: diagnose(graph_file, 0, protocol))
        told(lambda: PosteL()(loaded))


@bounded(60)
@given(st.data())
def test_declared_sizes_of_a_graph_file(graph_file: Path, data: st.DataObject) -> None:
    with zipfile.ZipFile(io.BytesIO(CONTENT)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = data.draw(st.sampled_from(sorted(members)))
    shape = data.draw(st.sampled_from([(2**31,), (2**62,), (2, 2**33), (10**9, 10**9), (-1,), (0,), (1,), ()]))
    kind = data.draw(st.sampled_from(("<i8", "<f8", "|u1", "<U1000000", "|O", "|V8", "<i3")))
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    members[name] = stream.getvalue() + members[name][128:]
    with zipfile.ZipFile(graph_file, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    graph = told(lambda: read_graph_file(graph_file))
    assert graph is None or graph.fingerprint() == GRAPH.fingerprint()


# Model folders


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Data, torch.Tensor]:
    data = load_dataset("karate")
    folder = tmp_path_factory.mktemp("model")
    fitted = NodeClassifier("appnp", smoother=PosteL(), max_epochs=1, backbone_args={"hidden": 4, "steps": 2})
    fitted.fit(data).save(folder)
    (folder / "model.json").rename(folder / "card")
    (folder / "weights.safetensors").rename(folder / "weights")
    return folder, data, fitted.decision_function(data)


def use(folder: Path, data: Data) -> Any:
    loaded = NodeClassifier.load(folder)
    repr(loaded)
    return loaded.decision_function(data)


@bounded(120)
@given(st.data())
def test_values_of_a_model_card(model: tuple[Path, Data, torch.Tensor], data: st.DataObject) -> None:
    folder, graph, logits = model
    card = data.draw(changed_values(json.loads((folder / "card").read_text())))
    (folder / "model.json").write_text(json.dumps(card))
    (folder / "weights.safetensors").write_bytes((folder / "weights").read_bytes())
    found = told(lambda: use(folder, graph))
    assert found is None or found.shape == logits.shape


@bounded(60)
@given(st.data())
def test_bytes_of_a_model(model: tuple[Path, Data, torch.Tensor], data: st.DataObject) -> None:
    folder, graph, logits = model
    card, weights = (folder / "card").read_bytes(), (folder / "weights").read_bytes()
    which = data.draw(st.sampled_from(("card", "weights", "weights with their checksum")))
    if which == "card":
        card = data.draw(damaged(card))
    else:
        weights = data.draw(damaged(weights))
    if which.endswith("checksum"):
        values = json.loads(card)
        values["weights_sha256"] = hashlib.sha256(weights).hexdigest()
        card = json.dumps(values).encode()
    (folder / "model.json").write_bytes(card)
    (folder / "weights.safetensors").write_bytes(weights)
    found = told(lambda: use(folder, graph))
    assert found is None or found.shape == logits.shape
    assert which != "weights" or found is None


# Stores


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from postel.experiments.comparison import comparison_specs
    from postel.experiments.running.execute import execute
    from postel.experiments.spec import MethodSpec
    from postel.experiments.store import Store

    folder = tmp_path_factory.mktemp("store")
    rows = Store(folder / "rows.sqlite")
    for spec in comparison_specs("karate", [MethodSpec(name="postel")], range(2), max_epochs=2):
        rows.add(execute(spec))
    (folder / "rows.sqlite").rename(folder / "whole")
    return folder


def read(path: Path) -> list[str]:
    """Every way in which commands look at a store, but for drawing."""
    from postel.experiments.store import Store
    from postel.experiments.store.reader import read_study

    study = read_study(path)
    shown = [str(cell.score()) + repr(cell.question) for cell in study.cells]
    Store(path).export(path.with_name("rows.csv"))
    return shown


@bounded(80)
@given(st.data())
def test_bytes_of_a_store(store: Path, data: st.DataObject) -> None:
    path = store / "damaged.sqlite"
    for name in store.glob("damaged.sqlite*"):
        name.unlink(missing_ok=True)
    path.write_bytes(data.draw(damaged((store / "whole").read_bytes())))
    told(lambda: read(path))


CELL = {
    **{
        "key": "k",
        "dataset": "karate",
        "fingerprint": "f",
        "protocol": "paper",
        "recipe": "paper",
        "backbone": "gcn",
    },
    **{"method": {"name": "postel", "params": {}}, "pseudo_labels": True, "failed": 0, "target": "tune"},
    "settings": {"lr": 0.01, "weight_decay": 0.0, "max_epochs": 2, "stopping": "window-mean", "window": 200},
    "budget": {"kind": "trials", "amount": 2, "trials": 2, "search_splits": 1, "text": "two trials"},
    **{"validation": {"accuracy": 0.5, "loss": 1.0}, "splits": [0, 1]},
}


@bounded(60)
@given(st.data())
def test_values_of_a_cell(store: Path, data: st.DataObject) -> None:
    path = store / "cells.sqlite"
    path.write_bytes((store / "whole").read_bytes())
    connection = sqlite3.connect(path)
    with contextlib.closing(connection), connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM runs")]
        whole = {**CELL, "settings": {**CELL["settings"], "backbone_args": {}}, "run_keys": keys}
        cell = data.draw(changed_values(whole)) if data.draw(st.integers(0, 20)) else whole
        connection.execute("INSERT INTO cells VALUES (?, ?)", ("k", json.dumps(cell)))
    shown = told(lambda: read(path))
    assert cell is not whole or shown is not None


@bounded(120)
@given(st.data())
def test_values_of_a_row(store: Path, data: st.DataObject) -> None:
    from postel.experiments.store.packing import packed, unpacked

    path = store / "changed.sqlite"
    path.write_bytes((store / "whole").read_bytes())
    connection = sqlite3.connect(path)
    with contextlib.closing(connection), connection:
        key, content = connection.execute("SELECT key, row FROM runs LIMIT 1").fetchone()
        row = data.draw(changed_values(unpacked(content)))
        connection.execute("UPDATE runs SET row = ? WHERE key = ?", (packed(row), key))
    told(lambda: read(path))
