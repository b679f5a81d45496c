"""One page for whatever a store has: a study of the paper, a comparison, both."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postel.datasets.diagnosis import diagnose
from postel.datasets.storage.graph_file import write_graph_file
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.datasets.synthetic import csbm
from postel.experiments.comparison import comparison_specs
from postel.experiments.results import Cell, Failure
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec
from postel.experiments.store import Store
from postel.experiments.store.reader import Reader, Study, read_study
from postel.paper.compared import compare_cells
from postel.paper.variants import variant_of
from postel.report.grid import grids_of, standings_of
from postel.report.page import Page, check_page_name
from postel.report.pictures import Picture, comparison_pictures, pictures_in
from report.samples import SIX, cell, row, study_of


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    """Texas and Cornell with GCN, but for KD on Cornell; PosteL has collapsed there."""
    made = []
    for dataset in ("texas", "cornell"):
        for method in SIX:
            if (dataset, method) == ("cornell", "distillation"):
                continue
            collapsed = (dataset, method) == ("cornell", "postel")
            made.append(cell(dataset, "gcn", method, mean=0.80 if collapsed else None, collapsed=collapsed))
    return made


def embedded_details(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="details">(.*?)</script>', page, re.S)
    assert found is not None
    details: list[dict[str, Any]] = json.loads(found[1])
    return details


def test_a_grid_holds_the_papers_places_and_says_what_was_not_run(cells: list[Cell]) -> None:
    (grid,) = Page(study_of(*cells)).grids
    assert (grid.filled, grid.places, grid.has_paper) == (11, 480, True)
    assert grid.extent == "11 of the 480 cells of the paper's table were run"
    (more,) = Page(study_of(*cells, cell("texas", "gcn", "calibrated"))).grids
    assert more.extent == f"{grid.extent}, and 1 that it does not have"
    assert (grid.unrun, more.unrun) == (469, 469)
    assert not any("calibrated" in who for who, _ in more.missing)
    assert [column.dataset for column in grid.columns if column.run] == ["texas", "cornell"]
    kd = next(one for one in grid.rows if (one.backbone, one.method) == ("gcn", "distillation"))
    spots = dict(zip((column.dataset for column in grid.columns), kd.spots, strict=True))
    assert spots["texas"].line is not None
    assert spots["cornell"].line is None and spots["cornell"].paper is not None
    assert spots["cornell"].paper.value == 63.61


def test_graphs_that_the_paper_lacks_are_a_table_of_their_own(cells: list[Cell]) -> None:
    others = [cell("squirrel-filtered", "gcn", method) for method in ("one_hot", "postel")]
    main, more = Page(study_of(*cells, *others)).grids
    assert (main.title, more.title) == ("Main table", "Main table, other graphs")
    assert (main.filled, main.places) == (11, 480) and (more.filled, more.places) == (2, 2)
    assert not any(line.question.dataset == "squirrel-filtered" for line in main.lines), "nor in mean gains"


def test_every_method_is_called_as_tables_call_it(cells: list[Cell]) -> None:
    (grid,) = Page(study_of(*cells, cell("texas", "gcn", "postel_as_released"))).grids
    titles = [row.title for row in grid.rows if row.backbone == "gcn"]
    assert titles == ["one-hot", "LS", "KD", "SALS", "ALS", "PosteL", "PosteL as released"]


def test_collapse_and_the_majority_class_are_marked_on_both_sides(cells: list[Cell]) -> None:
    page = Page(study_of(*cells))
    spot = next(one for one in page.grids[0].rows if (one.backbone, one.method) == ("gcn", "postel")).spots[-1]
    assert spot.line is not None and spot.line.cell.has_collapsed and not spot.line.beats_majority
    assert spot.paper_is_majority and spot.line.paper_is_majority
    told = embedded_details(page.html())[spot.line.number]["warnings"]
    assert told[0] == "10 of 10 models predict one class for every test node."
    assert "does not beat it" in told[1] and "majority class" in told[2]


def test_differences_are_paired_with_one_hot_of_the_same_budget_only(cells: list[Cell]) -> None:
    lines = compare_cells([*cells, cell("texas", "gcn", "uniform", trials=64)])
    of = {
        (line.cell.question.dataset, line.cell.question.method.name, line.cell.question.budget.amount): line
        for line in lines
    }
    assert of["texas", "uniform", 64].gain is None
    same = of["texas", "uniform", 16]
    assert same.gain is not None
    assert same.gain.mean == pytest.approx(same.cell.accuracy.mean - of["texas", "one_hot", 16].cell.accuracy.mean)
    assert of["cornell", "sals", 16].verdict == "worse"  # 7.5 points below on every split, in the paper too


def test_a_search_that_left_the_method_alone_gets_no_verdict(cells: list[Cell]) -> None:
    for changes in ({"method_searched": False}, {"method_searched": None}):
        unsearched = [replace(one, spent=replace(one.spent, **changes)) for one in cells]
        assert {line.verdict for line in compare_cells(unsearched)} == {""}
    assert "worse" in {line.verdict for line in compare_cells(cells)}


def test_one_hot_that_tried_all_it_could_has_the_same_budget(cells: list[Cell]) -> None:
    spent = replace(cells[0].spent, trials=8, text="all 8 settings within 16 trials, 3 search splits")
    page = Page(study_of(replace(cells[0], spent=spent), *cells[1:]))
    assert page.lines[1].gain is not None
    assert page.grids[0].budgets == ["up to 16 trainings, 3 search splits"]


def test_what_was_fixed_before_a_search_names_the_variant_and_has_no_figure_of_the_paper() -> None:
    made = cell("texas", "gcn", "postel", target="table-ablation", given={"beta": 0.6})
    (grid,) = Page(study_of(made)).grids
    assert [one.title for one in grid.rows] == ["PosteL (beta=0.6)"]
    assert (grid.whole, grid.places, grid.has_paper) == (False, 1, False)
    assert grid.title.startswith("table-ablation: ")


def test_cells_that_were_timed_are_no_comparison_of_accuracies() -> None:
    made = [cell("texas", "gcn", "postel", target=target) for target in ("table-main", "table-time")]
    page = Page(study_of(*made))
    assert [grid.title for grid in page.grids] == ["Main table"] and (1, "cell") in page.counts


def test_standings_count_what_the_cells_say(cells: list[Cell]) -> None:
    standings = {one.title: one for one in standings_of(compare_cells(cells))}
    assert list(standings) == ["LS", "KD", "SALS", "ALS", "PosteL"]
    assert [len(standings[name].lines) for name in ("KD", "SALS")] == [1, 2] and standings["PosteL"].collapsed == 1
    assert standings["LS"].paper_gain == pytest.approx((77.87 - 77.38 + 67.87 - 65.90) / 2)
    assert (
        standings["SALS"].count("worse") == sum(line.verdict == "worse" for line in standings["SALS"].lines) >= 1
    )


def test_runs_alone_make_cells_and_trials_of_searches_do_not(cells: list[Cell], tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    trial = row("texas", "gcn", "uniform", 0, accuracy=0.5, lr=0.001)
    alone = [row("karate", "mlp", method, split, accuracy=0.5) for method in SIX[:2] for split in (0, 1)]
    store.add_many([*(run for made in cells for run in made.rows), trial, *alone])
    for made in cells:
        store.add_cell(made)
    study = Reader(store).study()
    assert study.trials == 1 and len(study.rows) == 110 + 5
    made_of_runs = [one for one in study.cells if not one.target]
    assert [(one.question.dataset, variant_of(one.question).label, len(one.rows)) for one in made_of_runs] == [
        ("karate", "one-hot", 2),
        ("karate", "LS (epsilon=0.3)", 2),
    ]
    main, given = grids_of(compare_cells(study.cells))
    assert (main.title, given.title, given.has_paper) == ("Main table", "Comparisons at given settings", False)
    # Curves are most of the bytes: those of one row per cell are enough.
    assert all(one.rows[0].rounds and not one.rows[-1].rounds for one in study.cells)


def test_the_page_says_everything_and_needs_nothing_else(cells: list[Cell], tmp_path: Path) -> None:
    (tmp_path / "figure-toy.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    spec = row("texas", "gcn", "als", 3, accuracy=0.5).spec
    failures = (Failure(spec, "Traceback\nValueError: <b>no</b>"),)
    page = Page(
        study_of(*cells, store="study.sqlite", failures=failures),
        "A <study>",
        ["What <i>it</i> is."],
        pictures_in(tmp_path),
        "postel report --title '<x>'",
    ).html()
    # Nothing is fetched when it is opened, and no text becomes markup.
    assert not re.findall(r"(?:src|href)=[\"'](?!data:|#)", page)
    assert not re.findall(r"url\(|@import|https?://(?!www\.w3\.org)", page)
    assert "<title>A &lt;study&gt;</title>" in page and "<x>" not in page and "<b>no</b>" not in page
    assert "What &lt;i&gt;it&lt;/i&gt; is." in page
    for text in ("study.sqlite", "up to 16 trainings, 3 search splits", "not run", "print-of-texas", "figure-toy"):
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


def test_the_same_store_gives_the_same_page(cells: list[Cell]) -> None:
    assert Page(study_of(*cells)).html() == Page(study_of(*cells)).html()


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A real comparison, as its store has it."""
    store = Store(tmp_path_factory.mktemp("compared") / "rows.sqlite")
    methods = [MethodSpec.parse(text) for text in ("one_hot", "sals", "postel:alpha=0.6")]
    specs = comparison_specs("karate", methods, range(2), max_epochs=20, lr=0.05, pseudo_labels=1)
    run_all(specs, workers=1, store=store)
    return read_study(store.path)


def test_a_real_store_of_a_comparison(compared: Study) -> None:
    page = Page(compared)
    titles = ["one-hot", "SALS", "PosteL (alpha=0.6, 1 round of pseudo-labels)"]
    assert [line.variant.label for line in page.lines] == titles
    accuracies = [one.percent("accuracy") for one in compared.rows if one.spec.method.name == "postel"]
    assert page.lines[2].cell.accuracy.mean == pytest.approx(sum(accuracies) / 2)
    details = embedded_details(page.html())
    command = "postel compare karate -m one_hot -m postel:alpha=0.6,beta=0.4 --backbone gcn"
    assert details[2]["command"].startswith(command)
    assert details[2]["curves"]["loss"]["val"] and details[2]["matrices"]


def test_pictures_of_a_comparison(compared: Study) -> None:
    matrix = diagnose("karate", None).all_labels.conditional
    pictures = comparison_pictures(compared.cells, matrix)
    assert len(pictures) == 3
    assert all(one.address.startswith("data:image/svg+xml;base64,") for one in pictures)
    page = Page(compared, pictures=pictures).html()
    assert all(one.address in page and one.caption.split("'")[0] in page for one in pictures)
    # A method without a conditional has no such picture.
    assert len(comparison_pictures(compared.cells[:2], matrix)) == 2


def test_nodes_without_a_label_are_in_no_one_s_way(tmp_path: Path) -> None:
    graph = csbm(120, num_classes=3, mean_degree=5, num_features=8, seed=3)
    y = graph.y.copy()
    y[::7] = UNLABELLED
    write_graph_file(tmp_path / "mine.npz", replace(graph, y=y))
    name = str(tmp_path / "mine.npz")
    methods = [MethodSpec(name="one_hot"), MethodSpec(name="postel")]
    rows = run_all(comparison_specs(name, methods, [0], protocol="stratified", max_epochs=5), workers=1)
    study = Study.of_rows(rows, "here")
    matrix = diagnose(name, None).all_labels.conditional
    assert np.sum(matrix) == pytest.approx(3)
    assert len(Page(study, pictures=comparison_pictures(study.cells, matrix)).html()) > 10_000


def test_what_cannot_be_reported_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no store .*absent\.sqlite; name one"):
        read_study(tmp_path / "absent.sqlite")
    assert list(tmp_path.iterdir()) == []
    Store(tmp_path / "empty.sqlite")
    with pytest.raises(ValueError, match="holds no runs yet"):
        read_study(tmp_path / "empty.sqlite")
    with pytest.raises(ValueError, match=r"ends in \.html, got page\.pdf"):
        check_page_name(tmp_path / "page.pdf")
    with pytest.raises(ValueError, match="is no folder"):
        pictures_in(tmp_path / "absent")


def test_of_two_pictures_with_one_name_the_svg_is_taken_unless_it_is_large(tmp_path: Path) -> None:
    for name, size in (("a.svg", 10), ("a.png", 5), ("b.svg", 500_000), ("b.png", 5), ("notes.txt", 1)):
        (tmp_path / name).write_bytes(b"x" * size)
    kinds = {picture.caption: picture.address.partition(";")[0] for picture in pictures_in(tmp_path)}
    assert kinds == {"a": "data:image/svg+xml", "b": "data:image/png"}


def test_the_page_opens_on_its_picture_and_folds_away_what_was_not_run(cells: list[Cell]) -> None:
    html = Page(study_of(*cells), opening=Picture("what it shows", "data:image/png;base64,AA==")).html()
    assert html.index('class="opening"') < html.index('class="lead"') and 'alt="what it shows"' in html
    (grid,) = Page(study_of(*cells)).grids
    assert "<summary>469 cells were not run</summary>" in html
    assert ("GAT, PosteL", "every dataset") in grid.missing
    assert 'class="opening"' not in Page(study_of(*cells)).html()
