from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from cli.commands import Here, postel
from postel.experiments import rates
from postel.experiments.graphs import study_graph
from postel.experiments.store import Store
from postel.paper.target import target_names

SMALL = ("--datasets", "karate", "--splits", "2", "--max-epochs", "6", "-w", "1")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def test_without_a_name_all_targets_are_listed(here: Here, tmp_path: Path) -> None:
    done = here("reproduce", cwd=tmp_path)
    assert done.returncode == 0 and all(name in done.stdout for name in target_names())
    listed = json.loads(here("reproduce", "--json", cwd=tmp_path).stdout)
    assert [entry["name"] for entry in listed] == target_names() and len(listed) == 25
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_printed_and_written_with_a_search(tmp_path: Path) -> None:
    arguments = (
        "reproduce",
        "table-main",
        *SMALL,
        "-b",
        "gcn",
        "-m",
        "one_hot,ls",
        "-m",
        "postel:alpha=0.5,beta=0",
    )
    done = postel(*arguments, "--budget", "8", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "8 trainings" in done.stdout and "not run" not in done.stdout
    assert "postel alpha=0.5 beta=0" in (tmp_path / "paper" / "table-main.txt").read_text()
    with (tmp_path / "paper" / "table-main.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    assert [line["variant"] for line in lines] == ["one_hot", "uniform", "postel alpha=0.5 beta=0"]
    assert all(line["splits"] == "2" and line["paper"] == "" for line in lines)  # the paper has no karate club
    again = postel(
        *arguments, "--render-only", "--store", "postel.sqlite", "--out", "again", "--json", cwd=tmp_path
    )
    rows = json.loads(again.stdout)["rows"]
    assert [row["ours"] for row in rows] == [float(line["ours"]) for line in lines]


def test_a_budget_too_small_for_one_method_is_refused_before_any_is_run(here: Here, tmp_path: Path) -> None:
    arguments = ("reproduce", "table-main", *SMALL, "-b", "gcn", "-m", "one_hot,postel")
    refused = here(*arguments, "--budget", "6", cwd=tmp_path)
    assert refused.returncode == 2 and "a budget of 6 trainings is too small to search postel" in refused.stderr
    assert Store(tmp_path / "postel.sqlite").all_rows() == []


def test_a_dry_run_runs_nothing_and_says_how_it_knows(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    asked = ("reproduce", "table-main", *SMALL, "--dry-run")
    done = here(*asked, "-b", "gcn,mlp", cwd=folder)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "16 (0 of them in postel.sqlite)" in told and "for 2 of 2 pairs of dataset and backbone" in told
    assert "epochs measured on this machine on 2" in told and "400 epochs per training are assumed for 2" in told
    kept = json.loads((tmp_path / "cache" / "epoch-rates.json").read_text())
    assert [len(rates) for rates in kept.values()] == [2]
    counted = json.loads(here(*asked, "-b", "gcn,mlp", "--json", cwd=folder).stdout)
    assert counted["cells"] == 16 and 16 * 8 < counted["runs"] < 16 * 400 and counted["done"] == 0
    shares = here("reproduce", "table-class-shares", *SMALL, "--dry-run", cwd=folder).stdout
    assert "trains the runs of the searched cells" in shares and "cells  " not in shares
    assert "no training is needed" in here("reproduce", "figure-toy", "--dry-run", cwd=folder).stdout
    assert "then " not in done.stdout
    assert (
        "then       every run once more" in here("reproduce", "table-time", *SMALL, "--dry-run", cwd=folder).stdout
    )
    assert list(folder.iterdir()) == []  # no store, no folder of tables


def test_a_dry_run_counts_the_trainings_of_a_table_that_has_no_search(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path))
    # Not the published size: a random graph of 124 million entries would stand in.
    monkeypatch.setattr(rates, "_graph_or_stand_in", lambda *_: (study_graph("karate"), True))
    counted = json.loads(here("reproduce", "table-products", "--dry-run", "--json", cwd=tmp_path).stdout)
    assert (counted["cells"], counted["runs"]) == (5, 15) and counted["trainings"] > 15


def test_a_figure_is_written_as_png_and_svg(here: Here, tmp_path: Path) -> None:
    done = here("reproduce", "figure-loss", *SMALL, "--out", "pictures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "pictures").iterdir() if path.name != ".postel.json"]
    assert {path.suffix for path in files} == {
        ".txt",
        ".md",
        ".csv",
        ".tex",
        ".png",
        ".svg",
    }


def test_json_stands_alone(here: Here, tmp_path: Path) -> None:
    done = here("reproduce", "table-iterations", *SMALL, "-b", "gcn", "--budget", "fixed", "--json", cwd=tmp_path)
    said = json.loads(done.stdout)
    assert said["name"] == "table-iterations" and said["rows"][0]["splits"] == 2
    assert said["files"] == [f"paper/table-iterations.{ending}" for ending in ("txt", "md", "csv", "tex")]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("table-mian",), "did you mean table-main"),
        (("table-main", "--budget", "lots"), "a budget is a number of trainings"),
        (("table-main", "--datasets", "coraa"), "coraa"),
        (("table-main", "--store", "/proc/x.sqlite"), "cannot be used as a store"),
        (("table-products",), "unpack it as ogbn_products"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: tuple[str, ...], says: str, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path / "cache"))
    done = here("reproduce", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_what_reproduce_made_is_made_anew_and_what_was_changed_is_kept(here: Here, tmp_path: Path) -> None:
    arguments = ("reproduce", "figure-toy", "--render-only", "--out", "paper")
    assert here(*arguments, cwd=tmp_path).returncode == 0
    assert here(*arguments, cwd=tmp_path).returncode == 0
    table = tmp_path / "paper" / "figure-toy.tex"
    table.write_text("edited by hand")
    done = here(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and "is not as postel reproduce wrote it" in done.stderr
    assert table.read_text() == "edited by hand"
    assert here(*arguments, "--overwrite", cwd=tmp_path).returncode == 0
    assert table.read_text() != "edited by hand"
