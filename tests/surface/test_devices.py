"""Where many runs are computed: one spelling in every command that trains, checked before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from cli.commands import Here
from postel.cli.app import app
from postel.experiments.comparison import comparison_specs
from postel.experiments.results import cells_of_rows
from postel.experiments.rows import Row
from postel.experiments.running import execute, executor
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store

COMMANDS = {command.name: command for command in typer.main.get_command(app).commands.values()}
SMALL = ("--splits", "2", "--max-epochs", "3", "-w", "1", "--json")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


TRAINING = ("train karate", "compare karate", "tune karate", "demo", "reproduce table-main -d karate")


@pytest.mark.parametrize("command", TRAINING)
@pytest.mark.parametrize("device", ["cuda", "warp", "meta"])
def test_a_device_that_cannot_be_used_is_one_sentence_before_any_bar(
    here: Here, tmp_path: Path, command: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    done = here(*command.split(), "--device", device, cwd=tmp_path)
    assert done.returncode == 2 and device in done.stderr and len(done.stderr.splitlines()) <= 3, done.stderr
    assert "karate: runs" not in done.stderr and "trainings" not in done.stderr
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_they_spell_the_options_alike() -> None:
    for command in ("train", "compare", "tune"):
        spelled = {spelling for parameter in COMMANDS[command].params for spelling in parameter.opts}
        assert {"--device", "--batch-size"} <= spelled
    assert all(
        any("--device" in parameter.opts for parameter in COMMANDS[command.split()[0]].params)
        for command in TRAINING
    )
    helps = {
        parameter.help
        for command in COMMANDS.values()
        for parameter in command.params
        if "--device" in parameter.opts
    }
    assert len(helps) == 1


def test_device_and_batches_enter_a_key_only_where_they_are_given() -> None:
    spec = RunSpec(dataset="karate", fingerprint="f", method=MethodSpec(name="one_hot"))
    assert not {"device", "batch_size"} & set(spec.model_dump(mode="json"))
    others = [spec.model_copy(update=change) for change in ({"device": "cuda"}, {"batch_size": 8})]
    assert len({one.key for one in (spec, *others)}) == 3
    for one in others:
        assert RunSpec(**json.loads(json.dumps(one.model_dump(mode="json")))) == one


def every(store: Store) -> list[Row]:
    return list(store.all_rows())


def test_compare_and_tune_train_in_batches_and_keep_such_rows_apart(here: Here, tmp_path: Path) -> None:
    arguments = ("compare", "karate", "-m", "one_hot", *SMALL)
    whole = here(*arguments, cwd=tmp_path)
    batches = here(*arguments, "--batch-size", "4", cwd=tmp_path)
    assert whole.returncode == batches.returncode == 0, batches.stderr
    store = Store(tmp_path / "postel.sqlite")
    assert len(store) == 4 and {row.spec.batch_size for row in every(store)} == {None, 4}
    assert len(cells_of_rows(every(store))) == 2
    assert len({cell.question.key for cell in cells_of_rows(every(store))}) == 2
    done = here("tune", "karate", "-m", "one_hot", "--budget", "8", "--batch-size", "4", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["asked"]["fixed"]["batch_size"] == 4
    assert {row.spec.batch_size for row in store.rows(cell["run_keys"])} == {4}
    done = here("export", "rows", "--store", "postel.sqlite", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_runs_on_another_device_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = comparison_specs("karate", [MethodSpec(name="one_hot")], range(2), max_epochs=2, device="cuda")
    assert all(execute.classifier_of(spec).device == "cuda" for spec in specs)

    def forked(*arguments: object, **more: object) -> None:
        raise AssertionError("a GPU cannot be used in a forked process")

    seen: list[str] = []

    def alone(specs: list[RunSpec], data_root: str | None) -> object:
        for spec in specs:
            seen.append(spec.device)
            usual = spec.model_copy(update={"device": "cpu"})
            row = execute.execute(usual, data_root)
            yield Row(spec.key, spec, row.result, row.collapsed)

    monkeypatch.setattr(executor, "in_processes", forked)
    monkeypatch.setattr(executor, "one_by_one", alone)
    assert [row.spec.device for row in run_all(specs, workers=2)] == ["cuda", "cuda"] and seen == ["cuda", "cuda"]


REPRODUCE = ("reproduce", "table-main", "-d", "karate", "-b", "gcn", "-m", "one_hot", "--budget", "fixed")


def test_reproduce_runs_on_a_device_and_keeps_such_rows_apart(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second device is imagined: its runs are made on the CPU and say where they were asked to be."""
    monkeypatch.setattr("postel.cli.options.check_usable", lambda device, scheduler: None)

    def alone(specs: list[RunSpec], data_root: str | None) -> object:
        for spec in specs:
            row = execute.execute(spec.model_copy(update={"device": "cpu"}), data_root)
            yield Row(spec.key, spec, row.result, row.collapsed)

    monkeypatch.setattr(executor, "one_by_one", alone)
    for device in ((), ("--device", "cpu"), ("--device", "cuda")):
        done = here(*REPRODUCE, *SMALL, *device, "--overwrite", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    store = Store(tmp_path / "postel.sqlite")
    assert sorted(row.spec.device for row in every(store)) == ["cpu", "cpu", "cuda", "cuda"]
    fixed = [dict(cell.question.fixed) for cell in store.cells()]
    assert len(fixed) == 2 and {"max_epochs": 3} in fixed and {"max_epochs": 3, "device": "cuda"} in fixed


def test_the_demo_trains_on_the_device(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class EnoughError(Exception):
        pass

    asked: list[str] = []

    def run(specs: list[RunSpec], *arguments: object, **more: object) -> None:
        asked.extend(spec.device for spec in specs)
        raise EnoughError

    monkeypatch.setattr("postel.cli.options.check_usable", lambda device, scheduler: None)
    monkeypatch.setattr("postel.cli.compare.run_with_progress", run)
    monkeypatch.setattr("postel.cli.demo._graphs", lambda data_root: [("karate", "")])
    with pytest.raises(EnoughError):
        here("demo", "--splits", "2", "--device", "cuda", cwd=tmp_path)
    assert set(asked) == {"cuda"}
