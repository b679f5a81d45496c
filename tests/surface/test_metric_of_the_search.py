"""Settings chosen by ROC-AUC and the like, for graphs whose classes are of very different sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from cli.commands import Here
from postel import tune
from postel.errors import InputError
from postel.experiments.budget import Budget
from postel.experiments.results import Cell, Question
from postel.experiments.search.choice import Measured, own_error
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store

TUNE = ("tune", "karate", "-m", "ls", "--budget", "grid", "--set", "lr=0.05")
SMALL = ("--splits", "3", "--max-epochs", "4", "--workers", "1", "--json")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def imbalanced_graph() -> Data:
    """One node in ten is positive. The first feature tells it; the second does so on training nodes only."""
    n, splits = 300, 3
    random = torch.Generator().manual_seed(0)
    y = (torch.arange(n) % 10 == 0).long()
    part = (torch.randperm(n, generator=random) % 3).unsqueeze(1).repeat(1, splits)
    told = 2.0 * y - 1
    guess = torch.where(torch.rand(n, generator=random) < 0.25, 1.0, -1.0)
    x = torch.stack([0.5 * told, 50 * torch.where(part[:, 0] == 0, told, guess)], dim=1)
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    masks = {f"{name}_mask": part == number for number, name in enumerate(("train", "val", "test"))}
    return Data(x=x, edge_index=torch.cat([ring, ring.flip(0)], dim=1), y=y, **masks)


class Ranker(nn.Module):
    """Ranks nodes well at first and calls all of them positive; training spoils the one and mends the other."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 0.0]))
        self.bias = nn.Parameter(torch.tensor(3.0))

    def reset_parameters(self) -> None:
        self.__init__()  # type: ignore[misc]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        score = x @ self.weight + self.bias
        return torch.stack([torch.zeros_like(score), score], dim=1)


def ranker(in_channels: int, out_channels: int) -> nn.Module:
    return Ranker()


def chosen_by(metric: str, **more: Any) -> Any:
    return tune(
        imbalanced_graph(), ranker, methods=["one_hot"], budget=24, workers=1, progress=False,
        fixed={"max_epochs": 4, "weight_decay": 0.0}, metric=metric, **more,
    )  # fmt: skip


def test_accuracy_and_roc_auc_choose_differently_on_an_imbalanced_graph(tmp_path: Path) -> None:
    by_accuracy, by_area = chosen_by("accuracy", store=tmp_path / "s.sqlite"), chosen_by("roc_auc")
    assert by_accuracy.chosen.setting["lr"] > by_area.chosen.setting["lr"]
    data = imbalanced_graph()
    one, other = (choice.fit(data).evaluate(data, data.val_mask[:, 0]) for choice in (by_accuracy, by_area))
    assert one.accuracy > other.accuracy and other.roc_auc > one.roc_auc
    assert by_area.chosen.score == pytest.approx(other.roc_auc)
    assert "validation ROC-AUC" in str(by_area) and "validation ROC-AUC" not in str(by_accuracy)
    # The rows of one search serve the other: they hold every metric.
    rows = len(Store(tmp_path / "s.sqlite"))
    assert chosen_by("roc_auc", store=tmp_path / "s.sqlite").chosen.setting == by_area.chosen.setting
    assert len(Store(tmp_path / "s.sqlite")) == rows


def test_the_default_metric_is_the_accuracy_and_leaves_every_key_as_it_was() -> None:
    asked: dict[str, Any] = {"budget": Budget.parse("200"), "fixed": {"lr": 0.05}}
    question = Question("cora", "gcn", MethodSpec(name="uniform"), **asked)
    assert question.key == "4503749403cc64275190ec4f" and question.topic == "d9ea2372a05aecec60eb72fc"
    by_area = Question("cora", "gcn", MethodSpec(name="uniform"), metric="roc_auc", **asked)
    assert by_area.topic != question.topic
    spec = RunSpec(dataset="cora", fingerprint="f", method=MethodSpec(name="postel"))
    assert spec.key == "b0539056ae16ebbf7df41ca0"


def test_tune_takes_a_metric_and_keeps_both_answers_apart(here: Here, tmp_path: Path) -> None:
    told = {}
    for metric in ("accuracy", "average_precision"):
        options = () if metric == "accuracy" else ("--metric", metric)
        done = here(*TUNE, *options, *SMALL, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        told[metric] = json.loads(done.stdout)["cells"]
    store = Store(tmp_path / "postel.sqlite")
    assert len(store.cells()) == 4
    for one, other in zip(*told.values(), strict=True):
        assert "metric" not in one["asked"] and "accuracy" in one["validation"]
        assert other["asked"]["metric"] == "average_precision" and other["key"] != one["key"]
        back = Cell.from_dict(other)
        assert back.question.metric == "average_precision"
        assert back.as_dict() == {name: value for name, value in other.items() if name != "test"}
        precisions = [row.result.val.average_precision for row in store.rows(other["run_keys"])]
        assert other["validation"]["average_precision"] == pytest.approx(sum(precisions) / 3)
        assert {"roc_auc", "average_precision"} <= set(other["test"])
    done = here(*TUNE, "--metric", "roc_auc", *SMALL[:-1], cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert "chosen by mean validation ROC-AUC" in said and "points of ROC-AUC" in said
    page = here("report", "--store", "postel.sqlite", "-o", "report.html", cwd=tmp_path)
    assert page.returncode == 0 and "ROC-AUC" in (tmp_path / "report.html").read_text()


def test_compare_shows_both_in_the_table_in_json_and_on_the_page(here: Here, tmp_path: Path) -> None:
    arguments = ("compare", "karate", "-m", "one_hot,ls", "--splits", "2", "--max-epochs", "3", "-w", "1")
    done = here(*arguments, "--json", "-o", "c.html", cwd=tmp_path)
    for method in json.loads(done.stdout)["methods"]:
        assert 0 <= method["roc_auc"]["mean"] <= 100 and 0 <= method["average_precision"]["mean"] <= 100
    text = (tmp_path / "c.html").read_text()
    assert "ROC-AUC" in text and "average precision" in text
    shown = here(*arguments, cwd=tmp_path).stdout
    assert "ROC-AUC" in shown and "avg.prec." in shown


def test_a_wrong_metric_is_one_sentence(here: Here, tmp_path: Path) -> None:
    done = here("tune", "karate", "--metric", "roc_acu", cwd=tmp_path)
    assert done.returncode == 2 and "roc_auc" in done.stderr and not (tmp_path / "postel.sqlite").exists()
    with pytest.raises(InputError, match="metric must be one of 'accuracy'"):
        chosen_by("auc")


def test_rows_without_the_metric_are_named() -> None:
    data = imbalanced_graph()
    data.val_mask = data.val_mask & (data.y == 0).unsqueeze(1)
    with pytest.raises(InputError, match="no ROC-AUC of its validation nodes: they are all of one class"):
        tune(data, "mlp", methods=["one_hot"], budget=8, workers=1, progress=False, metric="roc_auc")


def test_other_metrics_are_as_sure_as_the_smaller_classes_allow() -> None:
    by_accuracy = [Measured(0, 0.9, 0.3, nodes=100)]
    by_area = [Measured(0, 0.9, 0.3, nodes=10)]
    assert own_error(by_area) > own_error(by_accuracy)
