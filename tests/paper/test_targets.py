"""Every target runs end to end in a small form, and is made again from the store alone."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from paper.test_estimate import fixed_rate
from paper.test_table import balanced
from postel import NodeClassifier, PosteL, load_dataset
from postel.datasets.diagnosis import diagnose
from postel.errors import InputError
from postel.experiments.running.executor import run_all
from postel.experiments.store import Store
from postel.paper.estimate import estimate
from postel.paper.figures.independence import joint_and_product
from postel.paper.rendering import write_rendering
from postel.paper.requests import Options
from postel.paper.running import run_target
from postel.paper.table import latex
from postel.paper.target import find_target, target_names

SMALL = Options(datasets=("karate",), splits=2, budget="fixed", max_epochs=6, workers=1)
# What needs more than the options above, or takes less.
NEEDS: dict[str, Options] = {
    "table-main": Options(
        datasets=("karate",), backbones=("gcn", "mlp"), splits=2, budget="8", max_epochs=6, workers=1
    ),
    **dict.fromkeys(
        ("table-iterations", "table-gains", "table-calibrated"),
        Options(datasets=("karate",), backbones=("gcn", "mlp"), splits=2, budget="fixed", max_epochs=6, workers=1),
    ),
    # Only what a search chose is drawn, and it must have compared settings of each method.
    **dict.fromkeys(
        ("figure-gains", "table-class-shares"),
        Options(datasets=("karate",), splits=2, budget="40", max_epochs=3, workers=1),
    ),
    "figure-loss-all": Options(datasets=("karate", "csbm-homophilic"), splits=1, max_epochs=6, workers=1),
}
COUNTS = {
    "table-main": 16,
    "table-gains": 10,
    "table-baselines": 2,
    "table-class-shares": 5,
    "table-limited-labels": 6,
    "table-iterations": 2,
    "table-time": 8,
    "table-likelihood": 5,
    "table-ablation": 7,
    "table-calibrated": 4,
    "table-calibrated-ablation": 14,
    "figure-gains": 5,
    "figure-loss": 2,
    "figure-loss-all": 6,
    "figure-iterations": 1,
    "figure-conditionals": 1,
    "figure-sensitivity": 22,
    "figure-tsne": 2,
    "table-datasets": 0,
    "table-claims": 0,
    "figure-toy": 0,
    "figure-sals": 0,
    "figure-independence": 0,
    "figure-neighbors": 0,
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One store for all targets, so that they share runs as a user's would."""
    return Store(tmp_path_factory.mktemp("shared") / "rows.sqlite")


def test_every_target_is_tried_here() -> None:
    assert set(target_names()) == set(COUNTS) | {"table-products"}


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_a_target_runs_and_is_made_again_from_the_store(name: str, shared: Store, tmp_path: Path) -> None:
    target, options = find_target(name), NEEDS.get(name, SMALL)
    assert len(target(options).requests) == COUNTS[name]
    if not target.runs_cells:
        run_target(find_target("figure-gains")(options), shared)
    run_target(target(options), shared)
    rendering = target(options).render(shared)
    states = [row["state"] for row in rendering.values.records() if "state" in row]
    assert "not run" not in states and rendering.values.rows
    assert all(row.get("splits", 1) for row in rendering.values.records())
    rows = len(shared)
    run_target(target(options), shared)
    assert len(shared) == rows  # nothing is run twice
    again = target(options).render(Store(shared.path))
    assert again.values.rows == rendering.values.rows
    written = write_rendering(again, tmp_path)
    assert {path.suffix for path in written} >= {".txt", ".md", ".csv", ".tex"}
    assert balanced((tmp_path / f"{name}.tex").read_text())
    pictures = [path for path in written if path.suffix in (".png", ".svg")]
    assert (len(pictures) > 0) == name.startswith("figure")
    for path in pictures:
        assert path.read_bytes()[:4] == (b"\x89PNG" if path.suffix == ".png" else b"<?xm")


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_an_empty_store_gives_a_product_that_says_so(name: str, tmp_path: Path) -> None:
    target = find_target(name)
    rendering = target(SMALL).render(Store(tmp_path / "empty.sqlite"))
    write_rendering(rendering, tmp_path)
    if name not in ("figure-toy", "figure-sals", "figure-independence", "figure-neighbors"):
        assert "not run" in (tmp_path / f"{name}.txt").read_text()


def test_a_row_of_the_main_table_is_what_the_classifier_gives(shared: Store) -> None:
    options = NEEDS["table-iterations"]
    run_target(find_target("table-iterations")(options), shared)
    row = find_target("table-main")(replace(options, methods=("postel",))).render(shared)
    found = next(line for line in row.values.records() if line["backbone"] == "gcn")
    scores = []
    for split in range(2):
        data = load_dataset("karate", split)
        smoother = PosteL(0.8, 0.4)  # where nothing is searched, the published code's
        model = NodeClassifier("gcn", smoother=smoother, pseudo_labels=True, max_epochs=6, seed=split).fit(data)
        scores.append(100 * model.score(data))
    assert found["ours"] == pytest.approx(np.mean(scores))


def test_a_variant_keeps_what_it_fixes_and_its_rounds(shared: Store) -> None:
    run_target(find_target("table-ablation")(SMALL), shared)
    by_variant: dict[str, Any] = {}
    for cell in shared.cells():
        if cell.target == "table-ablation":
            asked = cell.question
            (row,) = shared.rows(cell.run_keys[:1])
            by_variant[asked.method.name, str(asked.method.params), str(asked.pseudo_labels)] = row.spec
    without_noise = by_variant["postel", "{'beta': 0.0}", "False"]
    assert without_noise.method.params == {"beta": 0.0} and without_noise.pseudo_labels is False
    assert by_variant["postel", "{}", "1"].pseudo_labels == 1
    assert by_variant["postel", "{}", "True"].pseudo_labels is True


def test_a_sweep_moves_one_parameter_of_the_chosen_setting(shared: Store) -> None:
    target = find_target("figure-sensitivity")
    run_target(target(SMALL), shared)
    rows = target(SMALL).render(shared).values.records()
    assert (
        [row["parameter"] for row in rows].count("alpha") == [row["parameter"] for row in rows].count("beta") == 10
    )
    data = load_dataset("karate", 0)
    model = NodeClassifier("gcn", smoother=PosteL(alpha=0.3), pseudo_labels=True, max_epochs=6, seed=0).fit(data)
    one_split = replace(SMALL, splits=1)
    point = next(
        row
        for row in target(one_split).render(shared).values.records()
        if (row["parameter"], row["value"]) == ("alpha", 0.3)
    )
    assert point["accuracy"] == pytest.approx(100 * model.score(data)) and point["n"] == 1


def test_a_sweep_keeps_to_the_setting_it_was_run_at(tmp_path: Path) -> None:
    store, target = Store(tmp_path / "rows.sqlite"), find_target("figure-sensitivity")
    left_open = Options(datasets=("karate",), backbones=("gcn",), splits=1, max_epochs=2, workers=1)
    run_target(target(left_open), store, _quiet())
    rows = target(left_open).render(store).values.records()
    assert len(rows) == 21
    # A search that comes later has other settings, and no points.
    run_target(find_target("table-main")(replace(left_open, budget="8")), store, _quiet())
    assert target(left_open).render(store).values.records() == rows


def test_the_conditional_of_all_labels_is_the_diagnosis(shared: Store) -> None:
    run_target(find_target("figure-neighbors")(SMALL), shared)
    rows = find_target("figure-neighbors")(SMALL).render(shared).values.records()
    truth = diagnose("karate", None).all_labels.conditional
    assert len(rows) == 16
    assert all(row["probability"] == truth[row["class"]][row["neighbor's class"]] for row in rows)


def test_joint_of_two_neighbors_by_brute_force() -> None:
    data = load_dataset("karate", None)
    neighbors: dict[int, list[int]] = {}
    for i, j in data.edge_index.T.tolist():
        neighbors.setdefault(i, []).append(j)
    joint = torch.zeros(4, 4, dtype=torch.float64)
    alone = torch.zeros(4, dtype=torch.float64)
    for i, around in neighbors.items():
        if int(data.y[i]) == 0:
            for place, j in enumerate(around):
                alone[data.y[j]] += 1
                for k in around[:place] + around[place + 1 :]:
                    joint[data.y[j], data.y[k]] += 1
    found = joint_and_product("karate", None)
    assert np.allclose(found["joint"], joint / joint.sum())
    alone /= alone.sum()
    assert np.allclose(found["product"], alone[:, None] * alone)
    assert found["gap"] == pytest.approx(float((joint / joint.sum() - alone[:, None] * alone).abs().sum() / 2))


def test_counts_of_datasets_agree_with_the_paper(data_root: Path, tmp_path: Path) -> None:
    store, options = Store(tmp_path / "rows.sqlite"), Options(datasets=("texas", "cora"), data_root=str(data_root))
    target = find_target("table-datasets")
    run_target(target(options), store)
    rows = target(options).render(store).values.records()
    assert [(row["dataset"], row["edges"], row["paper's edges"], row["edges difference"]) for row in rows] == [
        ("Texas", 287, 287, 0),
        ("Cora", 5278, 5278, 0),
    ]


def test_a_failing_cell_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "rows.sqlite")
    whole = run_all

    def broken(specs: Any, **settings: Any) -> Any:
        for spec in specs:
            if spec.method.name == "uniform":
                store.add_failure(spec, "Traceback: out of luck")
        return whole([spec for spec in specs if spec.method.name != "uniform"], **settings)

    monkeypatch.setattr("postel.experiments.search.stored.run_all", broken)
    target, options = find_target("table-main"), replace(SMALL, methods=("ls", "one_hot"))
    options = replace(options, backbones=("gcn",))
    run_target(target(options), store)
    states = {row["method"]: row["state"] for row in target(options).render(store).values.records()}
    assert states == {"uniform": "not run", "one_hot": "run"}


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("table-main", Options(datasets=("coraa",)), "did you mean cora"),
        ("table-main", Options(backbones=("transformer",)), "unknown backbone"),
        ("table-main", Options(methods=("magic",)), "no method 'magic'"),
        ("table-main", Options(protocol="random"), "protocol"),
        ("table-limited-labels", Options(protocol="paper"), "--protocol must be limited, got paper"),
        ("table-limited-labels", Options(methods=("kd",)), "there is no kd here"),
        ("table-products", Options(datasets=("cora",)), "about ogbn-products"),
        ("table-products", Options(budget="16"), "--budget must be fixed"),
    ],
)
def test_what_does_not_fit_is_told_before_anything_runs(name: str, options: Options, says: str) -> None:
    with pytest.raises(InputError, match=says):
        find_target(name)(options)


def test_an_unknown_target_is_answered_with_near_ones() -> None:
    with pytest.raises(InputError, match="did you mean table-main"):
        find_target("table-mian")


def test_searches_on_other_splits_are_other_cells_and_never_compared_in_silence(tmp_path: Path) -> None:
    store, target = Store(tmp_path / "rows.sqlite"), find_target("table-main")
    asked: dict[str, Any] = {
        "datasets": ("karate",),
        "backbones": ("gcn",),
        "splits": 4,
        "budget": "8",
        "max_epochs": 3,
        "workers": 1,
    }

    def budgets(**changes: Any) -> list[str]:
        rendering = target(Options(**asked, **changes)).render(store)
        return [record["budget"] for record in rendering.values.records()]

    run_target(target(Options(**asked, methods=("ls",), search_splits=1)), store, _quiet())
    (one,) = budgets(methods=("ls",))  # left open, so what there is is shown
    assert "8 trainings: " in one and "on 4 splits" not in one
    assert estimate(target(Options(**asked, methods=("ls",))).requests, store, 1, fixed_rate).done == 0
    run_target(target(Options(**asked, methods=("ls", "als"))), store, _quiet())
    assert all("on 4 splits" in text for text in budgets(methods=("ls", "als")))
    assert budgets(methods=("ls", "als"), search_splits=1) == [one, None]

    run_target(target(Options(**asked, methods=("sals",), search_splits=1)), store, _quiet())
    mixed = target(Options(**asked, methods=("ls", "sals"))).render(store).printed.notes
    assert any("different budgets" in note for note in mixed)


def _quiet() -> Any:
    from postel.paper.target import Watch

    return Watch()


@pytest.fixture
def products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small graph in OGB's layout whose classes can be learnt, and an empty cache."""
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POSTEL_DATA", raising=False)
    rng, folder = np.random.default_rng(0), tmp_path / "root" / "ogbn_products"
    y = np.arange(90) % 3
    links = np.array([(i, j) for i in range(90) for j in rng.integers(0, 90, 12) if y[i] == y[j]])
    x = np.eye(3)[y] + 0.1 * rng.normal(size=(90, 3))
    order = rng.permutation(90)
    files = {
        "raw/num-node-list": [[90]],
        "raw/num-edge-list": [[len(links)]],
        "raw/edge": links,
        "raw/node-feat": x,
        "raw/node-label": y[:, None],
        "split/sales_ranking/train": order[:45, None],
        "split/sales_ranking/valid": order[45:60, None],
        "split/sales_ranking/test": order[60:, None],
    }
    for name, rows in files.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as stream:
            stream.writelines(",".join(map(str, np.asarray(row).tolist())) + "\n" for row in rows)
    return folder.parent


def test_products_run_in_batches_on_a_graph_in_ogbs_layout(products: Path, store: Store) -> None:
    options = Options(data_root=str(products), splits=2, max_epochs=20)
    target = find_target("table-products")
    run_target(target(options), store)
    rendering = target(options).render(store)
    rows = {(row["method"], row["what"]): row for row in rendering.values.records()}
    assert rows["PosteL", "accuracy, %"]["ours"] > 90 and rows["PosteL", "accuracy, %"]["paper"] == 81.20
    assert rows["one-hot", "accuracy, %"]["n"] == 2 and rows["ALS", "accuracy, %"]["state"] == "not run"
    assert rows["–", "soft labels of PosteL, s"]["ours"] > 0 and rows["–", "one epoch, s"]["ours"] > 0
    # Another graph than the paper's: its figures stand beside, but there is no difference to speak of.
    assert {row["difference"] for row in rows.values()} == {None}
    assert any("90 nodes" in note for note in rendering.printed.notes)
    assert balanced(latex(rendering.printed, "tab:x"))


def test_without_the_data_it_is_told_how_to_get_them(products: Path, store: Store, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(InputError, match=r"products\.zip .* unpack it as ogbn_products .* --data-root"):
        run_target(find_target("table-products")(Options(data_root=str(tmp_path / "elsewhere"))), store)
