"""Tiny studies, and a program that starts and kills them: it imports once and forks, so that kills are quick."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from postel.experiments.comparison import comparison_specs
from postel.experiments.results import Cell, Row
from postel.experiments.running import workers
from postel.experiments.running.execute import execute
from postel.experiments.running.executor import run_all
from postel.experiments.search.stored import tune_dataset
from postel.experiments.spec import MethodSpec, RunSpec
from postel.experiments.store import Store
from postel.training.metrics import Scores
from postel.training.result import Result

METHODS = [MethodSpec.parse(text) for text in ("one_hot", "uniform", "postel:alpha=0.6")]


def tiny_specs(splits: int = 4) -> list[RunSpec]:
    return comparison_specs("karate", METHODS, range(splits), max_epochs=30, lr=0.05)


def timeless(row: Row) -> Row:
    return replace(row, result=replace(row.result, seconds=0.0))


def made_up(key: str, note: object = "") -> Row:
    """A row that nobody ran, with something to tell it by."""
    scores = Scores(0.5, 0.4, 0.4, 1.0, 0.1, 0.3, 10)
    result = Result(scores, scores, 1.0, 1, 0, 0, 1, 2, 3.0)
    spec = RunSpec(dataset="karate", fingerprint="f", method=METHODS[0])
    return Row(key, spec, result, False, made_by={"note": str(note)})


def timeless_rows(path: Path) -> dict[str, Row]:
    return {row.key: timeless(row) for row in Store(path).all_rows()}


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """This file as a program, in a session of its own."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, *arguments], env=environment, start_new_session=True
    )


def study(folder: Path, workers: int) -> None:
    run_all(tiny_specs(), workers=workers, store=Store(folder / "rows.sqlite"))


def search(folder: Path, workers: int) -> Cell:
    return tune_dataset(
        "karate",
        "gcn",
        "postel",
        splits=range(4),
        budget="100",
        store=Store(folder / "rows.sqlite"),
        workers=workers,
        fixed={"max_epochs": 8},
    )


def killed_again_and_again(work: Callable[[Path, int], Any], folder: Path, kills: int) -> None:
    """Fork ``work`` and kill it after a random while, ``kills`` times; then let it come to its end."""
    rng = random.Random(0)
    fatal = 0
    longest = 0.6
    while fatal < kills:
        child = os.fork()
        if child == 0:
            os.setsid()
            work(folder, 1)
            os._exit(0)
        time.sleep(rng.uniform(0, longest))
        if os.waitpid(child, os.WNOHANG) == (0, 0):
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:  # it has not come to lead a group yet
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            fatal += 1
        else:  # it came to its end: what is left to kill is its beginning
            longest = 0.05
    work(folder, 1)


def counting(folder: Path) -> Callable[[RunSpec, str | None], Row]:
    """A run that leaves a line in a file, so that runs of several processes can be counted."""

    def counted(spec: RunSpec, data_root: str | None) -> Row:
        with (folder / "runs.txt").open("a") as stream:
            stream.write(f"{spec.key}\n")
        return execute(spec, data_root)

    return counted


def in_a_child(action: Callable[[], None]) -> str:
    """What ``action`` raises in a forked process, which may limit itself and give rights away."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            action()
            said = "nothing was raised"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said


def as_nobody(action: Callable[[], object]) -> str:
    """What ``action`` raises in a process without root's right to write anywhere."""

    def limited() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        action()

    return in_a_child(limited)


if __name__ == "__main__":
    command, place = sys.argv[1], Path(sys.argv[2])
    if command == "kill-study":
        killed_again_and_again(study, place, int(sys.argv[3]))
    elif command == "kill-search":
        killed_again_and_again(search, place, int(sys.argv[3]))
    elif command == "run":
        study(place, int(sys.argv[3]))
    elif command == "two-studies":
        workers.execute = counting(place)
        children = []
        for _ in range(2):
            children.append(os.fork())
            if children[-1] == 0:
                study(place, 1)
                os._exit(0)
        sys.exit(sum(os.waitpid(child, 0)[1] for child in children))
