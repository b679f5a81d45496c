"""One search by two machines that share nothing but a PostgreSQL database of trials."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest

from experiments.studies import start
from postel.experiments.store import Store
from support import lacking


def unprivileged() -> None:
    if os.geteuid() == 0:  # PostgreSQL refuses to be run by root
        os.setgid(65534)
        os.setuid(65534)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of an empty database, reached through a socket in a folder of its own."""
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        lacking("postgres", "PostgreSQL's initdb and pg_ctl are not installed")
    pytest.importorskip("psycopg2")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o777)
    data = folder / "data"

    def run(*command: str) -> None:
        subprocess.run(command, preexec_fn=unprivileged, cwd=folder, stdout=subprocess.DEVNULL, check=True)

    run("initdb", "-D", str(data), "-U", "postel", "-A", "trust", "--no-sync")
    options = f"-k {folder} -c listen_addresses= -c fsync=off"
    run("pg_ctl", "-D", str(data), "-l", str(folder / "log"), "-o", options, "-w", "start")
    try:
        yield f"postgresql+psycopg2://postel@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def test_two_machines_share_a_search(database: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    machines = [start("search", str(folder), database) for folder in folders]
    assert [machine.wait(200) for machine in machines] == [0, 0]
    stores = [Store(folder / "rows.sqlite") for folder in folders]
    (one,), (two,) = (store.cells() for store in stores)
    assert one == two  # both choose the same of all trials, whoever ran them
    assert [len(store.rows(one["run_keys"])) for store in stores] == [4, 4]
    (summary,) = optuna.get_all_study_summaries(database)
    study = optuna.load_study(study_name=summary.study_name, storage=database)
    trials = [trial for trial in study.trials if not trial.user_attrs.get("void")]
    assert len(trials) == one["budget"]["trials"] == 10
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == 10
