"""``postel.tune`` on graphs in memory: the answer, the table, own models, interruptions and bad input."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from postel import NodeClassifier, tune
from postel.errors import InputError
from postel.experiments.search import memory
from postel.experiments.search.choice import Measured
from postel.experiments.search.decision import Line, decide
from postel.experiments.search.spaces import space_of
from postel.experiments.spec import MethodSpec, RunSpec


class Sage(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first, self.last = SAGEConv(in_channels, 8), SAGEConv(8, out_channels)

    def forward(self, x, edge_index):
        return self.last(self.first(x, edge_index).relu(), edge_index)


def graph(num_classes: int = 2, splits: int | None = None, nodes: int = 120) -> Data:
    """A graph whose neighbors mostly agree, with masks [N] or [N, splits]."""
    generator = torch.Generator().manual_seed(num_classes)
    y = torch.arange(nodes) % num_classes
    sources = torch.randint(nodes, (4 * nodes,), generator=generator)
    offsets = num_classes * torch.randint(1, 5, (4 * nodes,), generator=generator)
    edges = torch.stack([sources, (sources + offsets) % (nodes - nodes % num_classes)])
    x = torch.randn(nodes, 6, generator=generator) + nn.functional.one_hot(y % 6, 6)
    masks = []
    for _ in range(splits or 1):
        order = torch.randperm(nodes, generator=generator)
        mask = torch.zeros(3, nodes, dtype=torch.bool)
        for part, places in enumerate(order.split([nodes // 2, nodes // 4, nodes - nodes // 2 - nodes // 4])):
            mask[part, places] = True
        masks.append(mask)
    train, val, test = torch.stack(masks, dim=2) if splits else masks[0]
    edge_index = torch.cat([edges, edges.flip(0)], dim=1)
    return Data(x=x, edge_index=edge_index, y=y, train_mask=train, val_mask=val, test_mask=test)


QUICK = {"fixed": {"max_epochs": 4}, "workers": 1, "progress": False}


def short(choice):
    return [(line.spec, line.runs) for line in choice.lines], choice.chosen.spec, choice.reason


def timeless(choice):
    lines, chosen, reason = short(choice)
    return [(spec, [replace(run, seconds=0.0) for run in runs]) for spec, runs in lines], chosen, reason


@pytest.mark.parametrize("num_classes", [2, 40])
def test_a_user_s_own_model_with_few_and_many_classes(num_classes):
    data = graph(num_classes)
    choice = tune(data, Sage, methods=["ls", "postel"], budget=12, **QUICK)
    assert [line.method.name for line in choice.lines] == ["one_hot", "uniform", "postel"]
    assert all(0 < line.trainings <= 12 for line in choice.lines)
    model = choice.fit(data)
    assert isinstance(model, NodeClassifier) and isinstance(model.backbone_.module, Sage)
    assert model.predict_proba(data).shape == (120, num_classes)
    text = str(choice)
    assert all(name in text for name in ("one_hot", "uniform", "postel", "validation", "trainings", "±"))
    assert choice.reason in text and f"{100 * choice.chosen.score:.2f}" in text


def test_several_splits_in_one_mask():
    choice = tune(graph(3, splits=4), "gcn", methods=["ls"], budget=40, **QUICK)
    assert {run.split for run in choice.lines[0].runs} == {0, 1, 2, 3}
    assert choice.fit(graph(3, splits=4)).result_.val.count == 30


def test_one_worker_and_four_choose_the_same():
    data = graph(3)
    one, four = (
        tune(data, Sage, methods=["ls", "postel"], budget=20, **{**QUICK, "workers": workers})
        for workers in (1, 4)
    )
    assert timeless(one) == timeless(four)
    assert timeless(one) == timeless(tune(data, Sage, methods=["ls", "postel"], budget=20, **QUICK))


def test_a_store_keeps_the_rows_and_the_same_call_goes_on(tmp_path, monkeypatch):
    data, store = graph(3), tmp_path / "rows.sqlite"
    whole = tune(data, "gcn", methods=["ls"], budget=20, **QUICK)
    real, count = memory._row, itertools.count()

    def counted(*arguments):
        if next(count) in (7, 20):
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(memory, "_row", counted)
    early = tune(data, "gcn", methods=["ls"], budget=20, store=store, **QUICK)
    assert early.interrupted and "ended early" in str(early) and early.trainings == 7
    assert tune(data, "gcn", methods=["ls"], budget=20, store=str(store), **QUICK).interrupted
    resumed = tune(data, "gcn", methods=["ls"], budget=20, store=str(store), **QUICK)
    assert timeless(resumed) == timeless(whole)
    assert next(count) == whole.trainings + 2  # nothing was run twice but the two that were interrupted


def test_an_interruption_before_anything_is_known_is_one(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(memory, "_row", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tune(graph(), "gcn", methods=["ls"], budget=20, **QUICK)


def test_minutes_end_in_time(monkeypatch):
    real = memory._row

    def slow(*arguments):
        row = real(*arguments)
        return replace(row, result=replace(row.result, seconds=6.0))  # ten trainings per minute

    monkeypatch.setattr(memory, "_row", slow)
    choice = tune(graph(), "gcn", methods=["ls"], budget="2m", **QUICK)
    assert all(8 <= line.trainings <= 22 for line in choice.lines)


def test_hidden_labels_have_no_say():
    data, other = graph(3), graph(3)
    other.y[other.test_mask] = (other.y[other.test_mask] + 1) % 3
    one, two = (tune(found, "gcn", methods=["ls", "postel"], budget=20, **QUICK) for found in (data, other))
    for ours, theirs in zip(one.lines, two.lines, strict=True):
        assert ours.setting == theirs.setting
        assert [run.hits for run in ours.runs] == [run.hits for run in theirs.runs]


def made_up(method: str, hits: list[list[int]], loss: float = 1.0) -> Line:
    spec = RunSpec(dataset="memory", fingerprint="0", method=MethodSpec(name=method))
    runs = [
        Measured(split, sum(row) / len(row), loss, nodes=len(row), hits=tuple(map(bool, row)))
        for split, row in enumerate(hits)
    ]
    return Line(spec, {"lr": 0.01}, runs, 8)


def test_soft_labels_have_to_beat_one_hot_by_more_than_the_error():
    one_hot = made_up("one_hot", [[1] * 60 + [0] * 40])
    hardly = made_up("uniform", [[1] * 50 + [0] * 10 + [1] * 11 + [0] * 29])
    clearly = made_up("uniform", [[1] * 60 + [1] * 20 + [0] * 20])
    choice = decide([one_hot, hardly])
    assert choice.method.name == "one_hot" and choice.reason.startswith("Train on one-hot labels")
    assert decide([one_hot, clearly]).method.name == "uniform"
    assert decide([one_hot]).method.name == "one_hot"


def test_the_budget_is_the_same_for_every_method_and_a_small_space_is_whole():
    choice = tune(graph(3), "gcn", methods=["ls", "postel"], budget=60, **QUICK)
    spent = {line.method.name: line.trainings for line in choice.lines}
    assert spent["one_hot"] == 24 and all(20 <= spent[name] <= 60 for name in ("uniform", "postel"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"budget": 0}, "a budget is a number of trainings above 0"),
        ({"budget": "soon"}, "a budget is"),
        ({"budget": "fixed"}, "needs a budget to search with"),
        ({"workers": 0}, "workers must be"),
        ({"methods": []}, "methods must be a list"),
        ({"methods": "postel"}, "methods must be a list"),
        ({"methods": ["smoothing"]}, "smoothing"),
        ({"backbone": "transformer"}, "unknown backbone"),
        ({"fixed": {"rate": 1}}, "'rate' cannot be fixed"),
    ],
)
def test_bad_requests_are_a_sentence(change, says):
    arguments = {"backbone": "gcn", "methods": ["ls"], "budget": 20, **QUICK, **change}
    with pytest.raises(InputError, match=says):
        tune(graph(), **arguments)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: setattr(data, "val_mask", torch.zeros_like(data.val_mask)), "val_mask selects no node"),
        (lambda data: setattr(data, "train_mask", data.train_mask.long()), "must be a boolean tensor"),
        (lambda data: setattr(data, "val_mask", data.train_mask), "must not share nodes"),
        (lambda data: setattr(data, "val_mask", None), "val_mask must be a boolean tensor"),
        (lambda data: setattr(data, "train_mask", data.train_mask[:, None].repeat(1, 3)), None),
        (lambda data: setattr(data, "x", None), "data.x must be a tensor"),
        (lambda data: setattr(data, "y", data.y.float()), "data.y must be an integer tensor"),
    ],
)
def test_bad_graphs_are_a_sentence(damage, says):
    data = graph()
    damage(data)
    if says is None:  # three splits that differ in their training nodes only are fine
        tune(data, "gcn", methods=["ls"], budget=8, **QUICK)
        return
    with pytest.raises(InputError, match=says) as error:
        tune(data, "gcn", methods=["ls"], budget=20, **QUICK)
    assert "\n" not in str(error.value)


def test_a_method_that_fails_in_every_training_is_a_sentence():
    def broken(in_channels, out_channels):
        raise RuntimeError("no such layer")

    with pytest.raises(InputError, match="every training of one_hot failed: RuntimeError: no such layer"):
        tune(graph(), broken, methods=["ls"], budget=20, **QUICK)


def test_a_user_s_model_is_searched_over_learning_rate_and_weight_decay():
    assert set(space_of(memory.name_of_model(Sage), "one_hot")) == {"lr", "weight_decay"}
    assert memory.name_of_model(Sage) != memory.name_of_model(graph)
