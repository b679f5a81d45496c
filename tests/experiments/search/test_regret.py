"""The benchmark of searches: its grids are whole, and ours comes close to their best at a tenth of the cost."""

from __future__ import annotations

import importlib
import statistics
from pathlib import Path
from types import ModuleType

import pytest

from postel.experiments.store import Store

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture
def grid(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("_grid")


@pytest.fixture
def search(grid: ModuleType) -> ModuleType:
    return importlib.import_module("search")


def test_the_kept_grids_are_whole(grid: ModuleType) -> None:
    kept = grid.kept_grids()
    assert set(kept) <= set(grid.GRAPHS) and "texas" in kept
    for found in kept.values():
        assert list(found.runs) == grid.places() and len(found.runs) == 800
        assert all([run.split for run in runs] == [0, 1, 2] for runs in found.runs.values())


def test_our_search_comes_close_to_the_best_and_closer_than_chance(search: ModuleType) -> None:
    for kept in importlib.import_module("_grid").kept_grids().values():
        ours = [search.regret(kept, search.our_search(kept, seed).choice) for seed in range(3)]
        random = [search.regret(kept, search.random_search(kept, seed).choice) for seed in range(20)]
        assert statistics.fmean(ours) <= 0.5 and statistics.fmean(ours) < statistics.fmean(random)


def test_a_grid_is_run_once_kept_and_read_again(
    grid: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"lr": [0.05], "weight_decay": [0.0, 5e-4], "method.alpha": [0.5], "method.beta": [0.0]}
    monkeypatch.setattr(grid, "SPACE", axes)
    monkeypatch.setattr(grid, "GRAPHS", ("karate",))
    store, path = Store(tmp_path / "rows.sqlite"), tmp_path / "grid.parquet"
    assert grid.keep(store, path) == []
    grid.run_grid(["karate"], store, workers=1)
    before = {key: row.made_by for key, row in store.get(store.keys()).items()}
    grid.run_grid(["karate"], store, workers=1)
    assert len(before) == 6 and {key: row.made_by for key, row in store.get(store.keys()).items()} == before
    assert grid.keep(store, path) == ["karate"]
    (found,) = grid.kept_grids(path).values()
    rows = store.get(store.keys()).values()
    assert all(row.spec.pseudo_labels is False and row.result.trainings == 1 for row in rows)
    for place, runs in found.runs.items():
        wanted = [row for row in rows if row.spec.weight_decay == axes["weight_decay"][place[1]]]
        by_split = {row.split: row.result for row in wanted}
        assert [run.score for run in runs] == [by_split[split].val.accuracy for split in range(3)]
        assert [run.loss for run in runs] == [by_split[split].val_loss_scaled for split in range(3)]
        tests = [result.test.accuracy for result in by_split.values()]
        assert found.test[place] == pytest.approx(statistics.fmean(tests))


def test_half_a_grid_is_kept_for_another_machine_to_go_on_from(
    grid: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"lr": [0.05], "weight_decay": [0.0], "method.alpha": [0.5], "method.beta": [0.0]}
    monkeypatch.setattr(grid, "SPACE", axes)
    monkeypatch.setattr(grid, "GRAPHS", ("karate",))
    here, there, path = (
        Store(tmp_path / "here.sqlite"),
        Store(tmp_path / "there.sqlite"),
        tmp_path / "grid.parquet",
    )
    grid.run_all(list(grid.grid_specs("karate").values())[:2], workers=1, store=here)
    assert grid.keep(here, path) == [] and grid.kept_grids(path) == {}
    grid.run_grid(["karate"], there, workers=1, path=path)
    assert len(there.keys()) == 1
    assert grid.keep(there, path) == ["karate"]
    (found,) = grid.kept_grids(path).values()
    assert [run.split for run in found.runs[0, 0, 0, 0]] == [0, 1, 2]
