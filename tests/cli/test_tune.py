from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import Here, interrupt, postel
from postel.experiments.store import Store

SMALL = ("--splits", "3", "--max-epochs", "5", "--workers", "1")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def test_tune_prints_cells_that_the_store_keeps_and_goes_on(here: Here, tmp_path: Path) -> None:
    files = ("--store", "s.sqlite", "--storage", "trials.sqlite")
    arguments = ("tune", "karate", "--backbone", "gcn", "--budget", "30", *SMALL, *files, "--json")
    done = here(*arguments, "--method", "one_hot", "--method", "postel", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["recommended"] in ("one_hot", "postel") and "points on validation nodes" in told["reason"]
    assert "--storage trials.sqlite is not used" in done.stderr
    cells = told["cells"]
    assert [cell["method"]["name"] for cell in cells] == ["one_hot", "postel"]
    assert cells[0]["budget"]["text"] == "30 trainings: 8 of 8 settings on 3 splits; 24 trainings"
    assert cells[1]["budget"]["trainings"] <= 30 and cells[1]["budget"]["method_searched"]
    for cell in cells:
        accuracies = [row.percent("accuracy") for row in Store(tmp_path / "s.sqlite").rows(cell["run_keys"])]
        assert len(accuracies) == 3
        assert cell["test"]["accuracy"]["mean"] == pytest.approx(sum(accuracies) / 3)
    assert not (tmp_path / "trials.sqlite").exists()
    rows = len(Store(tmp_path / "s.sqlite"))
    again = here(*arguments, "--method", "one_hot", "--method", "postel", cwd=tmp_path)
    assert json.loads(again.stdout)["cells"] == cells and len(Store(tmp_path / "s.sqlite")) == rows


def test_tune_prints_the_budget_beside_the_numbers(here: Here, tmp_path: Path) -> None:
    done = here("tune", "karate", "-m", "uniform", "--budget", "grid", "--fix", "lr=0.05", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "18" in said and "validation" in said and "test acc." in said
    assert "Settings are chosen by mean validation accuracy" in said
    assert "one_hot" in said and ("Train on one-hot labels" in said or "Use uniform" in said)
    assert (tmp_path / "postel.sqlite").exists()


def test_help_has_an_example(here: Here, tmp_path: Path) -> None:
    done = here("tune", "--help", cwd=tmp_path)
    assert done.returncode == 0 and "Example: postel tune" in done.stdout
    for option in ("--budget", "--search-splits", "--scheduler", "--store", "--json"):
        assert option in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--budget", "lots"), "a budget is a number of trainings above 0 (400), of minutes (30m), standard"),
        (("--budget", "0"), "got '0'"),
        (("--method", "magic"), "there is no method 'magic'"),
        (("--backbone", "transformer"), "transformer"),
        (("--set", "depth=3"), "'depth' cannot be fixed"),
        (("--set", "lr"), "--set takes key=value"),
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
    arguments = ("tune", "csbm-homophilic", "-m", "postel", "--budget", "12", "--splits", "2", "--workers", "1")
    arguments += ("--max-epochs", "60", "--store", "s.sqlite")
    store = tmp_path / "s.sqlite"
    code, said = interrupt(*arguments, cwd=tmp_path, ready=store)
    assert code == 130 and "the same command goes on from there" in said and "Traceback" not in said
    kept = len(Store(store))
    assert kept > 0 and Store(store).cells() == []
    done = postel(*arguments, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [cell["method"]["name"] for cell in json.loads(done.stdout)["cells"]] == ["one_hot", "postel"]


def test_a_budget_that_is_too_small_is_a_sentence_and_no_verdict(here: Here, tmp_path: Path) -> None:
    done = here("tune", "karate", "-m", "ls,postel", "--budget", "8", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert (
        "a budget of 8 trainings is too small to search postel: comparing two settings" in said
        and "(uniform)" in said
    )
    rows = Store(tmp_path / "postel.sqlite").all_rows()
    assert {row.spec.method.name for row in rows} == {"one_hot", "uniform"}
    refused = here("tune", "karate", "--budget", "3", *SMALL, "--store", "new.sqlite", cwd=tmp_path)
    assert refused.returncode == 2 and "a budget of 3 trainings is too small to search one_hot" in refused.stderr
    assert not (tmp_path / "new.sqlite").exists(), "it is refused before anything is written"


def test_the_printed_difference_is_that_of_the_printed_scores(here: Here, tmp_path: Path) -> None:
    arguments = ("tune", "karate", "-m", "ls", "--budget", "20", "--search-splits", "1", *SMALL, "--json")
    told = json.loads(here(*arguments, cwd=tmp_path).stdout)
    one_hot, soft = (line["accuracy"] for line in told["compared"])
    assert f"{100 * (soft - one_hot):+.2f} points" in told["reason"]
    assert [line["runs"] for line in told["compared"]] == [3, 3] and told["left_out"] == []


def test_without_a_search_a_method_has_the_setting_that_its_name_means_elsewhere(
    here: Here, tmp_path: Path
) -> None:
    arguments = ("karate", "-m", "one_hot,postel", *SMALL, "--store", "s.sqlite", "--json")
    told = json.loads(here("tune", *arguments, "--budget", "fixed", cwd=tmp_path).stdout)
    assert told["cells"][1]["method"]["params"] == {"alpha": 0.5, "beta": 0.4}
    rows = len(Store(tmp_path / "s.sqlite"))
    done = here("compare", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(Store(tmp_path / "s.sqlite")) == rows, "compare finds the same runs there"
