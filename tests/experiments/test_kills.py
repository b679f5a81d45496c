"""Studies that are killed, resumed, and run side by side end with the rows of one that was left alone."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from experiments.studies import search, start, study, timeless_rows, tiny_specs
from postel.experiments.store import Store


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    study(folder, 1)
    return folder


def test_a_study_killed_twenty_times_ends_with_the_same_rows(undisturbed: Path, tmp_path: Path) -> None:
    assert start("kill-study", str(tmp_path), "20").wait(300) == 0
    rows = timeless_rows(tmp_path / "rows.sqlite")
    assert len(rows) == len(tiny_specs())
    assert rows == timeless_rows(undisturbed / "rows.sqlite")


def test_a_search_killed_twenty_times_tries_and_chooses_the_same(tmp_path: Path) -> None:
    for name in ("alone", "killed"):
        (tmp_path / name).mkdir()
    cell = search(tmp_path / "alone", 1)
    assert start("kill-search", str(tmp_path / "killed"), "20").wait(400) == 0
    store = Store(tmp_path / "killed" / "rows.sqlite")
    assert store.cells() == [cell]
    assert timeless_rows(store.path) == timeless_rows(tmp_path / "alone" / "rows.sqlite")


def test_two_studies_on_one_store_run_everything_once(undisturbed: Path, tmp_path: Path) -> None:
    assert start("two-studies", str(tmp_path)).wait(300) == 0
    runs = Counter((tmp_path / "runs.txt").read_text().split())
    assert runs == Counter({spec.key: 1 for spec in tiny_specs()})
    assert timeless_rows(tmp_path / "rows.sqlite") == timeless_rows(undisturbed / "rows.sqlite")


def wait_for_rows(path: Path, count: int) -> None:
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        if path.exists() and len(Store(path)) >= count:
            return
        time.sleep(0.05)
    pytest.fail(f"no {count} rows came")


def test_killed_workers_and_a_killed_study_lose_only_what_was_in_flight(undisturbed: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    process = start("run", str(tmp_path), "2")
    wait_for_rows(path, 1)
    victims = psutil.Process(process.pid).children()
    assert len(victims) == 2
    victims[0].kill()
    wait_for_rows(path, 3)  # the study has gone on by itself, with new workers
    assert process.poll() is None
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)  # of the study alone: its workers have to notice
    process.wait()
    assert psutil.wait_procs(children, timeout=30)[1] == []
    before = len(Store(path))
    assert 3 <= before < len(tiny_specs())
    assert start("run", str(tmp_path), "1").wait(300) == 0
    assert timeless_rows(path) == timeless_rows(undisturbed / "rows.sqlite")
