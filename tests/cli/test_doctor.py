from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.commands import Here
from experiments.studies import made_up
from postel.cli.doctor import core_findings, store_finding
from postel.experiments.store import Store


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Here:
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path / "cache"))
    return Here(monkeypatch, capsys)


def found(done: Any) -> dict[str, dict[str, str]]:
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["works"] is True
    return {finding["name"]: finding for finding in told["findings"]}


def test_it_tells_what_is_there_and_what_to_do_about_the_rest(here: Here, tmp_path: Path) -> None:
    findings = found(here("doctor", "--json", cwd=tmp_path))
    assert findings["soft labels"]["state"] == "ok"
    assert findings["cli"]["said"].startswith("typer ")
    assert findings["at hand"]["said"] == "karate, csbm-homophilic, csbm-heterophilic, csbm-no-signal"
    assert "postel fetch cora" in findings["not at hand"]["todo"]
    assert findings["cache"]["said"].startswith(str(tmp_path / "cache"))
    assert findings["postel.sqlite"]["state"] == "lacking"
    assert list(tmp_path.iterdir()) == []  # nothing is made


def test_people_read_a_list_that_ends_with_the_verdict(here: Here, tmp_path: Path) -> None:
    done = here("doctor", cwd=tmp_path)
    assert done.returncode == 0
    for text in ("Core", "Extras", "Data", "Machine", "Store", "✓ torch", "→ postel fetch"):
        assert text in " ".join(done.stdout.split())
    assert done.stdout.rstrip().endswith("The core works.")


def test_a_data_file_that_is_wrong_is_told(here: Here, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "texas.npz").write_bytes(b"not a graph")
    findings = found(here("doctor", "--json", "--data-root", "data", cwd=tmp_path))
    assert findings["texas"]["state"] == "wrong" and "texas.npz" in findings["texas"]["said"]


def test_a_broken_core_is_exit_code_1(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)  # what an import of a missing package meets
    assert [finding.name for finding in core_findings() if finding.state == "wrong"] == ["scipy"]
    done = here("doctor", "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["works"] is False


def test_the_health_of_a_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    store.add(made_up("a"))
    whole = store_finding(store.path)
    assert whole.state == "ok" and whole.said.startswith("1 runs, 0 cells, 0 failures")

    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    assert store_finding(tmp_path / "other.sqlite").said == "is no store of postel's"

    (tmp_path / "text.sqlite").write_text("no database at all, only words that go on for a while")
    assert store_finding(tmp_path / "text.sqlite").state == "wrong"

    content = store.path.read_bytes()
    (tmp_path / "damaged.sqlite").write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    assert store_finding(tmp_path / "damaged.sqlite").state == "wrong"
