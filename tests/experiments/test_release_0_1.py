"""What version 0.1 wrote still opens: a folder of results, and stores of both schemas."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path

import pytest

from postel.experiments.budget import Budget
from postel.experiments.results import Question
from postel.experiments.spec import MethodSpec
from postel.experiments.store import Store
from postel.experiments.store.folder import read_archive
from postel.experiments.store.reader import Reader, read_study
from postel.report.page import Page

FOLDER = Path(__file__).with_name("release_0_1")

# As version 0.1 made its files, in its two schemas.
FIRST = ("CREATE TABLE runs (key TEXT PRIMARY KEY, row BLOB NOT NULL)",)
SECOND = (
    "CREATE TABLE failures (key TEXT PRIMARY KEY, at REAL NOT NULL, failure TEXT NOT NULL)",
    "CREATE TABLE cells (key TEXT PRIMARY KEY, cell TEXT NOT NULL)",
    "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL)",
)


def stored_cells() -> list[dict]:
    return json.loads((FOLDER / "cells.json").read_text())


@pytest.mark.parametrize("schema", [1, 2])
def test_a_store_opens_with_all_it_holds(schema: int, tmp_path: Path) -> None:
    archive, path = read_archive(FOLDER), tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    for statement in (*FIRST, *(SECOND if schema == 2 else ())):
        connection.execute(statement)
    for row in archive.all_rows():
        blob = zlib.compress(json.dumps(row.as_dict()).encode(), 1)
        connection.execute("INSERT INTO runs VALUES (?, ?)", (row.key, blob))
    for cell in stored_cells() if schema == 2 else ():
        connection.execute("INSERT INTO cells VALUES (?, ?)", (cell["key"], json.dumps(cell)))
    connection.execute(f"PRAGMA user_version={schema}")
    connection.commit()
    connection.close()
    store = Store(path)
    assert len(store) == 31 and len(store.cells()) == (4 if schema == 2 else 0)
    study = read_study(path)
    assert len(study.rows) == 31 and sum(len(cell.rows) for cell in study.cells) == 31


def test_a_folder_answers_what_was_asked_of_it() -> None:
    reader = Reader(read_archive(FOLDER))
    assert [cell.as_dict() for cell in reader.cells] == stored_cells()
    postel = Question("texas", "gcn", MethodSpec(name="postel"), pseudo_labels=True)
    cell = reader.answer(postel)
    assert cell is not None and len(cell.rows) == 10 and cell.question.budget is not None
    assert cell.question.budget.kind == "trials" and cell.spent.trials > 8 and cell.spent.rungs == ()
    assert cell.rows[0].result.val_loss_scaled is None  # version 0.1 did not measure it
    one_hot = reader.answer(Question("texas", "gcn", MethodSpec(name="one_hot"), budget=Budget("trials", 16)))
    assert one_hot is None or one_hot.allowance == cell.allowance
    assert reader.answer(Question("texas", "gcn", MethodSpec(name="postel"), pseudo_labels=1)) is None


def test_a_page_shows_it() -> None:
    page = Page(read_study(FOLDER))
    assert [line.variant.label for line in page.lines].count("PosteL") >= 1
    assert "Main table" in page.html()
