from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import Here, interrupt, postel
from postel.experiments.store import Store

SMALL = ("--splits", "3", "--search-splits", "2", "--max-epochs", "20", "--workers", "1")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def test_tune_prints_cells_that_the_store_keeps_and_goes_on(here: Here, tmp_path: Path) -> None:
    files = ("--store", "s.sqlite", "--storage", "trials.sqlite")
    arguments = ("tune", "karate", "--backbone", "gcn", "--budget", "5", *SMALL, *files, "--json")
    done = here(*arguments, "--method", "one_hot", "--method", "postel", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert [cell["method"]["name"] for cell in cells] == ["one_hot", "postel"]
    assert {cell["budget"]["text"] for cell in cells} == {"5 trials, 2 search splits"}
    for cell in cells:
        accuracies = [
            100 * row["result"]["test"]["accuracy"] for row in Store(tmp_path / "s.sqlite").rows(cell["run_keys"])
        ]
        assert len(accuracies) == 3
        assert cell["test"]["accuracy"]["mean"] == pytest.approx(sum(accuracies) / 3)
    assert (tmp_path / "trials.sqlite").exists()
    rows = len(Store(tmp_path / "s.sqlite"))
    again = here(*arguments, "--method", "one_hot", "--method", "postel", cwd=tmp_path)
    assert json.loads(again.stdout)["cells"] == cells and len(Store(tmp_path / "s.sqlite")) == rows


def test_tune_prints_the_budget_beside_the_numbers(here: Here, tmp_path: Path) -> None:
    done = here("tune", "karate", "-m", "uniform", "--budget", "grid", "--fix", "lr=0.05", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "18" in said and "validation" in said and "test acc." in said
    assert "Settings are chosen by mean validation accuracy" in said
    assert (tmp_path / "postel.sqlite").exists() and (tmp_path / "postel.trials.sqlite").exists()


def test_help_has_an_example(here: Here, tmp_path: Path) -> None:
    done = here("tune", "--help", cwd=tmp_path)
    assert done.returncode == 0 and "Example: postel tune" in done.stdout
    for option in ("--budget", "--search-splits", "--storage", "--scheduler", "--store", "--json"):
        assert option in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--budget", "lots"), "a budget is a number of trials (16), of minutes (30m), grid or fixed, got 'lots'"),
        (("--method", "magic"), "there is no method 'magic'"),
        (("--backbone", "transformer"), "transformer"),
        (("--fix", "depth=3"), "'depth' cannot be fixed"),
        (("--fix", "lr"), "--fix takes key=value"),
        (("--storage", "oracle://nowhere"), "cannot be used as a storage of trials"),
        (("--store", "/proc/x.sqlite"), "cannot be used as a store"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], says: str, here: Here, tmp_path: Path
) -> None:
    done = here("tune", "karate", *SMALL, *arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("postel: ") and says in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_interrupted_search_goes_on_where_it_was(tmp_path: Path) -> None:
    arguments = ("tune", "csbm-homophilic", "-m", "postel", "--budget", "4", "--splits", "2", "--workers", "1")
    arguments += ("--search-splits", "1", "--max-epochs", "60", "--store", "s.sqlite")
    store = tmp_path / "s.sqlite"
    code, said = interrupt(*arguments, cwd=tmp_path, ready=store)
    assert code == 130 and "the same command goes on from there" in said and "Traceback" not in said
    kept = len(Store(store))
    assert kept > 0 and Store(store).cells() == []
    done = postel(*arguments, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells"][0]["budget"]["trials"] == 4
