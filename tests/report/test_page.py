from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from postel.experiments.comparison import comparison_specs
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec
from postel.experiments.store import Store
from postel.report.cells import cells_of
from postel.report.grid import grids_of, standings_of
from postel.report.lines import lines_of
from postel.report.page import page_of, study_of, write_study
from postel.report.pictures import figures_in
from postel.report.rows import thin, thin_rows
from report.samples import SIX, cell, row


@pytest.fixture(scope="module")
def parts() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Texas and Cornell with GCN, but for KD on Cornell; PosteL has collapsed there."""
    cells, rows = [], []
    for dataset in ("texas", "cornell"):
        for method in SIX:
            if (dataset, method) == ("cornell", "distillation"):
                continue
            collapsed = (dataset, method) == ("cornell", "postel")
            made, runs = cell(dataset, "gcn", method, mean=0.80 if collapsed else None, collapsed=collapsed)
            cells.append(made)
            rows += [thin(one) for one in runs]
    return cells, rows


def embedded_details(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="details">(.*?)</script>', page, re.S)
    assert found is not None
    details: list[dict[str, Any]] = json.loads(found[1])
    return details


def test_a_grid_holds_the_papers_places_and_says_what_was_not_run(parts: Any) -> None:
    (grid,) = study_of(*parts).grids
    assert (grid.filled, grid.places, grid.has_paper) == (11, 480, True)
    assert [column.dataset for column in grid.columns if column.run] == ["texas", "cornell"]
    kd = next(one for one in grid.rows if (one.backbone, one.method) == ("gcn", "distillation"))
    spots = dict(zip((column.dataset for column in grid.columns), kd.spots, strict=True))
    assert spots["texas"].line is not None
    assert spots["cornell"].line is None and spots["cornell"].paper is not None
    assert spots["cornell"].paper.value == 63.61


def test_collapse_and_the_majority_class_are_marked_on_both_sides(parts: Any) -> None:
    study = study_of(*parts)
    spot = next(one for one in study.grids[0].rows if (one.backbone, one.method) == ("gcn", "postel")).spots[-1]
    assert spot.line is not None and spot.line.has_collapsed and not spot.line.beats_majority
    assert spot.paper_is_majority
    told = embedded_details(page_of(study))[spot.line.number]["warnings"]
    assert told[0] == "10 of 10 models predict one class for every test node."
    assert "does not beat it" in told[1] and "majority class" in told[2]


def test_differences_are_paired_with_one_hot_of_the_same_budget_only(parts: Any) -> None:
    cells, rows = parts
    richer, runs = cell("texas", "gcn", "uniform", trials=64)
    lines = lines_of(cells_of([*cells, richer], [*rows, *map(thin, runs)])[0])
    of = {(line.cell.dataset, line.cell.method.name, line.cell.budget["amount"]): line for line in lines}
    assert of["texas", "uniform", 64].difference is None
    same = of["texas", "uniform", 16]
    assert same.difference is not None
    gain = same.accuracy.mean - of["texas", "one_hot", 16].accuracy.mean
    assert same.difference.interval.mean == pytest.approx(gain)
    assert of["cornell", "sals", 16].verdict == "worse"  # 7.5 points below on every split, in the paper too


def test_one_hot_that_tried_all_it_could_has_the_same_budget(parts: Any) -> None:
    cells, rows = parts
    cells = [{**one, "budget": dict(one["budget"])} for one in cells]
    cells[0]["budget"] |= {"trials": 8, "text": "all 8 settings within 16 trials, 3 search splits"}
    study = study_of(cells, rows)
    assert study.lines[1].difference is not None
    assert study.grids[0].budgets == ["up to 16 trials, 3 search splits"]


def test_what_was_fixed_before_a_search_names_the_variant_and_has_no_figure_of_the_paper(parts: Any) -> None:
    made, runs = cell("texas", "gcn", "postel", target="table-ablation")
    asked = {"method": "postel", "params": {"beta": 0.6}, "pseudo_labels": True, "fixed": {}}
    study = study_of([{**made, "asked": asked}], [thin(one) for one in runs])
    (grid,) = study.grids
    assert [one.title for one in grid.rows] == ["PosteL (beta=0.6)"]
    assert (grid.whole, grid.places, grid.has_paper) == (False, 1, False)
    assert grid.title.startswith("table-ablation: ")


def test_standings_count_what_the_cells_say(parts: Any) -> None:
    lines = study_of(*parts).lines
    standings = {one.title: one for one in standings_of(lines)}
    assert list(standings) == ["LS", "KD", "SALS", "ALS", "PosteL"]
    assert (standings["KD"].cells, standings["SALS"].cells, standings["PosteL"].collapsed) == (1, 2, 1)
    assert standings["LS"].paper_gain == pytest.approx((77.87 - 77.38 + 67.87 - 65.90) / 2)


def test_runs_alone_make_cells_and_trials_of_searches_do_not(parts: Any) -> None:
    cells, rows = parts
    trial = thin(row("texas", "gcn", "uniform", 0, accuracy=0.5, lr=0.001))
    alone = [thin(row("karate", "mlp", method, split, accuracy=0.5)) for method in SIX[:2] for split in (0, 1)]
    found, trials = cells_of(cells, [*rows, trial, *alone])
    assert trials == 1
    made = [one for one in found if not one.target]
    assert [(one.dataset, one.title, len(one.rows)) for one in made] == [
        ("karate", "one-hot", 2),
        ("karate", "LS (epsilon=0.3)", 2),
    ]
    main, given = grids_of(lines_of(found))
    assert (main.title, given.title, given.has_paper) == ("Main table", "Comparisons at given settings", False)


def test_the_page_says_everything_and_needs_nothing_else(parts: Any, tmp_path: Path) -> None:
    (tmp_path / "figure-toy.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    spec = row("texas", "gcn", "als", 3, accuracy=0.5)["spec"]
    failures = [{"key": "k", "spec": spec, "traceback": "Traceback\nValueError: <b>no</b>"}]
    study = study_of(*parts, failures, store="study.sqlite", figures=figures_in(tmp_path))
    page = page_of(study, title="A <study>", command="postel report --title '<x>'")
    # Nothing is fetched when it is opened, and no text becomes markup.
    assert not re.findall(r"(?:src|href)=[\"'](?!data:|#)", page)
    assert not re.findall(r"url\(|@import|https?://(?!www\.w3\.org)", page)
    assert "<title>A &lt;study&gt;</title>" in page and "<x>" not in page and "<b>no</b>" not in page
    for text in ("study.sqlite", "up to 16 trials, 3 search splits", "not run", "print-of-texas", "figure-toy"):
        assert text in page
    assert page.count("re-implementation</span>") == 3
    assert "texas, split 3, gcn, als" in page
    assert "somewhere" not in page  # machines are counted, not named
    details = embedded_details(page)
    assert len(details) == 11
    assert len(details[0]["curves"]["epochs"]) <= 61 and 100 in details[0]["curves"]["epochs"]
    assert details[5]["title"] == "Texas · GCN · PosteL"
    assert len(details[5]["matrices"]) == 2 and details[0]["matrices"] == []
    assert ["alpha", "0.8"] in details[5]["chosen"]
    assert len(page) < 250_000


def test_the_same_store_gives_the_same_page(parts: Any) -> None:
    assert page_of(study_of(*parts)) == page_of(study_of(*parts))


def test_a_real_store_of_a_comparison(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    methods = [MethodSpec.parse(text) for text in ("one_hot", "postel:alpha=0.6")]
    rows = run_all(
        comparison_specs("karate", methods, range(2), max_epochs=20, lr=0.05, pseudo_labels=1),
        workers=1,
        store=store,
    )
    study = write_study(tmp_path / "page.html", store.path)
    assert [line.cell.title for line in study.lines] == [
        "one-hot",
        "PosteL (alpha=0.6, 1 round of pseudo-labels)",
    ]
    accuracies = [one["result"]["test"]["accuracy"] for one in rows if one["spec"]["method"]["name"] == "postel"]
    assert study.lines[1].accuracy.mean == pytest.approx(100 * sum(accuracies) / 2)
    assert "rounds" in rows[0] and "rounds" not in thin_rows(store)[0]
    details = embedded_details((tmp_path / "page.html").read_text())
    assert details[1]["command"].startswith("postel compare karate -m one_hot -m postel:alpha=0.6 --backbone gcn")


def test_what_cannot_be_reported_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no store .*absent\.sqlite; name one"):
        write_study(tmp_path / "page.html", tmp_path / "absent.sqlite")
    assert list(tmp_path.iterdir()) == []
    Store(tmp_path / "empty.sqlite")
    with pytest.raises(ValueError, match="holds no runs yet"):
        write_study(tmp_path / "page.html", tmp_path / "empty.sqlite")
    with pytest.raises(ValueError, match=r"ends in \.html, got page\.pdf"):
        write_study(tmp_path / "page.pdf", tmp_path / "empty.sqlite")
    with pytest.raises(ValueError, match="is no folder"):
        figures_in(tmp_path / "absent")


def test_of_two_pictures_with_one_name_the_svg_is_taken_unless_it_is_large(tmp_path: Path) -> None:
    for name, size in (("a.svg", 10), ("a.png", 5), ("b.svg", 500_000), ("b.png", 5), ("notes.txt", 1)):
        (tmp_path / name).write_bytes(b"x" * size)
    kinds = {figure.name: figure.address.partition(";")[0] for figure in figures_in(tmp_path)}
    assert kinds == {"a": "data:image/svg+xml", "b": "data:image/png"}
