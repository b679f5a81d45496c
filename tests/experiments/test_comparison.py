"""From specs to rows to a table, on graphs that need no data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.studies import timeless
from postel.cli.compare import comparison_values
from postel.experiments.comparison import comparison_specs
from postel.experiments.results import Row, cells_of_rows
from postel.experiments.running import workers
from postel.experiments.running.execute import classifier_of, execute, load_data, row_of
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from report.samples import row as run_of

METHODS = [MethodSpec.parse(text) for text in ("one_hot", "sals", "postel:alpha=0.6", "distillation", "als")]


def specs(**settings: Any) -> list[RunSpec]:
    return comparison_specs("karate", METHODS, range(2), max_epochs=30, lr=0.05, **settings)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return run_all(specs(), workers=1)


def test_only_methods_that_use_pseudo_labels_get_them() -> None:
    given = {spec.method.name: spec.pseudo_labels for spec in specs(pseudo_labels=2)}
    assert given == {"one_hot": False, "sals": False, "postel": 2, "distillation": False, "als": False}


def test_processes_give_the_same_rows_as_one(rows: list[Row]) -> None:
    apart = run_all(specs(), workers=2)
    assert [timeless(row) for row in apart] == [timeless(row) for row in rows]


def test_a_kept_row_is_never_run_again(rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "rows.sqlite")
    for kept in rows[:-1]:
        store.add(kept)
    run: list[str] = []

    def watched(spec: RunSpec, data_root: str | None) -> Row:
        run.append(spec.key)
        return execute(spec, data_root)

    monkeypatch.setattr(workers, "execute", watched)
    told: list[str] = []
    again = run_all(specs(), workers=1, store=store, on_row=lambda row: told.append(row.key))
    assert run == [rows[-1].key]
    assert [timeless(row) for row in again] == [timeless(row) for row in rows]
    assert sorted(told) == sorted(row.key for row in rows)
    assert len(store) == len(rows)


def test_a_graph_that_is_another_one_is_refused() -> None:
    other = specs()[0].model_copy(update={"fingerprint": "0" * 8})
    with pytest.raises(ValueError, match="the run was made for 00000000"):
        execute(other)


def test_the_table_is_a_function_of_rows() -> None:
    def run(method: str, split: int, accuracy: float, *, collapsed: bool = False) -> Any:
        return run_of("karate", "gcn", method, split, accuracy=accuracy, collapsed=collapsed)

    rows = [
        run("sals", 1, 0.3, collapsed=True),  # out of order on purpose: splits are paired by number
        run("one_hot", 0, 0.5),
        run("one_hot", 1, 0.6),
        run("sals", 0, 0.4, collapsed=True),
        run("postel", 0, 0.7),
        run("postel", 1, 0.7, collapsed=True),
    ]
    table = comparison_values(cells_of_rows(rows))
    lines = {line["method"]["name"]: line for line in table["methods"]}
    assert list(lines) == ["sals", "one_hot", "postel"]
    assert lines["postel"]["accuracy"]["mean"] == pytest.approx(70)
    assert lines["postel"]["macro_f1"]["mean"] == pytest.approx(63)
    assert lines["one_hot"]["difference"] is None
    gain = lines["sals"]["difference"]["interval"]
    assert (gain["mean"], gain["low"], gain["high"]) == pytest.approx((-20, -30, -10))
    assert (lines["sals"]["collapsed"], lines["sals"]["has_collapsed"]) == (2, True)
    assert (lines["postel"]["collapsed"], lines["postel"]["has_collapsed"]) == (1, False)
    assert table["majority"]["mean"] == pytest.approx(80.3279)
    assert (table["dataset"], table["settings"]["lr"]) == ("karate", 0.01)


@pytest.mark.parametrize(("varied", "collapsed"), [(False, True), (True, False)])
def test_a_model_that_gives_one_class_to_every_test_node_is_marked(varied: bool, collapsed: bool) -> None:
    spec = specs()[0]
    data = load_data(spec)
    model = classifier_of(spec).fit(data)
    logits = torch.zeros(data.num_nodes, data.num_classes)
    logits[:, 1] = 1
    if varied:
        logits[data.test_mask.nonzero()[0, 0], 2] = 2
    else:
        logits[data.train_mask, 2] = 2  # other nodes do not count
    model.logits_ = logits
    assert row_of(spec, model, data).collapsed is collapsed
