from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import Here
from postel.experiments.store import Store
from report.samples import SIX, cell


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder with a store of six cells."""
    store = Store(tmp_path / "postel.sqlite")
    for method in SIX:
        made = cell("texas", "gcn", method, splits=range(3))
        for row in made.rows:
            store.add(row)
        store.add_cell(made)
    return tmp_path


def test_a_store_becomes_one_page(here: Here, filled: Path) -> None:
    done = here("report", cwd=filled)
    assert done.returncode == 0, done.stderr
    assert "18 runs, 6 cells, 1 dataset, 1 backbone, 6 methods is in report.html" in done.stdout
    page = (filled / "report.html").read_text()
    assert "<h1>Soft labels: report of a study</h1>" in page
    assert "<code>postel report</code>" in page


def test_machines_are_told_how_much_there_is(here: Here, filled: Path) -> None:
    (filled / "paper").mkdir()
    (filled / "paper" / "figure-toy.svg").write_text("<svg/>")
    done = here("report", "--figures", "paper", "--out", "out/page.html", "--json", cwd=filled)
    assert done.returncode == 0, done.stderr
    told = {"out": "out/page.html", "runs": 18, "cells": 6, "trials": 0, "failures": 0, "figures": 1}
    assert json.loads(done.stdout) == told
    assert (filled / "out" / "page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--store", "absent.sqlite"), "there is no store absent.sqlite"),
        (("--out", "report.pdf"), "ends in .html, got report.pdf"),
        (("--figures", "absent"), "absent is no folder"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    here: Here, filled: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = here("report", *arguments, cwd=filled)
    assert done.returncode == 2
    assert sentence in done.stderr and "Traceback" not in done.stderr
    assert not list(filled.glob("*.html")) and not (filled / "absent.sqlite").exists()
