from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from postel.experiments.proposals import METHOD_TRIALS, NETWORK_TRIALS, propose
from postel.experiments.spaces import size_of, space_of, start_of
from postel.experiments.trials import Trials, storage_url

from experiments.studies import as_nobody
from postel.backbones import BACKBONES, make_backbone
from postel.datasets.splits import make_split
from postel.datasets.storage.graph_file import write_graph_file
from postel.datasets.storage.stored_graph import StoredGraph
from postel.datasets.synthetic import csbm
from postel.experiments.budget import Budget
from postel.experiments.running import executor, workers
from postel.experiments.running.execute import Row
from postel.experiments.search import tune
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.smoothers import SMOOTHERS


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "rows.sqlite")


class Imagined:
    """Runs that take no time: the score is a function of the spec, test scores say the opposite."""

    def __init__(self) -> None:
        self.run: list[RunSpec] = []

    def __call__(self, spec: RunSpec, data_root: str | None) -> Row:
        self.run.append(spec)
        if spec.lr == 0.002:
            raise RuntimeError("diverged")
        params = spec.method.params
        score = 0.9 - abs(params.get("alpha", 0.5) - 0.6) / 4 - abs(params.get("beta", 0.5) - 0.3) / 4
        score -= {0.001: 0.3, 0.01: 0.02, 0.05: 0.0}[spec.lr] + 0.01 * spec.split
        val = {"accuracy": score, "nll": 1 - score}
        test = {"accuracy": 1 - score, "nll": score}
        result = {"val": val, "test": test, "val_loss": 1 - score - spec.weight_decay, "seconds": 0.0}
        return {"key": spec.key, "spec": spec.model_dump(mode="json"), "result": result, "collapsed": False}


@pytest.fixture
def imagined(monkeypatch: pytest.MonkeyPatch) -> Imagined:
    runs = Imagined()
    monkeypatch.setattr(workers, "execute", runs)
    return runs


def karate(store: Store, method: str, budget: str, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"splits": range(4), "search_splits": 3, "workers": 1, **changes}
    return tune("karate", "gcn", method, budget=budget, store=store, **options)


@pytest.mark.parametrize("method", SMOOTHERS)
@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_value_of_every_space_is_taken(backbone: str, method: str) -> None:
    space = space_of(backbone, method)
    start = start_of(space, backbone, method)
    assert all(start[name] in values for name, values in space.items())
    for name, values in space.items():
        for value in values:
            setting = {**start, name: value}
            arguments = {"backbone_args": {}, "method": {}, "": {}}
            for key, chosen in setting.items():
                arguments[key.rpartition(".")[0]][key.rpartition(".")[2]] = chosen
            make_backbone(backbone, 4, 2, **arguments["backbone_args"])
            MethodSpec(name=method, params=arguments["method"]).make()


def test_the_paper_s_spaces_have_the_paper_s_sizes() -> None:
    assert size_of(space_of("gcn", "one_hot")) == 4 * 2
    assert size_of(space_of("gcn", "postel")) == 8 * 10 * 10
    assert size_of(space_of("gprgnn", "postel")) == 8 * 4 * 10 * 100
    assert size_of(space_of("bernnet", "one_hot")) == 8 * 10
    assert "method.beta" not in space_of("gcn", "postel:beta=0.4")


@pytest.mark.parametrize("text", ["", "0", "1.5", "-3", "many", "0m", "30 minutes"])
def test_bad_budgets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a budget is a number of trials"):
        Budget.parse(text)


def test_the_full_grid_finds_the_best_on_validation(store: Store, imagined: Imagined) -> None:
    cell = karate(store, "postel", "grid", fixed={"method.beta": 0.3})
    assert cell["method"] == {"name": "postel", "params": {"beta": 0.3, "alpha": 0.6}}
    assert (cell["settings"]["lr"], cell["settings"]["weight_decay"]) == (0.05, 0.0005)  # the loss breaks the tie
    assert (
        cell["budget"]["trials"] == 80
        and cell["budget"]["text"] == "the full grid of 80 settings, 3 search splits"
    )
    assert cell["validation"]["accuracy"] == pytest.approx(0.89)
    assert [row["spec"]["split"] for row in store.rows(cell["run_keys"])] == [0, 1, 2, 3]
    assert store.cells() == [cell]
    assert len(imagined.run) == len({spec.key for spec in imagined.run})  # nothing twice, splits of the search too
    assert len(store.failures()) == 60  # of the learning rate that diverges


def test_every_method_has_the_same_number_of_trials(store: Store, imagined: Imagined) -> None:
    for method in ("one_hot", "uniform", "postel"):
        cell = karate(store, method, "6")
        assert cell["budget"]["trials"] == 6 and cell["budget"]["text"] == "6 trials, 3 search splits"
        tried = {
            (spec.method.label, spec.lr, spec.weight_decay) for spec in imagined.run if spec.method.name == method
        }
        assert len(tried) == 6  # never the same setting twice
    small = karate(store, "one_hot", "100")
    assert small["budget"]["text"] == "all 8 settings within 100 trials, 3 search splits"


def test_a_search_goes_on_and_a_larger_budget_goes_on_from_a_smaller(store: Store, imagined: Imagined) -> None:
    first = karate(store, "postel", "8")
    runs = len(imagined.run)
    assert karate(store, "postel", "8") == first and len(imagined.run) == runs
    second = karate(store, "postel", "20")
    tried = {(spec.method.label, spec.lr, spec.weight_decay) for spec in imagined.run}
    assert second["budget"]["trials"] == len(tried) == 20
    assert second["validation"]["accuracy"] >= first["validation"]["accuracy"]
    assert len(imagined.run) == len({spec.key for spec in imagined.run})
    assert karate(store, "postel", "8") == first  # what more was tried since does not count


def test_hopeless_trials_are_cut_short(store: Store, imagined: Imagined) -> None:
    cell = karate(store, "postel", "24", fixed={"lr": 0.05})
    runs = len(imagined.run)
    assert runs < 24 * 3 + 1
    trials = optuna.load_study(study_name=None, storage=storage_url(None, store.path)).trials
    states = [trial.state.name for trial in trials]
    assert len(trials) == 24 and set(states) == {"COMPLETE", "PRUNED"}
    best = max(trial.value for trial in trials if trial.value is not None)
    assert cell["validation"]["accuracy"] == pytest.approx(best)


def test_a_search_with_minutes_stops_in_time_and_goes_on_with_what_is_left(
    store: Store, imagined: Imagined, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(0, 6.0)  # a batch takes six seconds
    monkeypatch.setattr("postel.experiments.search_loop.time.monotonic", lambda: next(clock))
    cell = karate(store, "postel", "0.3m", fixed={"lr": 0.05})
    assert cell["budget"]["trials"] == 12 and "12 trials in 0.3 minutes" in cell["budget"]["text"]
    assert karate(store, "postel", "0.3m", fixed={"lr": 0.05}) == cell


def test_no_search_runs_the_defaults(store: Store, imagined: Imagined) -> None:
    cell = karate(store, "sals", "fixed", target="figure-toy")
    assert cell["method"] == {"name": "sals", "params": {}} and cell["settings"]["lr"] == 0.01
    assert cell["budget"]["text"] == "no search: default settings" and cell["target"] == "figure-toy"
    assert len(imagined.run) == 4 and cell["pseudo_labels"] is False
    given = karate(store, "sals", "fixed", fixed={"max_epochs": 20, "lr": 0.05})
    assert given["budget"]["text"] == "no search: defaults but max_epochs=20 lr=0.05"
    assert not list(store.path.parent.glob("*.trials.sqlite"))


def test_a_search_in_which_all_fails_is_a_sentence(store: Store, imagined: Imagined) -> None:
    with pytest.raises(
        ValueError, match="every trial of postel with gcn on karate failed: RuntimeError: diverged"
    ):
        karate(store, "postel", "4", fixed={"lr": 0.002})
    assert "diverged" in store.failures()[0]["traceback"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"splits": []}, "at least one split"),
        ({"fixed": {"learning_rate": 1}}, "'learning_rate' cannot be fixed"),
        ({"fixed": {"lr": -1}}, "lr must be"),
        ({"fixed": {"method.gamma": 1}}, "postel takes alpha"),
        ({"storage": "oracle://nowhere"}, "cannot be used as a storage of trials"),
        ({"protocol": "random"}, "protocol must be"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    changes: dict[str, Any], says: str, store: Store, imagined: Imagined
) -> None:
    with pytest.raises(ValueError, match=says):
        karate(store, "postel", "4", **changes)
    assert imagined.run == []


def test_a_storage_that_cannot_be_written_is_a_sentence_and_stays_whole(
    open_folder: Path, imagined: Imagined
) -> None:
    closed, free = open_folder / "closed", open_folder / "free"
    for folder in (closed, free):
        folder.mkdir()
    storage = str(closed / "trials.sqlite")
    first = karate(Store(free / "rows.sqlite"), "postel", "4", storage=storage)
    for path in (closed / "trials.sqlite", closed):
        path.chmod(0o555)
    for path in (free, free / "rows.sqlite"):
        path.chmod(0o777)
    said = as_nobody(lambda: karate(Store(free / "rows.sqlite"), "postel", "8", storage=storage))
    assert (
        said.startswith("InputError: ") and "cannot be used as a storage" in said and "readonly database" in said
    )
    assert len(said.splitlines()) == 1
    assert karate(Store(free / "rows.sqlite"), "postel", "4", storage=storage) == first


def test_proposals_are_a_function_of_what_was_tried() -> None:
    space = space_of("gcn", "postel")
    start = start_of(space, "gcn", "postel")
    study = optuna.create_study(direction="maximize")
    distributions = {name: optuna.distributions.CategoricalDistribution(values) for name, values in space.items()}
    seen = []
    for number in range(20):
        setting = propose(space, study.trials, 7, number, start)
        assert setting == propose(space, study.trials, 7, number, start) and setting not in seen
        seen.append(setting)
        value = -abs(setting["method.alpha"] - 0.3)
        study.add_trial(optuna.trial.create_trial(value=value, params=setting, distributions=distributions))
    assert seen[0] == start and seen[1] != propose(space, [], 8, 1, start)


def test_every_method_begins_with_the_same_settings_of_the_network(store: Store, imagined: Imagined) -> None:
    networks: dict[str, list[Any]] = {}
    for method in SMOOTHERS:
        karate(store, method, "16", search_splits=1)
        trials = _trials(store, method)
        networks[method] = [(params["lr"], params["weight_decay"]) for params, _ in trials]
        own = [{name: value for name, value in params.items() if "." in name} for params, _ in trials]
        assert all(params == own[0] for params in own[:NETWORK_TRIALS])
        if own[0]:
            value, best = max(
                ((value or 0, -place) for place, (_, value) in enumerate(trials[:8])), default=(0, 0)
            )
            assert {networks[method][place] for place in range(8, 12)} == {networks[method][-best]} and value > 0
            assert len({str(params) for params in own[8:12]}) == METHOD_TRIALS
    assert len(set(networks["one_hot"])) == 8 == len(networks["one_hot"])
    assert all(found[:8] == networks["one_hot"] for found in networks.values())


def _trials(store: Store, method: str) -> list[tuple[dict[str, Any], float | None]]:
    storage = optuna.storages.RDBStorage(storage_url(None, store.path))
    (name,) = [found for found in optuna.get_all_study_names(storage) if f" {method} " in found]
    return [(trial.params, trial.value) for trial in optuna.load_study(study_name=name, storage=storage).trials]


def test_searches_that_start_together_share_a_new_storage(store: Store) -> None:
    url, together = storage_url(None, store.path), threading.Barrier(6)

    def begin(_: int) -> int:
        together.wait(30)
        return len(Trials(url, "search", {"lr": [0.01]}).known())

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(begin, range(6))) == [0] * 6


def test_a_small_space_is_tried_to_its_end() -> None:
    space = {"a": [1, 2, 3], "b": [None, True, False]}
    study = optuna.create_study(direction="maximize")
    distributions = {name: optuna.distributions.CategoricalDistribution(values) for name, values in space.items()}
    for number in range(9):
        setting = propose(space, study.trials, 0, number, {"a": 1, "b": None})
        study.add_trial(optuna.trial.create_trial(value=1.0, params=setting, distributions=distributions))
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 9


def test_two_processes_never_open_the_same_setting(store: Store) -> None:
    space = {"lr": [0.01, 0.05]}
    ours, theirs = (Trials(storage_url(None, store.path), "search", space) for _ in range(2))
    assert ours.open({"lr": 0.01}) is not None
    assert theirs.open({"lr": 0.01}) is None
    assert [trial.params for trial in theirs.known()] == [{"lr": 0.01}]


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
        cell = tune(
            permuted_copy(tmp_path, permute),
            "gcn",
            "postel",
            protocol="geom-gcn",
            splits=range(2),
            search_splits=2,
            budget="8",
            store=store,
            workers=1,
            fixed={"max_epochs": 15},
        )
        accuracies = [row["result"]["test"]["accuracy"] for row in store.rows(cell["run_keys"])]
        cells.append((cell["method"], cell["settings"], cell["validation"], accuracies))
        study = optuna.load_study(study_name=None, storage=storage_url(None, store.path))
        tried.append([(trial.params, trial.value, trial.intermediate_values) for trial in study.trials])
    assert cells[0][:3] == cells[1][:3]
    assert tried[0] == tried[1]
    assert cells[0][3] != cells[1][3]  # the test scores themselves do change


def test_trials_go_through_the_store(store: Store, monkeypatch: pytest.MonkeyPatch, imagined: Imagined) -> None:
    """A run that the store has is not run for a trial, whoever put it there."""
    cell = karate(store, "one_hot", "grid")
    known = len(imagined.run)
    for name in store.path.parent.glob("*.trials.sqlite"):
        name.unlink()
    store_failures = {failure["key"] for failure in store.failures()}
    assert karate(store, "one_hot", "grid") == cell
    assert {spec.key for spec in imagined.run[known:]} == store_failures  # only failures are tried again
    assert executor.run_all([], store=store) == []
