"""A program that runs commands of postel under faults: it imports once and forks, so that hundreds are quick.

Its arguments are a folder to work in, how often each signal comes, and names of commands, all without any. It
prints what went wrong as JSON, a list of sentences, after a count of the cases that were tried.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from postel.cli import main

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
QUICK = ("--max-epochs", "3")
STUDY = ("--splits", "2", "-w", "1", *QUICK)


@dataclass(frozen=True)
class Command:
    """A command that writes: its arguments, how large files may get before it fails, what lets it run again."""

    arguments: tuple[str, ...]
    limit: int = 100
    again: tuple[str, ...] = ("--overwrite",)
    stub: Callable[[], None] = lambda: None


def small_demo() -> None:
    """A demo of a second: one method on one small graph, for a few epochs."""
    import postel.cli.demo
    from postel.experiments import comparison

    whole = comparison.comparison_specs
    comparison.comparison_specs = lambda *args, **kwargs: whole(*args, **{**kwargs, "max_epochs": 3})
    postel.cli.demo.METHODS = ("one_hot",)
    postel.cli.demo._graphs = lambda data_root: [("karate", "")]


def publisher_at_hand() -> None:
    """A publisher that gives a graph at once, whatever it is asked for."""
    from postel.datasets.sources import lookup, upstream

    os.environ["POSTEL_CACHE"] = "out"
    lookup._remote = lambda source, name, cache: upstream.karate()
    lookup._checked = lambda graph, entry, what: graph
    lookup._local = lambda entry, folder: (
        lookup.read_graph_file(found) if (found := folder / f"{entry.name}.npz").exists() else None
    )


COMMANDS = {
    "smooth": Command(("smooth", "--edges", "in/e.csv", "--labels", "in/n.csv", "--out", "out/o.parquet")),
    "smooth on DuckDB": Command(
        ("smooth", "--edges", "in/e.csv", "--labels", "in/n.csv", "--out", "out/o.parquet", "--engine", "duckdb")
    ),
    "convert": Command(("convert", "in/e.csv", "in/n.csv", "out/g.npz")),
    "convert a collection": Command(("convert", "in/collection.npz", "out/g.npz")),
    "fetch": Command(("fetch", "texas"), again=(), stub=publisher_at_hand),
    "predict": Command(("predict", "in/model", "karate", "--out", "out/p.csv")),
    "demo": Command(("demo", "--splits", "2", "-w", "1", "--out", "out/d.html"), again=(), stub=small_demo),
    "diagnose": Command(("diagnose", "karate", "--plot", "out/d.png")),
    "train": Command(("train", "karate", *QUICK, "--out", "out/model")),
    "compare": Command(("compare", "karate", "-m", "one_hot", *STUDY, "--out", "out/c.html"), 45_000),
    "tune": Command(
        ("tune", "karate", "-m", "uniform", "--budget", "4", "--search-splits", "1", *STUDY), 20_000, again=()
    ),
    "report": Command(("report", "--store", "in/rows.sqlite", "--out", "out/r.html")),
    "export": Command(("export", "out/rows.csv", "--store", "in/rows.sqlite")),
    "export a folder": Command(("export", "out/rows", "--store", "in/rows.sqlite")),
    "reproduce": Command(
        ("reproduce", "figure-toy", "--store", "in/rows.sqlite", "--render-only", "--out", "out")
    ),
}


class Trial:
    """A fresh folder with inputs, in which a command is run once."""

    def __init__(self, home: Path, number: int) -> None:
        self.folder = home / f"trial-{number}"
        shutil.copytree(home / "inputs", self.folder)

    def run(
        self,
        arguments: tuple[str, ...],
        prepare: Callable[[], None] = lambda: None,
        signal_after: tuple[int, float] | None = None,
    ) -> tuple[int, str]:
        """Exit code (negative for the signal that ended it) and standard error."""
        # A pipe, since limits on files are among the faults; it holds more than a command says.
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            for number in ENDING:  # what comes before the command has begun is none of its business
                signal.signal(number, lambda number, frame: os._exit(128 + number))
            os.close(reader)
            os._exit(self._child(arguments, prepare, writer))
        os.close(writer)
        status = None
        if signal_after is not None:
            time.sleep(signal_after[1])
            over, status = os.waitpid(child, os.WNOHANG)
            if not over:
                try:
                    os.killpg(child, signal_after[0])
                except ProcessLookupError:  # it has not come to lead a group yet
                    os.kill(child, signal_after[0])
                status = None
        with os.fdopen(reader, errors="replace") as stream:
            said = stream.read()
        if status is None:
            status = os.waitpid(child, 0)[1]
        return os.waitstatus_to_exitcode(status), said

    def _child(self, arguments: tuple[str, ...], prepare: Callable[[], None], errors: int) -> int:
        try:
            os.setsid()
            os.chdir(self.folder)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(errors, 2)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
            prepare()
            sys.argv = ["postel", *arguments]
            for number in ENDING:  # Python's handler of Ctrl-C would show a traceback after the command
                signal.signal(number, signal.SIG_DFL)
            main()
            code = 0
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 0
        except BaseException:
            traceback.print_exc()
            code = 71
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    def left(self) -> list[str]:
        """What is there that was not at the beginning, but for a study's store."""
        inputs = self.folder.parent / "inputs"
        before = {str(path.relative_to(inputs)) for path in inputs.rglob("*")}
        names = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}
        # Without room SQLite cannot even begin to read, and leaves its empty files beside the store.
        stores = ("postel.", "in/rows.sqlite-")
        return sorted(name for name in names - before if not name.startswith(stores))


class Faults:
    """The faults, and what was found wrong under them."""

    def __init__(self, home: Path) -> None:
        self.home, self.number, self.wrong = home, 0, []
        self.tried: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.rng = random.Random(0)

    def trial(self, kind: str) -> Trial:
        self.number += 1
        self.tried[kind] += 1
        return Trial(self.home, self.number)

    def check(self, told: bool, *words: object) -> None:
        if not told:
            self.wrong.append(" ".join(map(str, words)))

    def refused(self, kind: str, name: str, trial: Trial, code: int, said: str) -> None:
        """A refusal is one sentence and exit code 2, and leaves nothing."""
        sentence = [line for line in said.splitlines() if line.startswith("postel: ")]
        self.check(code == 2 and len(sentence) == 1 and "Traceback" not in said, kind, name, code, said[-600:])
        self.check(trial.left() == [], kind, name, "left", trial.left())

    def full_disk(self, name: str) -> None:
        command, trial = COMMANDS[name], self.trial("full disk")
        size = command.limit

        def limit() -> None:
            command.stub()
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        self.refused("full disk", name, trial, *trial.run(command.arguments, limit))

    def small_disk(self, name: str) -> None:
        """A real file system without room, where one can be mounted."""
        command, trial = COMMANDS[name], self.trial("small disk")
        out = trial.folder / "out"
        out.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(out)], capture_output=True)
        if mounted.returncode:
            self.tried["small disk"] -= 1
            return
        try:
            (out / "filler").write_bytes(b"x" * 4096)
            code, said = trial.run(command.arguments, command.stub)
            self.check(code == 2 and "Traceback" not in said, "small disk", name, code, said[-600:])
            self.check(
                [path.name for path in out.iterdir()] == ["filler"], "small disk", name, list(out.iterdir())
            )
        finally:
            subprocess.run(["umount", str(out)], check=True)

    def read_only(self, name: str) -> None:
        command, trial = COMMANDS[name], self.trial("read-only")
        for path in [trial.folder, *trial.folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)

        def give_up_rights() -> None:
            command.stub()
            if os.geteuid() == 0 and sys.platform == "linux":
                # Without its capabilities root may write where any owner may, and still reads a clone of its own.
                none_left = ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)())
                assert none_left == 0, "the kernel did not take the capabilities"

        self.refused("read-only", name, trial, *trial.run(command.arguments, give_up_rights))
        trial.folder.chmod(0o755)

    def signalled(self, name: str, number: signal.Signals, seconds: float, whole: list[str]) -> None:
        """Ended in good order, at any moment: 128 + the signal's number, all of the output or nothing.

        Before a command has begun and after it has ended, a signal does what it does to any process: -number.
        """
        command, trial = COMMANDS[name], self.trial(number.name)
        moment = number, self.rng.uniform(0.02, seconds)
        code, said = trial.run(command.arguments, command.stub, signal_after=moment)
        self.check(
            code in (0, 128 + number, -number) and "Traceback" not in said, number.name, name, code, said[-900:]
        )
        left = trial.left()
        self.check(left == whole or (left == [] and code != 0), number.name, name, "left", left)
        done = trial.run((*command.arguments, *(command.again if left else ())), command.stub)
        self.check(done[0] == 0, number.name, name, "and again", *done)

    def killed(self, name: str, seconds: float, whole: list[str]) -> None:
        """After a kill no file is there in part; the same command then does all, and clears up."""
        command, trial = COMMANDS[name], self.trial("SIGKILL")
        moment = signal.SIGKILL, self.rng.uniform(0.02, seconds)
        trial.run(command.arguments, command.stub, signal_after=moment)
        there = [name for name in trial.left() if name in whole and (trial.folder / name).is_file()]
        done = trial.run((*command.arguments, *(command.again if there else ())), command.stub)
        self.check(done[0] == 0 and "Traceback" not in done[1], "SIGKILL", name, "then", *done)
        self.check(trial.left() == whole, "SIGKILL", name, "left", trial.left())


def inputs(home: Path) -> None:
    """An edge list, a node table and a store with a cell."""
    folder = home / "inputs" / "in"
    folder.mkdir(parents=True)
    rng = random.Random(0)
    edges = [(rng.randrange(60), rng.randrange(60)) for _ in range(200)]
    (folder / "e.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
    (folder / "n.csv").write_text("node,label,x\n" + "".join(f"{i},{'abc'[i % 3]},{i % 5}\n" for i in range(60)))
    part = np.tile(np.arange(60) % 3, (2, 1))
    parts = {"train_masks": part == 0, "val_masks": part == 1, "test_masks": part == 2}
    graph = {"node_features": np.eye(60), "node_labels": np.arange(60) % 3, "edges": np.array(edges)}
    np.savez(folder / "collection.npz", **graph, **parts)
    made = Trial(home, 0)
    for name in ("compare", "train"):
        code, said = made.run(COMMANDS[name].arguments)
        assert code == 0, said
    shutil.move(made.folder / "postel.sqlite", folder / "rows.sqlite")
    shutil.move(made.folder / "out" / "model", folder / "model")


def run(home: Path, rounds: int, names: list[str]) -> Faults:
    """All faults on these commands; signals come ``rounds`` times each, within the time that a command takes."""
    home.chmod(0o755)
    inputs(home)
    faults = Faults(home)
    for place, name in enumerate(names):
        command = COMMANDS[name]
        trial = faults.trial("no fault")
        begun = time.monotonic()
        code, said = trial.run(command.arguments, command.stub)
        seconds = time.monotonic() - begun
        faults.seconds[name] = round(seconds, 2)
        whole = trial.left()
        faults.check(code == 0, "no fault", name, code, said)
        faults.full_disk(name)
        faults.read_only(name)
        if name not in ("compare", "tune"):
            faults.small_disk(name)
        for _ in range(rounds):
            # A closed terminal takes the same way as SIGTERM: every third command is enough for it.
            for number in ENDING if place % 3 == 0 else ENDING[:2]:
                faults.signalled(name, number, seconds, whole)
            faults.killed(name, seconds, whole)
    return faults


def imported() -> None:
    """All that commands import while they run, so that a fork has it; without rights it could not read them."""
    import multiprocessing.pool  # noqa: F401

    import duckdb  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401
    import rich.progress  # noqa: F401

    import postel.cli.app
    import postel.cli.signals
    import postel.datasets.diagnosis
    import postel.datasets.sources.upstream
    import postel.experiments.comparison
    import postel.experiments.running.executor
    import postel.experiments.search.stored
    import postel.experiments.search.tune
    import postel.experiments.store.reader
    import postel.paper.running
    import postel.paper.target
    import postel.report.page
    import postel.scale.duckdb_engine
    import postel.scale.memory_engine  # noqa: F401


if __name__ == "__main__":
    imported()
    found = run(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(COMMANDS))
    print(json.dumps({"tried": found.tried, "wrong": found.wrong, "seconds": found.seconds}))
