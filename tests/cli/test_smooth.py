"""``postel smooth`` as a user calls it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from postel.cli.smooth import smooth
from postel.errors import InputError
from postel.scale import smooth_tables

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


def test_the_calibrated_posterior_tells_its_exponents(tables: list[str], tmp_path: Path) -> None:
    extra = ["--method", "calibrated", "--calibration", "none", "--nodes", "all", "--engine", "memory"]
    told = CliRunner().invoke(app, tables + extra, catch_exceptions=False)
    assert "exponents, which say how much neighbors tell: prior 1, total 1, mean 0" in told.stdout
    rows = pq.read_table(tmp_path / "soft.parquet").to_pydict()
    assert rows["node"] == [0, 1, 2]
    # The graph of the doctest of calibrated_soft_labels.
    assert rows["soft_label"] == [pytest.approx(row) for row in ([0.625, 0.375], [0.375, 0.625], [0.25, 0.75])]
    made = json.loads(CliRunner().invoke(app, [*tables, *extra, "--json", "--overwrite"]).stdout)
    assert made["exponents"] == {"prior": 1.0, "total": 1.0, "mean": 0.0}


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--method", "calibrated", "--beta", "0.1"], "--beta is no option of --method calibrated"),
        (["--calibration", "none"], "--calibration is no option of --method postel"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(extra: list[str], words: str, tables: list[str]) -> None:
    with pytest.raises(InputError, match=words):
        CliRunner().invoke(app, tables + extra, catch_exceptions=False)


def test_bad_input_is_one_sentence(tables: list[str]) -> None:
    for extra, words in ((["--alpha", "2"], "alpha must lie"), (["--spark-conf", "a"], "takes NAME=VALUE")):
        with pytest.raises(InputError, match=words):
            CliRunner().invoke(app, tables + extra, catch_exceptions=False)


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "tsv.gz", "txt.gz"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_tables_name_tells_its_separator_as_in_convert(ending: str, engine: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    between = "," if ending == "csv" else "\t"
    for name, lines in (("edges", ["source,target", "0,1", "0,2"]), ("train", ["node,label", "0,0", "1,1"])):
        text = "\n".join(lines).replace(",", between) + "\n"
        content = gzip.compress(text.encode()) if ending.endswith("gz") else text.encode()
        (tmp_path / f"{name}.{ending}").write_bytes(content)
    files = ["--edges", str(tmp_path / f"edges.{ending}"), "--labels", str(tmp_path / f"train.{ending}")]
    out = ["--out", str(tmp_path / "soft.parquet"), "--undirected", "--nodes", "all", "--engine", engine, "--json"]
    told = CliRunner().invoke(app, files + out, catch_exceptions=False)
    assert told.exit_code == 0 and json.loads(told.stdout)["nodes"] == 3, told.output


def test_a_folder_of_commas_and_tabs_asks_for_the_separator(tmp_path: Path) -> None:
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "a.csv").write_text("source,target\n0,1\n")
    (tmp_path / "edges" / "b.tsv").write_text("source\ttarget\n0\t2\n")
    (tmp_path / "train.csv").write_text("node,label\n0,0\n1,1\n")
    with pytest.raises(InputError, match=r"files with commas and with tabs: set separator \(--separator\)"):
        smooth_tables(tmp_path / "edges", tmp_path / "train.csv", tmp_path / "soft.parquet")
