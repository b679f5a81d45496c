"""``postel smooth`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from postel.cli.smooth import smooth
from postel.errors import InputError

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(smooth)


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """Edges and labels in CSV files, and where the output goes, as arguments."""
    (tmp_path / "edges.csv").write_text("u\tv\n0\t1\n0\t2\n")
    (tmp_path / "train.csv").write_text("id\ty\n0\t0\n1\t1\n")
    return [
        *("--edges", str(tmp_path / "edges.csv"), "--labels", str(tmp_path / "train.csv")),
        *("--source", "u", "--target", "v", "--node", "id", "--label", "y", "--separator", "\t"),
        *("--out", str(tmp_path / "soft.parquet"), "--undirected"),
    ]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_the_command_writes_soft_labels(engine: str, tables: list[str], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    extra = ["--alpha", "0.5", "--beta", "0.5", "--nodes", "all", "--json", "--tables", "--engine", engine]
    told = CliRunner().invoke(app, tables + extra, catch_exceptions=False)
    made = json.loads(told.stdout)
    assert told.exit_code == 0 and made["engine"] == engine and made["nodes"] == 3
    rows = pq.read_table(tmp_path / "soft.parquet").to_pydict()
    assert rows["node"] == [0, 1, 2]
    assert rows["soft_label"][0] == pytest.approx([11 / 12, 1 / 12])
    assert json.loads((tmp_path / "soft.json").read_text())["prior"] == [0.5, 0.5]


def test_the_command_says_what_it_chose_and_did(tables: list[str]) -> None:
    told = CliRunner().invoke(app, tables, catch_exceptions=False)
    assert "2 soft labels over 2 classes, from 2 labelled nodes" in told.stdout and "on memory" in told.stdout
    assert "engine memory, because" in told.stderr
    assert "Example:" in CliRunner().invoke(app, ["--help"]).stdout


def test_bad_input_is_one_sentence(tables: list[str]) -> None:
    for extra, words in ((["--alpha", "2"], "alpha must lie"), (["--spark-conf", "a"], "takes NAME=VALUE")):
        with pytest.raises(InputError, match=words):
            CliRunner().invoke(app, tables + extra, catch_exceptions=False)
