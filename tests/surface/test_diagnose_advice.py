"""``postel diagnose`` ends with what to do, and promises nothing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from cli.commands import Here
from postel.cli.words import listed
from postel.datasets.diagnosis.advice import advise
from postel.experiments.spec import MethodSpec


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def test_the_last_line_is_a_command_that_runs(here: Here, tmp_path: Path) -> None:
    shown = here("diagnose", "csbm-heterophilic", "--protocol", "stratified", cwd=tmp_path).stdout
    assert "Beware" not in shown and "will help" not in shown
    program, *arguments = shlex.split(shown.rstrip("\n").splitlines()[-1])
    assert program == "postel" and arguments[:2] == ["compare", "csbm-heterophilic"]
    quick = ("--splits", "1", "--max-epochs", "1", "--pseudo-labels", "no", "-w", "1", "--json")
    done = here(*arguments, *quick, cwd=tmp_path)
    labels = [method["label"] for method in json.loads(done.stdout)["methods"]]
    assert labels == ["one_hot", "postel alpha=0.5 beta=0.4", "calibrated"]


def test_few_labels_are_warned_of(here: Here, tmp_path: Path) -> None:
    shown = here("diagnose", "karate", "--protocol", "limited", cwd=tmp_path).stdout
    assert "Beware" in shown and "a posterior has little to count" in shown
    assert "--protocol limited" in shown.splitlines()[-1]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"contrast": 0.5, "nodes_per_class": 2.2}, "there are 2.2 training nodes per class"),
        ({"contrast": 0.5, "without_neighbor": 0.6}, "60% of the training nodes have no labelled neighbor"),
        ({"contrast": 0.05}, "neighbors hardly tell classes apart"),
        ({"contrast": 0.5, "score": 0.3, "constant_score": 0.25}, "neighbors hardly tell classes apart"),
        ({"contrast": 0.5, "score": 0.9, "constant_score": 0.25, "nodes_per_class": 50}, None),
    ],
)
def test_advice_for_each_case_names_methods_that_there_are(values: dict[str, float], says: str | None) -> None:
    found = advise(**values)
    assert (found.warning is None) if says is None else (says in str(found.warning))
    methods = [MethodSpec.parse(text) for text in listed([",".join(found.methods)]) or ()]
    assert len(methods) == len(found.methods) and methods[0].name == "one_hot"
