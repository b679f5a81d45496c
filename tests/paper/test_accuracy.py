"""The tables of accuracies, on hand-made rows: every number is recomputed here."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import replace

import numpy as np
import pytest

from paper.test_table import balanced
from postel.experiments.budget import Budget
from postel.experiments.results import Cell
from postel.experiments.store import Store
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.reader import Reader
from postel.paper.accuracy import budgets_in_words
from postel.paper.published import published_main
from postel.paper.rendering import Rendering, write_rendering
from postel.paper.requests import CellRequest, Options, request_cells
from postel.paper.table import csv_text, latex
from postel.paper.target import find_target
from postel.paper.variants import LS, ONE_HOT, POSTEL, Variant

OPTIONS = Options(datasets=("texas", "cora"), backbones=("gcn",), methods=("one_hot", "ls", "postel"))
ONE_HOT_SCORES = [0.80, 0.70, 0.75, 0.85]
SIGNS = list(itertools.product((-1, 1), repeat=4))
POSTEL_SCORES = [0.8213, 0.7402, 0.8031, 0.8354]


def cell(dataset: str, variant: Variant) -> CellRequest:
    return request_cells(OPTIONS, [dataset], ["gcn"], [variant])[0]


@pytest.fixture
def rendering(store: Store, fill) -> Rendering:
    fill(cell("texas", ONE_HOT), ONE_HOT_SCORES)
    fill(cell("texas", POSTEL), POSTEL_SCORES, collapsed=[True, True, True, False])
    fill(cell("cora", LS), [0.5, 0.6], collapsed=[True, False])
    return find_target("table-main")(OPTIONS).render(store)


def line(rendering: Rendering, dataset: str, method: str) -> dict[str, str]:
    lines = csv.DictReader(io.StringIO(csv_text(rendering.values)))
    return next(entry for entry in lines if (entry["dataset"], entry["method"]) == (dataset, method))


def test_numbers_are_those_of_the_rows(rendering: Rendering) -> None:
    found = line(rendering, "texas", "postel")
    scores = 100 * np.array(POSTEL_SCORES)
    assert float(found["ours"]) == pytest.approx(scores.mean())
    rng = np.random.default_rng(0)
    means = scores[rng.integers(0, 4, (1000, 4))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    assert float(found["ours_side"]) == pytest.approx(max(high - scores.mean(), scores.mean() - low))
    means = scores[np.random.default_rng(0).integers(0, 4, (10_000, 4))].mean(axis=1)
    assert [float(found["low"]), float(found["high"])] == pytest.approx(np.percentile(means, [2.5, 97.5]).tolist())
    assert (found["splits"], found["budget"]) == ("4", "16 trials, 3 search splits")
    assert float(found["majority"]) == 25.0


def test_the_papers_interval_has_a_thousand_resamples_and_the_larger_side(store: Store, fill) -> None:
    scores = np.random.default_rng(7).normal(0.8, 0.05, 10)
    fill(cell("texas", ONE_HOT), scores.tolist())
    found = cell("texas", ONE_HOT).answer(Reader(store))
    assert found is not None

    def side(resamples: int) -> float:
        means = 100 * scores[np.random.default_rng(0).integers(0, 10, (resamples, 10))].mean(axis=1)
        low, high = np.percentile(means, [2.5, 97.5])
        return float(max(high - 100 * scores.mean(), 100 * scores.mean() - low))

    assert found.accuracy.paper_side == pytest.approx(side(1000)) != pytest.approx(side(2000))
    assert found.accuracy.interval.larger_side == pytest.approx(side(10_000)) != pytest.approx(side(1000))


def test_the_difference_is_ours_less_the_papers(rendering: Rendering) -> None:
    found = line(rendering, "texas", "postel")
    paper = published_main()["gcn", "postel", "texas"]
    assert (float(found["paper"]), float(found["paper_side"])) == (80.82, 2.79) == (paper.value, paper.side)
    assert float(found["difference"]) == pytest.approx(100 * np.mean(POSTEL_SCORES) - 80.82)
    gain = 100 * (np.array(POSTEL_SCORES) - np.array(ONE_HOT_SCORES)).mean()
    assert float(found["over_one_hot"]) == pytest.approx(gain)
    assert float(found["paper_over_one_hot"]) == pytest.approx(80.82 - 77.38)


def test_collapse_is_marked_where_most_models_do_it(rendering: Rendering) -> None:
    assert line(rendering, "texas", "postel")["state"] == "one class"
    assert line(rendering, "cora", "uniform")["state"] == "run"  # one of two is not most
    assert (
        line(rendering, "cora", "uniform")["collapsed_splits"],
        line(rendering, "texas", "one_hot")["state"],
    ) == (
        "1",
        "run",
    )
    shown = {(row[1], row[2]): row[3] for row in rendering.printed.shown()}
    assert shown["PosteL", "Texas"].endswith("†") and not shown["LS", "Cora"].endswith("†")
    assert any(note.startswith("†") for note in rendering.printed.notes)


def test_the_majority_class_is_told_for_every_dataset(rendering: Rendering) -> None:
    assert "scores: Texas 25.00, Cora 25.00." in " ".join(rendering.printed.notes)


def test_what_is_not_run_says_so_beside_the_papers_figure(rendering: Rendering) -> None:
    found = line(rendering, "cora", "postel")
    assert (found["state"], found["ours"], found["difference"], found["paper"]) == ("not run", "", "", "88.56")
    shown = {(row[1], row[2]): row for row in rendering.printed.shown()}
    assert shown["PosteL", "Cora"][3] == "not run"
    assert "3 of 6 cells are not run." in rendering.printed.notes


def test_latex_and_markdown_have_the_papers_shape(rendering: Rendering, tmp_path) -> None:
    matrix = rendering.matrix
    assert matrix is not None and matrix.header == ["method", "", "Texas", "Cora"]
    rows = matrix.shown()
    assert [row[1] for row in rows[:3]] == ["ours", "paper", "difference"]
    # Three lines a method, and PosteL's gain over one-hot labels.
    assert len(rows) == 3 * 3 + 1 and rows[-1][2] == "+2.50 (+3.44)"
    assert balanced(latex(matrix, "tab:x"))
    written = write_rendering(rendering, tmp_path / "out")
    assert sorted(path.suffix for path in written) == [".csv", ".md", ".tex", ".txt"]
    assert "not run" in (tmp_path / "out" / "table-main.tex").read_text()
    assert (tmp_path / "out" / "table-main.md").read_text().count("### ") == 2


def test_another_protocol_has_no_figure_of_the_paper_and_no_cell_of_this_one(
    rendering: Rendering, store: Store
) -> None:
    other = find_target("table-main")(Options(datasets=("texas",), protocol="stratified")).render(store)
    assert {row["paper"] for row in other.values.records()} == {None}
    assert {row["state"] for row in other.values.records()} == {"not run"}


def test_a_budget_that_is_asked_for_must_be_the_one_that_was_spent(rendering: Rendering, store: Store) -> None:
    target = find_target("table-main")

    def states(budget: str | None) -> set[str]:
        options = Options(datasets=("texas",), backbones=("gcn",), methods=("one_hot",), budget=budget)
        return {row["state"] for row in target(options).render(store).values.records()}

    assert (states(None), states("16"), states("8"), states("fixed")) == (
        {"run"},
        {"run"},
        {"not run"},
        {"not run"},
    )


def test_a_search_that_chose_no_noise_is_not_the_row_without_noise(store: Store, fill) -> None:
    options = Options(datasets=("texas",), methods=("postel",))
    ablation = find_target("table-ablation")
    full = next(asked for asked in ablation(options).requests if asked.variant.slug == "postel")
    fill(full, [0.5])
    run = [row["variant"] for row in ablation(options).render(store).values.records() if row["state"] == "run"]
    assert run == ["postel"]


def test_the_cell_with_more_splits_is_taken(store: Store, fill) -> None:
    fill(cell("texas", ONE_HOT), [0.5, 0.5])
    fill(cell("texas", ONE_HOT), [0.5, 0.5, 0.8])
    found = cell("texas", ONE_HOT).answer(Reader(store))
    assert found is not None and len(found.rows) == 3 and found.accuracy.mean == pytest.approx(60)


def test_settings_that_were_given_are_no_answer_to_a_table_that_asks_for_a_search(store: Store, fill) -> None:
    fill(cell("texas", POSTEL), [0.5, 0.6], budget=Budget("fixed"), searched=False)
    table = find_target("table-main")
    states = [
        {row["state"] for row in table(options).render(store).values.records() if row["method"] == "postel"}
        for options in (OPTIONS, replace(OPTIONS, budget="fixed"))
    ]
    assert states == [{"not run"}, {"run", "not run"}]


def test_rounds_are_means_of_the_rows(store: Store, fill) -> None:
    options = Options(datasets=("texas", "cora"), backbones=("gcn",))
    for dataset, rounds in (("texas", 3), ("cora", 1)):
        fill(cell(dataset, POSTEL), [0.5, 0.6], improved_rounds=rounds)
    rows = {row["dataset"]: row for row in find_target("table-iterations")(options).render(store).values.records()}
    assert (rows["texas"]["ours"], rows["texas"]["paper"]) == (3.0, 1.8)
    assert rows["texas"]["difference"] == pytest.approx(1.2) and rows["cora"]["difference"] == pytest.approx(-1.5)


def test_seconds_are_those_that_were_measured_at_one_budget_and_not_those_of_rows(store: Store, fill) -> None:
    options = Options(datasets=("texas", "cora"), backbones=("gcn",), budget="fixed")
    target = find_target("table-time")
    asked = {(request.dataset, request.variant.slug): request for request in target(options).requests}
    for dataset, slow in (("texas", 3), ("cora", 1)):
        seconds = {}
        for variant, taken in ((POSTEL, 10.0 * slow), (ONE_HOT, 4.0)):
            fill(cell(dataset, variant), [0.5] * 3, seconds=1000.0)  # of a search: more splits, never timed
            rows = fill(asked[dataset, variant.slug], [0.5, 0.6], budget=Budget("fixed"), seconds=1000.0)
            seconds.update((row.key, taken) for row in rows)
        fill(asked[dataset, LS.slug], [0.5, 0.6], budget=Budget("fixed"), seconds=1000.0)
        Measurements(store).put("table-time", f"gcn on {dataset}, paper splits, no search", seconds)
    table = target(replace(options, budget=None)).render(store)
    times = {row["method"]: row for row in table.values.records()}
    assert (times["PosteL"]["ours"], times["PosteL"]["times one-hot"]) == (20.0, 5.0)
    assert (times["PosteL"]["n"], times["PosteL"]["budget"]) == (4, "no search")
    assert times["PosteL"]["difference"] == pytest.approx(20 - 3.38)
    assert times["PosteL"]["paper times one-hot"] == pytest.approx(3.38 / 0.83)
    assert {(times[name]["state"], times[name]["n"]) for name in ("KD", "LS")} == {("not run", 0)}
    assert balanced(latex(table.printed, "tab:x"))


def test_gains_are_paired_and_a_pair_that_was_not_run_says_so(store: Store, fill) -> None:
    fill(cell("texas", ONE_HOT), ONE_HOT_SCORES)
    fill(cell("texas", POSTEL), POSTEL_SCORES, collapsed=[True, True, True, False])
    records = find_target("table-gains")(OPTIONS).render(store).values.records()
    found = {(row["dataset"], row["method"], row["over"]): row for row in records}
    assert len(found) == 6
    gain = found["texas", "PosteL", "one-hot"]
    pairs = 100 * (np.array(POSTEL_SCORES) - np.array(ONE_HOT_SCORES))
    assert gain["gain"] == pytest.approx(pairs.mean()) and gain["low"] < gain["gain"] < gain["high"]
    sums = [abs(sum(sign * pair for sign, pair in zip(signs, pairs, strict=True))) for signs in SIGNS]
    assert gain["p"] == pytest.approx(np.mean([total >= abs(pairs.sum()) - 1e-9 for total in sums]))
    paper = published_main()
    assert gain["paper"] == pytest.approx(
        paper["gcn", "postel", "texas"].value - paper["gcn", "one_hot", "texas"].value
    )
    assert gain["state"] == "one class" and gain["splits"] == 4 and gain["collapsed"] == 3
    assert gain["p"] > 0.05 and gain["reads"] == "open"  # four pairs cannot say more
    assert found["texas", "LS", "one-hot"]["state"] == found["cora", "PosteL", "LS"]["state"] == "not run"


@pytest.mark.parametrize(("step", "reads"), [(0.02, "more"), (-0.02, "less")])
def test_what_is_clear_is_said(store: Store, fill, step: float, reads: str) -> None:
    scores = [0.5 + 0.01 * split for split in range(10)]
    fill(cell("texas", ONE_HOT), scores)
    fill(cell("texas", LS), [score + step for score in scores])
    records = find_target("table-gains")(OPTIONS).render(store).values.records()
    assert [row["reads"] for row in records[:3]] == [None, reads, None]
    assert records[1]["p"] == pytest.approx(2 / 2**10)


def test_the_lines_of_a_table_share_the_chance_to_err(store: Store, fill) -> None:
    """One line alone is clear; with others in the table the same line has to be surer."""
    rng = np.random.default_rng(0)
    scores = rng.normal(0.5, 0.05, 10)
    fill(cell("texas", ONE_HOT), scores.tolist())
    points = np.array([0.2, 0.4, 0.7, 1.1, 1.3, 1.5, 1.7, 2.0, 2.4, 2.6])
    fill(cell("texas", LS), (scores + points / 100).tolist())
    target = find_target("table-gains")(OPTIONS)
    (alone,) = [row for row in target.render(store).values.records() if row["state"] == "run"]
    assert alone["reads"] == "more" and alone["corrected_p"] == alone["resampled_p"]
    assert alone["resampled_low"] < alone["low"] < alone["high"] < alone["resampled_high"]
    fill(cell("texas", POSTEL), (scores + rng.normal(0, 0.01, 10)).tolist())
    rendering = target.render(store)
    among = next(row for row in rendering.values.records() if (row["method"], row["over"]) == ("LS", "one-hot"))
    rows = [row for row in rendering.values.records() if row["state"] == "run"]
    surer = sum(row["resampled_p"] < among["resampled_p"] for row in rows)
    assert len(rows) == 3 and among["corrected_p"] >= (3 - surer) * alone["resampled_p"]
    assert among["reads"] == "open" and among["p"] == alone["p"]
    shown = next(row for row in rendering.printed.shown() if row[2] == "LS − one-hot")
    assert shown[6] == f"{among['corrected_p']:.3f}"


def test_different_budgets_at_one_place_are_told(store: Store, fill) -> None:
    fill(cell("texas", ONE_HOT), ONE_HOT_SCORES)
    fill(cell("texas", POSTEL), POSTEL_SCORES)
    fill(cell("cora", POSTEL), POSTEL_SCORES)
    for target in ("table-main", "table-gains"):
        assert "different budgets" not in " ".join(find_target(target)(OPTIONS).render(store).printed.notes)
    (postel,) = [found for found in store.cells() if found.key.startswith("texas gcn postel")]
    store.add_cell(replace(postel, question=replace(postel.question, budget=Budget("trainings", 8))))
    notes = find_target("table-main")(OPTIONS).render(store).printed.notes
    assert any(note.endswith("different budgets, so compare with care: GCN on Texas.") for note in notes)
    gains = find_target("table-gains")(OPTIONS).render(store)
    assert gains.values.records()[0]["state"] == "unequal search" and "‡" in gains.printed.rows[0][3]
    assert any("no fair comparison" in note for note in gains.printed.notes)


def test_searches_that_only_took_other_numbers_of_trainings_are_told_together(store: Store, fill) -> None:
    fill(cell("texas", ONE_HOT), ONE_HOT_SCORES)
    (made,) = store.cells()

    def spent(course: str, trainings: int | None) -> Cell:
        text = course if trainings is None else f"{course}; {trainings} trainings"
        return replace(made, spent=replace(made.spent, text=text, trainings=trainings))

    alike = [spent("standard rungs: 160 of 1120 settings", count) for count in (1606, 1582, 1667)]
    others = [spent("standard rungs: 8 of 8 settings", 80)] * 2 + [spent("16 trials", None)]
    assert budgets_in_words([*alike, *others]) == (
        "standard rungs: 160 of 1120 settings, 1582 to 1667 trainings (3 cells); "
        "standard rungs: 8 of 8 settings, 80 trainings (2 cells); 16 trials (1 cell)"
    )
