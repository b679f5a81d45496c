from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import Here, interrupt, postel
from postel import NodeClassifier, load_dataset
from postel.experiments.store import Store

SMALL = ("--max-epochs", "30", "--lr", "0.05")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def test_train_keeps_a_model_and_what_it_takes_to_repeat_it(tmp_path: Path) -> None:
    done = postel("train", "karate", "-m", "postel:alpha=0.6", *SMALL, "--out", "model", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert row == json.loads((tmp_path / "model" / "run.json").read_text())
    assert row["spec"]["method"] == {"name": "postel", "params": {"alpha": 0.6, "beta": 0.4}}
    assert row["made_by"]["postel"]
    data = load_dataset("karate", split=0)
    assert data.fingerprint == row["spec"]["fingerprint"]
    model = NodeClassifier.load(tmp_path / "model")
    assert model.score(data, data.test_mask) == pytest.approx(row["result"]["test"]["accuracy"])


def test_train_prints_a_table(here: Here, tmp_path: Path) -> None:
    done = here("train", "karate", "-b", "mlp", "--set", "hidden=8", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "accuracy, %" in done.stdout and "majority class of the test nodes" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_compare_prints_json_and_writes_a_page(tmp_path: Path) -> None:
    arguments = ("compare", "karate", "-m", "one_hot", "-m", "postel", "--splits", "3", *SMALL, "--json")
    done = postel(*arguments, "--out", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert [line["label"] for line in table["methods"]] == ["one_hot", "postel alpha=0.5 beta=0.4"]
    assert table["methods"][1]["difference"]["p_value"] >= 0.25
    assert (tmp_path / "page.html").exists()
    assert len(Store(tmp_path / "postel.sqlite")) == 6
    again = postel(*arguments, cwd=tmp_path)
    assert json.loads(again.stdout) == table  # seconds too: nothing was run


def test_compare_prints_a_table(here: Here, tmp_path: Path) -> None:
    done = postel(
        "compare", "karate", "-m", "one_hot", "-m", "ls", "--splits", "2", "-w", "1", *SMALL, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "against one-hot" in done.stdout and "majority class" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train", "cora-typo"), "cora-typo"),
        (("train", "karate", "-m", "magic"), "there is no method 'magic'"),
        (("train", "karate", "-b", "transformer"), "transformer"),
        (("train", "karate", "--lr", "-1"), "lr must be"),
        (("train", "karate", "--stopping", "never"), "stopping"),
        (("train", "karate", "--split", "-3"), "split"),
        (("train", "karate", "--protocol", "random"), "protocol"),
        (("train", "karate", "--set", "hidden"), "--set takes key=value"),
        (("train", "karate", "--pseudo-labels", "maybe"), "--pseudo-labels takes yes, no or a number"),
        (("compare", "karate", "--out", "page.docx"), "--out takes a file that ends in"),
        (("compare", "karate", "--store", "/proc/x.sqlite"), "cannot be used as a store"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], says: str, here: Here, tmp_path: Path
) -> None:
    done = here(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.startswith("postel: ") and len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("postel.sqlite")] == []


@pytest.mark.parametrize("command", ["train", "compare", "demo"])
def test_help_has_an_example(command: str, here: Here, tmp_path: Path) -> None:
    done = here(command, "--help", cwd=tmp_path)
    assert done.returncode == 0 and f"Example: postel {command}" in done.stdout


def test_an_interrupted_comparison_goes_on_where_it_was(tmp_path: Path) -> None:
    arguments = (
        "compare",
        "csbm-homophilic",
        "-m",
        "one_hot",
        "--splits",
        "8",
        "--lr",
        "0.05",
        "--store",
        "s.sqlite",
    )
    code, said = interrupt(*arguments, "--out", "page.html", cwd=tmp_path, ready=tmp_path / "s.sqlite")
    assert code == 130
    assert "the same command goes on from there" in said and "Traceback" not in said
    kept = len(Store(tmp_path / "s.sqlite"))
    assert 0 < kept < 8
    assert not (tmp_path / "page.html").exists()
    done = postel(*arguments, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["methods"][0]["splits"] == 8


def test_an_interrupted_training_writes_nothing(tmp_path: Path) -> None:
    arguments = (
        "train",
        "csbm-homophilic",
        "--max-epochs",
        "100000",
        "--stopping",
        "patience",
        "--lr",
        "0.000001",
    )
    code, said = interrupt(*arguments, "--out", "model", cwd=tmp_path, ready=None)
    assert code == 130 and "nothing was written" in said
    assert list(tmp_path.iterdir()) == []
