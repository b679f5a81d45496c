from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.studies import made_up, timeless, tiny_specs
from postel.errors import InputError
from postel.experiments.comparison import comparison_specs
from postel.experiments.results import Failure, Row
from postel.experiments.running import claims, executor, workers
from postel.experiments.running import execute as running
from postel.experiments.running.claims import Claims
from postel.experiments.running.execute import execute
from postel.experiments.running.executor import run_all
from postel.experiments.running.workers import WorkerDiedError, attempt
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.owners import is_dead, this_process
from postel.training import classifier
from postel.training.loop import train
from postel.training.tracking import TrainingOutcome

SPECS = tiny_specs(2)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "rows.sqlite")


def broken_once(monkeypatch: pytest.MonkeyPatch, error: Exception) -> RunSpec:
    """Make the second spec fail."""

    def failing(spec: RunSpec, data_root: str | None) -> Row:
        if spec == SPECS[1]:
            raise error
        return execute(spec, data_root)

    monkeypatch.setattr(workers, "execute", failing)
    return SPECS[1]


def test_a_failing_run_is_recorded_and_the_rest_goes_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = broken_once(monkeypatch, MemoryError("no room for 8 bytes"))
    told: list[tuple[str, str]] = []
    rows = run_all(SPECS, workers=1, store=store, on_failure=lambda spec, text: told.append((spec.key, text)))
    assert [row.key for row in rows] == [spec.key for spec in SPECS if spec != bad]
    (failure,) = store.failures()
    assert (failure.key, failure.spec) == (bad.key, bad)
    assert "Traceback" in failure.traceback and "no room for 8 bytes" in failure.reason
    assert told == [(bad.key, failure.traceback)]
    monkeypatch.undo()
    started: list[RunSpec] = []
    assert len(run_all(SPECS, workers=1, store=store, on_start=started.append)) == len(SPECS)
    assert started == [bad]  # a failure is tried again by the next call, and forgotten when it succeeds
    assert store.failures() == []


def test_a_row_that_cannot_be_kept_is_its_runs_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    row = made_up("a")
    unkept = replace(row, result=replace(row.result, val_loss=float("nan")))
    monkeypatch.setattr(workers, "execute", lambda spec, data_root: unkept)
    assert isinstance(attempt(SPECS[0], None), Failure)


def test_a_store_that_takes_no_rows_ends_the_study(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(row: Row) -> None:
        raise InputError("the store takes no more results")

    monkeypatch.setattr(store, "add", full)
    with pytest.raises(InputError, match="takes no more"):
        run_all(SPECS, workers=1, store=store)
    assert store.failures() == [] and len(store) == 0


def test_a_claim_that_cannot_be_written_ends_the_study(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pool it is asked for by threads in which an exception would be lost."""

    def full(self: Claims, key: str) -> str:
        raise InputError("the store takes no more results")

    monkeypatch.setattr(Claims, "take", full)
    with pytest.raises(InputError, match="takes no more"):
        run_all(SPECS, workers=2, store=store)


class DeadlyPool:
    """A pool whose workers die whenever they run ``deadly``, and now and then besides."""

    def __init__(self, deadly: RunSpec | None, accidents: int = 0) -> None:
        self.deadly, self.accidents = deadly, accidents

    def __call__(self, specs: Iterable[RunSpec], data_root: str | None, workers: int) -> Iterator[Row | Failure]:
        handed_out = list(specs)[:4]
        for spec in handed_out:
            if spec == self.deadly:
                raise WorkerDiedError("killed")
            if self.accidents and spec == handed_out[-1]:
                self.accidents -= 1
                raise WorkerDiedError("killed")
            yield attempt(spec, data_root)


def test_a_run_that_always_kills_its_worker_is_blamed_and_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "in_processes", DeadlyPool(SPECS[0]))
    rows = run_all(SPECS, workers=2, store=store)
    assert [row.key for row in rows] == [spec.key for spec in SPECS[1:]]
    assert [failure.key for failure in store.failures()] == [SPECS[0].key]
    assert "worker process died" in store.failures()[0].traceback


def test_killed_workers_are_nobodys_fault(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "in_processes", DeadlyPool(None, accidents=2))
    assert len(run_all(SPECS, workers=2, store=store)) == len(SPECS)
    assert store.failures() == []


def test_what_another_study_is_running_is_waited_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ours: list[str] = []
    with Claims(store) as theirs:
        assert theirs.take(SPECS[0].key) == "claimed"

        def finish() -> None:
            time.sleep(0.5)
            store.add(execute(SPECS[0]))

        other = threading.Thread(target=finish)
        other.start()
        rows = run_all(SPECS, workers=1, store=store, on_start=lambda spec: ours.append(spec.key))
        other.join()
    assert len(rows) == len(SPECS)
    assert sorted(ours) == sorted(spec.key for spec in SPECS[1:])


def test_a_failure_of_another_study_is_not_repeated_by_one_that_waits(store: Store) -> None:
    failed: list[str] = []
    with Claims(store) as theirs:
        theirs.take(SPECS[0].key)
        other = threading.Timer(0.5, store.add_failure, (SPECS[0], "Traceback: it broke"))
        other.start()
        rows = run_all(SPECS, workers=1, store=store, on_failure=lambda spec, text: failed.append(text))
        other.join()
    assert len(rows) == len(SPECS) - 1 and failed == ["Traceback: it broke"]


def test_a_claim_ends_with_its_process_its_block_and_its_lease(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = os.fork()
    if dead == 0:
        Claims(store).take("a")
        os._exit(0)
    os.waitpid(dead, 0)
    with Claims(store) as ours:
        assert ours.take("a") == "claimed"
        assert Claims(store).take("a") == "busy"
    with Claims(store) as theirs:
        assert theirs.take("a") == "claimed"
    monkeypatch.setattr(claims, "this_process", lambda: "elsewhere - 1 2")
    elsewhere = Claims(store, lease=0.3)
    monkeypatch.undo()
    assert elsewhere.take("b") == "claimed"  # and nobody renews it
    with Claims(store) as ours:
        assert ours.take("b") == "busy"
        time.sleep(0.4)
        assert ours.take("b") == "claimed"


def test_a_claim_is_renewed_while_its_block_goes_on(store: Store) -> None:
    with Claims(store, lease=0.4) as ours:
        ours.take("a")
        time.sleep(1.2)
        assert Claims(store).take("a") == "busy"


def test_a_process_number_that_is_used_again_is_not_taken_for_its_owner() -> None:
    host, space, number, started = this_process().split(" ")
    assert is_dead(f"{host} {space} {number} {int(started) - 1}")
    assert not is_dead(f"{host}-2 {space} {number} {int(started) - 1}")


def test_runs_in_threads_of_one_process_do_not_touch_each_other() -> None:
    """The random generators are the process's: a cluster's worker with several threads must give the same rows."""
    alone = [timeless(execute(spec)) for spec in SPECS]
    found: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda spec=spec: found.update({spec.key: timeless(execute(spec))}))
        for spec in SPECS
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[spec.key] for spec in SPECS] == alone


def test_a_study_trains_the_teacher_of_a_setting_once_and_its_rows_do_not_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    specs = comparison_specs(
        "karate",
        [MethodSpec.parse(f"distillation:weight={share}") for share in (0.2, 0.8)],
        range(2),
        max_epochs=7,
    )
    trainings = 0

    def counted(*arguments: Any, **options: Any) -> TrainingOutcome:
        nonlocal trainings
        trainings += 1
        return train(*arguments, **options)

    monkeypatch.setattr(classifier, "train", counted)
    running._teachers.cache_clear()
    together = [execute(spec) for spec in specs]
    assert trainings == 2 + 4, "a teacher per split, a student per run"
    alone = []
    for spec in specs:
        running._teachers.cache_clear()
        alone.append(execute(spec))
    assert trainings == 6 + 8
    assert list(map(timeless, together)) == list(map(timeless, alone))
