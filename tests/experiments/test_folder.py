from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from experiments.studies import METHODS, tiny_specs
from postel.errors import InputError
from postel.experiments.running.executor import run_all
from postel.experiments.search.stored import tune_dataset
from postel.experiments.spec import MethodSpec
from postel.experiments.store import Store
from postel.experiments.store.folder import open_results, read_archive, write_archive
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.reader import read_study
from postel.paper.compared import compare_cells
from postel.paper.requests import Options
from postel.paper.target import find_target


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Runs alone, searched cells with one-hot labels beside them, a figure's cell, and something measured."""
    store = Store(tmp_path_factory.mktemp("study") / "rows.sqlite")
    run_all(tiny_specs(2), workers=1, store=store)
    fixed = {"max_epochs": 20}
    for method, backbone, target in (
        ("one_hot", "gcn", "table-main"),
        ("postel", "gcn", "table-main"),
        ("ls", "appnp", "figure-loss"),
    ):
        tune_dataset("karate", backbone, method, splits=range(3), budget="12", store=store, workers=1, fixed=fixed,
             target=target)  # fmt: skip
    tune_dataset("karate", "gcn", "postel", splits=range(2), budget="fixed", store=store, workers=1, fixed=fixed,
         pseudo_labels=1)  # fmt: skip
    first = [store.rows(cell.run_keys)[0].spec for cell in store.cells()]
    run_all([spec.with_labels(MethodSpec(name="one_hot")) for spec in first], workers=1, store=store)
    Measurements(store).put("figure-tsne", "some", {"points": [[0.123456789, 2]], "classes": [3]})
    return store


@pytest.fixture
def archive(study: Store, tmp_path: Path) -> Path:
    write_archive(study, tmp_path / "rows")
    return tmp_path / "rows"


def _slim(store: Store) -> dict[str, object]:
    return {row.key: row for row in store.all_rows(rounds=False)}


def test_rows_cells_and_measurements_come_back(study: Store, archive: Path) -> None:
    back = read_archive(archive)
    assert _slim(back) == _slim(study) and len(back) > len(METHODS)
    assert {cell.key: cell for cell in back.cells()} == {cell.key: cell for cell in study.cells()}
    assert len(back.cells()) == 4
    assert list(Measurements(back).all()) == [
        ("figure-tsne", "some", {"points": [[0.123456789, 2]], "classes": [3]})
    ]
    assert back.name == str(archive)


def test_curves_are_kept_where_they_are_drawn_and_nowhere_else(study: Store, archive: Path) -> None:
    kept = {row.key: row.rounds for row in read_archive(archive).all_rows() if row.rounds}
    wanted: set[str] = set()
    for cell in study.cells():
        wanted.update(cell.run_keys if cell.target == "figure-loss" else cell.run_keys[:1])
    one_hot = {row.spec.with_labels(MethodSpec(name="one_hot")).key for row in study.rows(wanted)}
    beside = one_hot & set(study.keys()) - wanted
    assert beside
    wanted |= beside
    assert kept.keys() == wanted
    for row in study.rows(wanted):
        for ours, theirs in zip(kept[row.key], row.rounds or (), strict=True):
            assert ours.loss("val") == pytest.approx(theirs.loss("val"), rel=1e-4)
            assert ours.best_epoch == theirs.best_epoch


def test_tables_and_reports_are_the_same_from_either(study: Store, archive: Path) -> None:
    options = Options(datasets=("karate",), backbones=("gcn",), methods=("one_hot", "postel"), max_epochs=20)
    made = find_target("table-main")(options).render(study)
    again = find_target("table-main")(options).render(open_results(archive))
    assert made.values.rows == again.values.rows
    assert [row[5] for row in made.values.rows] == ["run", "run"]
    assert again.printed.notes[-1] == f"Rows: {archive}."
    told, retold = read_study(study.path), read_study(archive)
    assert told.trials == retold.trials
    numbers = [
        {line.cell.key: (line.cell.accuracy.by_split, line.gain) for line in compare_cells(found.cells)}
        for found in (told, retold)
    ]
    assert numbers[0] == numbers[1]
    assert all(cell.rows[0].rounds for cell in retold.cells if cell.target)


def test_the_same_runs_make_the_same_files(study: Store, archive: Path, tmp_path: Path) -> None:
    write_archive(read_archive(archive), tmp_path / "again")
    names = sorted(path.name for path in archive.iterdir())
    assert names == ["cells.json", "measured.parquet", "rounds.parquet", "rows.parquet"]
    for name in names:
        assert (tmp_path / "again" / name).read_bytes() == (archive / name).read_bytes(), name


def test_a_setting_that_was_changed_is_noticed(archive: Path) -> None:
    lines = pyarrow.parquet.read_table(archive / "rows.parquet").to_pylist()
    lines[3]["lr"] = 0.5
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(lines), archive / "rows.parquet")
    with pytest.raises(InputError, match=f"the run {lines[3]['key']} was changed"):
        read_archive(archive)


def test_what_is_broken_is_one_sentence(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder of results: it has no rows"):
        open_results(tmp_path)
    (archive / "cells.json").write_text(json.dumps([1]))
    with pytest.raises(InputError, match="cannot be read as cells"):
        read_archive(archive)
    (archive / "rows.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_archive(archive)


def test_a_cell_of_a_search_by_hand_is_taken_up_by_the_table(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    spelled_out = {"max_epochs": 1000, "stopping": "window-mean", "lr": 0.05, "weight_decay": 0.0}
    tune_dataset(
        "karate", "gcn", "one_hot", splits=range(2), budget="fixed", store=store, workers=1, fixed=spelled_out
    )
    tune_dataset("karate", "gcn", "one_hot", splits=range(2), budget="4", store=store, workers=1,
         fixed={"max_epochs": 1000, "stopping": "window-mean"})  # fmt: skip
    options = Options(datasets=("karate",), backbones=("gcn",), methods=("one_hot",), splits=2, budget="4")
    (row,) = find_target("table-main")(options).render(store).values.records()
    assert (row["state"], row["splits"]) == ("run", 2)
