"""What becomes of a trained model: predictions for a graph, and the same run once more."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from cli.commands import Here
from postel import KnownLabels, NodeClassifier, load_dataset
from postel.functional import calibrated_soft_labels

QUICK = ("--max-epochs", "4", "--pseudo-labels", "1", "--json")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def test_predictions_of_a_trained_model(here: Here, tmp_path: Path) -> None:
    assert here("train", "karate", *QUICK, "--out", "model", cwd=tmp_path).returncode == 0
    done = here("predict", "model", "karate", "--out", "p.parquet", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = NodeClassifier.load(tmp_path / "model").predict_proba(load_dataset("karate"))
    table = pq.read_table(tmp_path / "p.parquet").to_pydict()
    assert table["node"] == list(range(34))
    assert table["prediction"] == [str(k) for k in expected.argmax(1).tolist()]
    assert table["probability"] == expected.amax(1).tolist() and table["p_2"] == expected[:, 2].tolist()
    assert sum(json.loads(done.stdout)["predicted"].values()) == 34
    assert "one line per node" in here("predict", "model", "karate", "-o", "p.csv", cwd=tmp_path).stdout
    with (tmp_path / "p.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["prediction"] for line in lines] == table["prediction"]
    assert [float(line["p_0"]) for line in lines] == table["p_0"]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_predictions_are_pseudo_labels_as_they_are(form: str, here: Here, tmp_path: Path) -> None:
    here("train", "karate", *QUICK, "--out", "model", cwd=tmp_path)
    assert here("predict", "model", "karate", "-o", f"said.{form}", cwd=tmp_path).returncode == 0
    data = load_dataset("karate", split=0)
    train = data.train_mask.nonzero().view(-1)
    columns = {"source": data.edge_index[0].numpy(), "target": data.edge_index[1].numpy()}
    pq.write_table(pa.table(columns), tmp_path / "edges.parquet")
    pq.write_table(pa.table({"node": train.numpy(), "label": data.y[train].numpy()}), tmp_path / "train.parquet")
    tables = ("--edges", "edges.parquet", "--labels", "train.parquet", "--pseudo-labels", f"said.{form}")
    method = ("--method", "calibrated", "--out", "soft.parquet", "--nodes", "all")
    done = here("smooth", *tables, *method, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = NodeClassifier.load(tmp_path / "model").predict_proba(data).double()
    known = KnownLabels.from_mask(data.y, data.train_mask).with_evidence(said)
    expected = calibrated_soft_labels(data.edge_index, known)
    found = pq.read_table(tmp_path / "soft.parquet").to_pydict()
    assert found["node"] == list(range(34))
    assert torch.allclose(torch.tensor(found["soft_label"], dtype=torch.float64), expected, rtol=0, atol=1e-12)
    refused = here("smooth", *tables, "--out", "plain.parquet", cwd=tmp_path)
    assert refused.returncode == 2 and "only the method calibrated takes" in " ".join(refused.stderr.split())


def test_predictions_replace_nothing_unasked(here: Here, tmp_path: Path) -> None:
    here("train", "karate", *QUICK, "--out", "model", cwd=tmp_path)
    (tmp_path / "p.csv").write_text("mine\n")
    for flags in ((), ("--overwrite",)):  # not even then: no predictions of an earlier time
        refused = here("predict", "model", "karate", "-o", "p.csv", *flags, cwd=tmp_path)
        assert refused.returncode == 2 and (tmp_path / "p.csv").read_text() == "mine\n"
    here("predict", "model", "karate", "-o", "q.csv", cwd=tmp_path)
    assert here("predict", "model", "karate", "-o", "q.csv", cwd=tmp_path).returncode == 2
    assert here("predict", "model", "karate", "-o", "q.csv", "--overwrite", cwd=tmp_path).returncode == 0
    assert ".csv or .parquet" in here("predict", "model", "karate", "-o", "p.txt", cwd=tmp_path).stderr
    assert "no model folder" in here("predict", ".", "karate", cwd=tmp_path).stderr


def test_a_run_is_repeated_from_its_file_or_the_store(here: Here, tmp_path: Path) -> None:
    first = json.loads(here("train", "karate", "-m", "ls", *QUICK, "--out", "model", cwd=tmp_path).stdout)
    for place in ("model/run.json", "model"):
        again = json.loads(here("train", "--from", place, "--json", cwd=tmp_path).stdout)
        assert again["key"] == first["key"] and again["result"]["test"] == first["result"]["test"]
    told = here("train", "--from", "model", cwd=tmp_path)
    assert "validation scores are those of the repeated run" in told.stderr
    here("compare", "karate", "-m", "ls", "--splits", "1", "-w", "1", *QUICK, cwd=tmp_path)
    again = json.loads(
        here("train", "--from", "postel.sqlite", "--key", first["key"], "--json", cwd=tmp_path).stdout
    )
    assert again["result"]["test"] == first["result"]["test"]


def test_batches_and_device_are_remembered(here: Here, tmp_path: Path) -> None:
    batched = ("train", "karate", "-m", "ls", *QUICK, "--batch-size", "8")
    first = json.loads(here(*batched, "--out", "model", cwd=tmp_path).stdout)
    assert first["ways"] == {"batch_size": 8} and first["key"] is None
    again = json.loads(here("train", "--from", "model", "--json", cwd=tmp_path).stdout)
    assert again["ways"] == first["ways"] and again["result"]["test"] == first["result"]["test"]
    assert "torch finds no GPU here" in here("train", "karate", "--device", "cuda", cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("train",), "name a graph to train on, or a run to repeat with --from"),
        (("train", "--from", "none.json"), "there is no none.json"),
        (("train", "--from", "bad.json"), "bad.json is no run.json"),
        (("train", "--from", "bad.json", "--lr", "0.1"), "--from says what to train; leave out --lr"),
        (("train", "karate", "--from", "bad.json"), "leave out GRAPH"),
        (("smooth", "--edges", "none.csv", "--labels", "none.csv", "-o", "o.parquet"), "none.csv"),
        (("train", "karate", "--set", "width=3"), "gcn has no argument 'width'"),
        (("tune", "karate", "--set", "depth=3"), "'depth' cannot be fixed"),
        (("reproduce", "table-mian"), "did you mean table-main"),
    ],
)
def test_an_error_is_one_line_before_any_bar(
    here: Here, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "bad.json").write_text("{}")
    done = here(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and done.stdout == ""
    assert done.stderr.startswith("postel: ") and done.stderr.count("\n") == 1


def test_a_dry_run_leaves_no_file_behind(here: Here, tmp_path: Path) -> None:
    plan = ("reproduce", "table-main", "--dataset", "karate", "--backbone", "gcn", "--method", "ls")
    short = ("--budget", "fixed", "--splits", "1", "--max-epochs", "1", "-w", "1")
    assert here(*plan, *short, "--dry-run", cwd=tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []
    here("compare", "karate", "-m", "ls", "--splits", "1", "-w", "1", *QUICK, cwd=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert here(*plan, *short, "--dry-run", cwd=tmp_path).returncode == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
