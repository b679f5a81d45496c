"""Searches on datasets with a store: made-up runs for what is tried and chosen, real ones for what is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.studies import made_up
from postel.backbones import BACKBONES, make_backbone
from postel.datasets.splits import make_split
from postel.datasets.storage.graph_file import write_graph_file
from postel.datasets.storage.stored_graph import StoredGraph
from postel.datasets.synthetic import csbm
from postel.errors import InputError
from postel.experiments.budget import Budget
from postel.experiments.results import Cell, Row
from postel.experiments.running import workers as pools
from postel.experiments.search import plan
from postel.experiments.search.spaces import METHOD_SPACES, published_values, size_of, space_of, start_of
from postel.experiments.search.stored import ONE_CLASS_VALIDATION, recommended, tune_dataset
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.smoothers import SMOOTHERS

METHODS = [name for name in METHOD_SPACES if name in SMOOTHERS or name == "postel_as_released"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "rows.sqlite")


class Imagined:
    """Runs that take no time: the score is a function of the spec, test scores say the opposite."""

    def __init__(self) -> None:
        self.run: list[RunSpec] = []
        self.one_class = False
        self.dies_after: int | None = None

    def __call__(self, spec: RunSpec, data_root: str | None) -> Row:
        self.run.append(spec)
        if self.dies_after is not None:
            self.dies_after -= 1
            if self.dies_after < 0:
                raise KeyboardInterrupt
        if spec.lr == 0.002:
            raise RuntimeError("diverged")
        params = spec.method.params
        score = 0.9 - abs(params.get("alpha", 0.5) - 0.6) / 4 - abs(params.get("beta", 0.5) - 0.3) / 4
        score -= {0.001: 0.3, 0.01: 0.02, 0.05: 0.0}[spec.lr] + 0.01 * spec.split
        score += 0.03 * (spec.pseudo_labels is not False)
        row = made_up(spec.key)
        result = replace(
            row.result,
            val=replace(row.result.val, accuracy=score, nll=1 - score, count=500),
            test=replace(row.result.val, accuracy=1 - score, nll=score),
            val_loss=1 - score - spec.weight_decay,
            val_loss_scaled=1 - score - spec.weight_decay,
            one_class_val=self.one_class,
            seconds=6.0,
            trainings=3 if spec.pseudo_labels else 1,
        )
        return replace(row, spec=spec, result=result)


@pytest.fixture
def imagined(monkeypatch: pytest.MonkeyPatch) -> Imagined:
    runs = Imagined()
    monkeypatch.setattr(pools, "execute", runs)
    monkeypatch.setattr(plan, "NODES", 5)  # the karate club's seven validation nodes are made to be enough
    return runs


def karate(store: Store, method: str, budget: str, **changes: Any) -> Cell:
    options: dict[str, Any] = {"splits": range(4), "workers": 1, **changes}
    return tune_dataset("karate", "gcn", method, budget=budget, store=store, **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_value_of_every_space_is_taken(backbone: str, method: str) -> None:
    space = space_of(backbone, method)
    start = start_of(space, backbone, method)
    assert all(start[name] in values for name, values in space.items())
    for name, values in space.items():
        for value in values:
            setting = {**published_values(backbone, "texas"), **start, name: value}
            arguments: dict[str, dict[str, Any]] = {"backbone_args": {}, "method": {}, "": {}}
            for key, chosen in setting.items():
                arguments[key.rpartition(".")[0]][key.rpartition(".")[2]] = chosen
            make_backbone(backbone, 4, 2, **arguments["backbone_args"])
            MethodSpec(name=method, params=arguments["method"]).make()


def test_the_spaces_have_the_paper_s_sizes_and_reach_as_far_as_each_other() -> None:
    assert size_of(space_of("gcn", "one_hot")) == 4 * 2 == size_of(space_of("ordered_gnn", "one_hot"))
    assert size_of(space_of("gcn", "postel_as_released")) == 8 * 10 * 10
    assert size_of(space_of("gprgnn", "postel_as_released")) == 8 * 4 * 10 * 100
    assert size_of(space_of("bernnet", "one_hot")) == 8 * 10
    assert "method.beta" not in space_of("gcn", "postel:beta=0.4")
    space = space_of("gcn", "postel")
    assert size_of(space) == 8 * 10 * 14 and set(space["method.beta"]) >= {0.0, 0.1, 0.4, 0.9}
    shares = [beta / (1 + beta) for beta in space["method.beta"]]
    assert max(shares) == pytest.approx(max(space_of("gcn", "uniform")["method.epsilon"])) == 0.9
    assert max(space_of("gcn", "sals")["method.smoothing"]) == 1.0


def test_the_released_form_is_a_method_of_its_own() -> None:
    method = MethodSpec.parse("postel_as_released:alpha=0.3")
    assert method.label == "postel_as_released alpha=0.3"
    assert (method.make().noise, method.make().alpha) == ("off-target", 0.3)
    with pytest.raises(ValueError, match="postel_as_released takes alpha, beta, not 'hops'"):
        MethodSpec.parse("postel_as_released:hops=2")


@pytest.mark.parametrize("text", ["", "0", "1.5", "-3", "many", "0m", "30 minutes"])
def test_bad_budgets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a budget is a number of trainings"):
        Budget.parse(text)


def test_the_full_grid_finds_the_best_on_validation(store: Store, imagined: Imagined) -> None:
    cell = karate(store, "postel", "grid", fixed={"method.beta": 0.3})
    assert cell.chosen.method.params == {"beta": 0.3, "alpha": 0.6}
    assert (cell.chosen.lr, cell.chosen.weight_decay) == (0.05, 0.0005)  # the loss breaks the tie
    assert cell.spent.trials == 80 and cell.spent.text.startswith("the full grid: 80 of 80 settings")
    assert cell.validation["accuracy"] == pytest.approx(0.915)
    assert [row.split for row in store.rows(cell.run_keys)] == [0, 1, 2, 3]
    assert store.cells() == [cell]
    assert len(imagined.run) == len({spec.key for spec in imagined.run})  # nothing twice


@pytest.mark.parametrize("method", ["one_hot", "uniform", "postel", "distillation"])
def test_the_budget_is_kept_and_the_method_is_searched(method: str, store: Store, imagined: Imagined) -> None:
    cell = karate(store, method, "120", splits=range(10), pseudo_labels=True)
    assert 0 < cell.spent.trainings <= 120 and cell.spent.method_searched
    assert sum(rung.trainings for rung in cell.spent.rungs) == cell.spent.trainings
    assert cell.chosen.lr == 0.05 and len(cell.run_keys) == 10 and cell.spent.search_splits == 10
    own = {str(spec.method.params) for spec in imagined.run}
    assert len(own) >= {"one_hot": 1, "uniform": 9, "postel": 20, "distillation": 15}[method]


def test_pseudo_labels_come_late_and_the_choice_has_them(store: Store, imagined: Imagined) -> None:
    cell = karate(store, "postel", "200", splits=range(10))
    with_rounds = [spec for spec in imagined.run if spec.pseudo_labels is not False]
    assert 0 < len({str((spec.method.params, spec.lr, spec.weight_decay)) for spec in with_rounds}) <= 6
    assert all(row.spec.pseudo_labels == plan.MOST_ROUNDS for row in store.rows(cell.run_keys))
    assert cell.question.pseudo_labels is True
    none = karate(store, "postel", "200", splits=range(10), pseudo_labels=False)
    assert none.question.pseudo_labels is False and none.key != cell.key


def test_a_search_goes_on_from_its_rows_and_runs_nothing_twice(store: Store, imagined: Imagined) -> None:
    first = karate(store, "postel", "60")
    runs = len(imagined.run)
    assert karate(store, "postel", "60") == first
    # What failed has no row, and is tried again.
    assert all(spec.lr == 0.002 for spec in imagined.run[runs:])
    larger = karate(store, "postel", "300")
    assert larger.validation["accuracy"] >= first.validation["accuracy"] - 1e-9
    assert len(store.cells()) == 2


def test_killing_a_search_twenty_times_changes_nothing(store: Store, imagined: Imagined, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"splits": range(10), "fixed": {"lr": 0.05}}
    whole = karate(Store(tmp_path / "undisturbed.sqlite"), "postel", "200", **settings)
    runs, kills, resumed = len(imagined.run), 0, None
    while resumed is None:
        imagined.dies_after = 3 + kills % 7
        try:
            resumed = karate(store, "postel", "200", **settings)
        except KeyboardInterrupt:
            kills += 1
    assert kills >= 20 and resumed == whole
    assert len(imagined.run) - runs == runs + kills  # nothing is run twice but what was under way


def test_minutes_are_turned_into_trainings_by_how_long_they_take(store: Store, imagined: Imagined) -> None:
    cell = karate(store, "uniform", "4m", fixed={"lr": 0.05})
    assert 20 <= cell.spent.trainings <= 41 and cell.spent.text.startswith("4 minutes: ")
    assert karate(store, "uniform", "4m", fixed={"lr": 0.05}) == cell


def test_no_search_runs_the_defaults(store: Store, imagined: Imagined) -> None:
    cell = karate(store, "sals", "fixed", target="figure-toy")
    assert cell.chosen.method == MethodSpec(name="sals") and cell.chosen.lr == 0.01
    assert cell.spent.text == "no search: default settings" and cell.target == "figure-toy"
    assert len(imagined.run) == 4 and not cell.question.pseudo_labels and not cell.spent.method_searched
    given = karate(store, "sals", "fixed", fixed={"max_epochs": 20, "lr": 0.05})
    assert given.spent.text == "no search: defaults but max_epochs=20 lr=0.05"


def test_models_that_name_one_class_are_marked(store: Store, imagined: Imagined) -> None:
    imagined.one_class = True
    assert karate(store, "one_hot", "40").marks == (ONE_CLASS_VALIDATION,)


def test_soft_labels_are_recommended_only_if_they_beat_one_hot(store: Store, imagined: Imagined) -> None:
    cells = [karate(store, method, "60") for method in ("one_hot", "postel")]
    assert recommended(cells, store).method.name == "postel"
    cells = [karate(store, method, "60") for method in ("one_hot", "uniform")]
    choice = recommended(cells, store)
    assert choice.method.name == "one_hot" and choice.reason.startswith("Train on one-hot labels")


def test_ordered_gnn_has_its_authors_extras(store: Store, imagined: Imagined) -> None:
    tune_dataset("karate", "ordered_gnn", "one_hot", budget="8", splits=[0], store=store, workers=1)
    assert {spec.backbone_args["propagation_dropout"] for spec in imagined.run} == {0.1}
    assert "dropout" not in imagined.run[0].backbone_args  # at its default of 0.5


def test_a_search_in_which_all_fails_is_a_sentence(store: Store, imagined: Imagined) -> None:
    with pytest.raises(
        ValueError, match="every training of postel with gcn on karate failed: RuntimeError: diverged"
    ):
        karate(store, "postel", "20", fixed={"lr": 0.002})
    assert "diverged" in store.failures()[0].traceback


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"splits": []}, "at least one split"),
        ({"fixed": {"learning_rate": 1}}, "'learning_rate' cannot be fixed"),
        ({"fixed": {"lr": -1}}, "lr must be"),
        ({"fixed": {"method.gamma": 1}}, "postel takes alpha"),
        ({"protocol": "random"}, "protocol must be"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    changes: dict[str, Any], says: str, store: Store, imagined: Imagined
) -> None:
    with pytest.raises(ValueError, match=says):
        karate(store, "postel", "4", **changes)
    assert imagined.run == []


def permuted_copy(folder: Path, permute: bool) -> str:
    """A graph file with splits of its own, with or without the test nodes' labels permuted."""
    graph = csbm(120, num_classes=3, mean_degree=5, num_features=8, seed=3)
    masks = np.stack([make_split(graph, split, "stratified") for split in (0, 0)], axis=1)
    y = graph.y.copy()
    if permute:
        test = masks[2, 0].nonzero()[0]
        y[test] = np.random.default_rng(0).permutation(y[test])
        assert (y != graph.y).any()
    path = folder / f"graph-{permute}.npz"
    write_graph_file(path, StoredGraph.checked(graph.x, graph.edge_index, y, {"geom-gcn": masks}))
    return str(path)


def test_permuted_test_labels_change_no_choice(tmp_path: Path) -> None:
    """Real trainings with pseudo-labels: what is tried, how far, and what is chosen."""
    cells, tried = [], []
    for permute in (False, True):
        store = Store(tmp_path / f"{permute}.sqlite")
        cell = tune_dataset(
            permuted_copy(tmp_path, permute),
            "gcn",
            "postel",
            protocol="geom-gcn",
            splits=range(2),
            budget="30",
            store=store,
            workers=1,
            fixed={"max_epochs": 15},
        )
        cells.append((cell.chosen, cell.validation, cell.spent))
        specs = [row.spec for row in store.all_rows()]
        tried.append([(spec.lr, spec.method, spec.split, spec.pseudo_labels) for spec in specs])
    assert cells[0] == cells[1] and tried[0] == tried[1]


def test_one_worker_and_two_choose_the_same(tmp_path: Path) -> None:
    cells = []
    for workers in (1, 2):
        store = Store(tmp_path / f"{workers}.sqlite")
        cell = tune_dataset(
            "karate", "gcn", "postel", splits=range(3), budget="30", store=store, workers=workers,
            fixed={"max_epochs": 5},
        )  # fmt: skip
        cells.append(cell)
    assert cells[0] == cells[1]


def test_trials_of_version_0_1_are_shown_and_never_run(store: Store, imagined: Imagined) -> None:
    with pytest.raises(InputError, match="16 trials are a budget of version"):
        tune_dataset("karate", "gcn", "one_hot", budget="16t", store=store)
    assert not imagined.run and Budget.parse("16t") == Budget("trials", 16)
