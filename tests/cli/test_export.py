from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cli.commands import Here
from experiments.studies import tiny_specs
from postel.experiments.running.executor import run_all
from postel.experiments.search.stored import tune_dataset
from postel.experiments.store import Store


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of a cell and runs beside it."""
    folder = tmp_path_factory.mktemp("filled")
    store = Store(folder / "postel.sqlite")
    run_all(tiny_specs(1), workers=1, store=store)
    fixed = {"max_epochs": 20}
    tune_dataset("karate", "gcn", "one_hot", splits=range(2), budget="fixed", store=store, workers=1, fixed=fixed)
    return folder


def test_a_file_has_a_line_for_every_run(here: Here, filled: Path) -> None:
    done = here("export", "out/rows.csv", cwd=filled)
    assert done.returncode == 0 and "5 runs are in out/rows.csv" in done.stdout, done.stderr
    with (filled / "out" / "rows.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 5


def test_a_folder_stands_for_the_store(here: Here, filled: Path) -> None:
    done = here("export", "results", "--json", cwd=filled)
    told = json.loads(done.stdout)
    assert told["runs"] == 5 and told["bytes"] > 0
    assert sorted(told["files"]) == [
        f"results/{name}" for name in ("cells.json", "measured.parquet", "rounds.parquet", "rows.parquet")
    ]
    chosen = ("table-main", "-d", "karate", "-b", "gcn", "-m", "one_hot", "--max-epochs", "20", "--splits", "2")
    given = ("--budget", "fixed")  # as its cell was run: a table that asks for a search takes none without
    done = here("reproduce", *chosen, *given, "--store", "results", "--render-only", "--json", cwd=filled)
    made = json.loads(done.stdout)
    assert (made["rows"][0]["state"], made["rows"][0]["splits"]) == ("run", 2)
    assert made["notes"][-1] == "Rows: results."
    done = here("export", "again.sqlite", "--store", "results", cwd=filled)
    assert done.returncode == 0 and "5 runs are in again.sqlite" in done.stdout, done.stderr
    rerun = ("compare", "karate", "-m", "one_hot", "--splits", "1", "--max-epochs", "30", "--lr", "0.05")
    done = here(*rerun, "--store", "again.sqlite", "--out", "page.html", cwd=filled)
    assert done.returncode == 0 and len(Store(filled / "again.sqlite")) == 5, done.stderr  # nothing is run again
    done = here("report", "--store", "results", "--out", "study.html", cwd=filled)
    assert done.returncode == 0 and "5 runs" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("export", "rows.csv", "--store", "absent.sqlite"), "there is no store absent.sqlite"),
        (("export", "postel.sqlite", "--store", "."), "postel.sqlite is there already"),
        (("export", "new.sqlite"), "postel.sqlite is a store already; copy the file"),
        (("export", "rows.xlsx"), "ends in .csv or .parquet, got rows.xlsx"),
        (("reproduce", "table-main", "--store", "."), "is a folder of results to read; add --render-only"),
        (("reproduce", "table-main", "--store", ".", "--render-only"), "is no folder of results"),
        (("report", "--store", "."), "is no folder of results"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    here: Here, filled: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = here(*arguments, cwd=filled)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
