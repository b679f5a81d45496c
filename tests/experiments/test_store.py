from __future__ import annotations

import csv
import json
import multiprocessing
import os
import resource
import sqlite3
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from experiments.studies import as_nobody, in_a_child, made_up, tiny_specs
from postel.experiments.results import cells_of_rows
from postel.experiments.running.execute import execute
from postel.experiments.running.executor import run_all
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store


def test_rows_are_kept_and_the_first_of_a_key_stays(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.sqlite"
    Store(path).add(made_up("a", 1))
    store = Store(path)
    store.add(made_up("a", 2))
    store.add(made_up("b", 3))
    assert len(store) == 2
    assert {key: row.made_by["note"] for key, row in store.get(["b", "a", "c"]).items()} == {"b": "3", "a": "1"}


def _write(path: str, first: int) -> None:
    store = Store(path)
    for number in range(first, first + 200):
        store.add(made_up(str(number % 250), number % 250))


def test_writers_in_several_processes_lose_and_repeat_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.sqlite")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, first)) for first in (0, 50)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    rows = Store(path).get(map(str, range(250)))
    assert {key: row.made_by["note"] for key, row in rows.items()} == {str(n): str(n) for n in range(250)}


def test_another_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes " * 200)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot be used as a store"):
        Store(path)
    assert path.read_bytes() == before


def test_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    Store(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(ValueError, match="another version of postel"):
        Store(path)


@pytest.mark.skipif(os.geteuid() != 0 and not Path("/proc").exists(), reason="needs /proc")
def test_a_folder_that_cannot_be_written_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="cannot be used as a store"):
        Store("/proc/no/rows.sqlite")


def test_a_file_of_the_first_schema_is_opened_and_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE runs (key TEXT PRIMARY KEY, row BLOB NOT NULL)")
        connection.execute("PRAGMA user_version=1")
        row = zlib.compress(json.dumps(made_up("a").as_dict()).encode())
        connection.execute("INSERT INTO runs VALUES ('a', ?)", (row,))
    connection.close()
    store = Store(path)
    assert store.all_rows() == [made_up("a")]
    assert store.failures() == [] and store.cells() == []
    store.add(made_up("b"))
    assert [row.key for row in Store(path).rows(["b", "c", "a"])] == ["b", "a"]


def test_failures_are_kept_until_the_run_succeeds(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    spec = tiny_specs(1)[0]
    store.add_failure(spec, "first")
    store.add_failure(spec, "second")
    (failure,) = store.failures()
    assert (failure.key, failure.traceback) == (spec.key, "second")
    assert failure.spec == spec and failure.made_by["torch"]
    store.add(made_up(spec.key))
    assert store.failures() == []


def test_the_last_cell_of_a_key_stays(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    (cell,) = cells_of_rows([made_up("a")])
    for key, failed in (("a", 1), ("b", 0), ("a", 2)):
        store.add_cell(replace(cell, key=key, failed=failed))
    assert {found.key: found.failed for found in store.cells()} == {"a": 2, "b": 0}


def test_rows_are_exported_as_flat_lines(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    rows = [execute(spec) for spec in tiny_specs(1)]
    for row in rows:
        store.add(row)
    assert store.export(tmp_path / "rows.csv") == store.export(tmp_path / "rows.parquet") == len(rows)
    with (tmp_path / "rows.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    table = pyarrow.parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    for row, line, entry in zip(rows, lines, table, strict=True):
        assert set(line) == set(entry)
        assert entry["test_accuracy"] == row.result.test.accuracy == float(line["test_accuracy"])
        assert entry["seconds"] == row.result.seconds
        assert (entry["method"], json.loads(entry["method_params"])) == (
            row.spec.method.name,
            row.spec.method.params,
        )
        assert entry["torch"] == row.made_by["torch"] and entry["host"] == row.made_by["host"]
        metrics = row.result.val.as_dict()
        # A device or batch size that is the default leaves a spec's values, and with them a row's.
        fields = set(row.spec.model_dump()) | {f"{part}_{name}" for part in ("val", "test") for name in metrics}
        assert set(RunSpec.model_fields) - fields == {"device", "batch_size"}
        assert fields <= set(entry)
    assert [line["pseudo_labels"] for line in lines] == ["no", "no", "yes"]
    with pytest.raises(ValueError, match=r"ends in \.csv or \.parquet"):
        store.export(tmp_path / "rows.xlsx")


def test_a_read_only_store_is_read_and_takes_nothing(open_folder: Path) -> None:
    path = open_folder / "rows.sqlite"
    Store(path).add(made_up("a"))
    path.chmod(0o444)
    open_folder.chmod(0o555)
    before = path.read_bytes()

    def read() -> None:
        assert Store(path).all_rows() == [made_up("a")] and len(Store(path)) == 1

    assert as_nobody(read) == "nothing was raised"
    said = as_nobody(lambda: Store(path).add(made_up("b")))
    assert (
        said.startswith("InputError: ") and "takes no more results: attempt to write a readonly database" in said
    )
    said = as_nobody(lambda: run_all(tiny_specs(1), workers=1, store=Store(path)))
    assert said.startswith("InputError: ") and "takes no more results" in said
    said = as_nobody(lambda: Store(open_folder / "other.sqlite"))
    assert said.startswith("InputError: ") and "cannot be used as a store" in said
    assert path.read_bytes() == before
    open_folder.chmod(0o755)


def test_a_full_disk_is_a_sentence_and_leaves_the_store_whole(tmp_path: Path) -> None:
    """Files of the process may not grow beyond a limit: SQLite's writes fail as they do on a full disk."""
    path = tmp_path / "rows.sqlite"
    Store(path).add(made_up("a"))

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        store = Store(path)
        with store.kept_open():
            for number in range(1000):
                store.add(made_up(str(number), os.urandom(5_000).hex()))

    said = in_a_child(fill)
    assert said.startswith("InputError: ") and "takes no more results" in said and "\n" not in said
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    store = Store(path)
    kept = store.all_rows()
    assert kept[0] == made_up("a") and len(kept) > 5
    assert [row.key for row in kept[1:]] == [str(number) for number in range(len(kept) - 1)]
    store.add(made_up("there is room again"))
    assert len(store) == len(kept) + 1


def test_sqlite_says_that_the_disk_is_full(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    opened = store._opened

    def small(*, read_only: bool = False) -> sqlite3.Connection:
        connection = opened(read_only=read_only)
        connection.execute("PRAGMA max_page_count=20")
        return connection

    store._opened = small  # type: ignore[method-assign]

    def fill() -> None:
        for number in range(100):
            store.add(made_up(str(number), os.urandom(5_000).hex()))

    with pytest.raises(ValueError, match="takes no more results: database or disk is full"):
        fill()
    assert 0 < len(store) < 20


def test_a_study_that_ended_is_one_file_with_everything(tmp_path: Path) -> None:
    path, copy = tmp_path / "rows.sqlite", tmp_path / "copy.sqlite"
    rows = run_all(tiny_specs(1), workers=1, store=Store(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.sqlite"]
    copy.write_bytes(path.read_bytes())
    assert len(Store(copy)) == len(rows) == 3
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["copy.sqlite", "rows.sqlite"]


def test_what_a_killed_study_left_in_the_log_is_folded_by_the_next_command(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"

    def killed() -> None:
        store = Store(path)
        with store.kept_open():
            store.add(made_up("a"))
            os._exit(9)

    in_a_child(killed)
    assert path.with_name("rows.sqlite-wal").stat().st_size > 0
    assert Store(path).keys() == ["a"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.sqlite"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zlib",
        zlib.compress(b'{"key": "a"')[:-3],
        zlib.compress(b"no json"),
        zlib.compress(b'{"key": "b"}'),
        zlib.compress(b"[1, 2]"),
        zlib.compress(b'{"key": "a", "x": "' + b"0" * (64 << 20) + b'"}', 9),
        zlib.compress(b"[" * 100_000),
        7,
    ],
)
def test_a_damaged_row_is_a_sentence(content: object, tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    with store.writing() as connection:
        connection.execute("INSERT INTO runs VALUES ('a', ?)", (content,))
    for read in (store.all_rows, lambda: store.get(["a"])):
        with pytest.raises(ValueError, match=r"rows\.sqlite is damaged in the run a: .*\.recover"):
            read()


def test_a_damaged_cell_is_a_sentence(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows.sqlite")
    for text in ("{", "[]", '{"name": 1}'):
        with store.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO cells VALUES ('a', ?)", (text,))
        with pytest.raises(ValueError, match="is damaged in a cell or failure"):
            store.cells()
