from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from postel.cli.convert import convert
from postel.datasets import load_dataset
from postel.errors import InputError

pytest.importorskip("pyarrow")
app = typer.Typer()
app.command()(convert)


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "n.csv").write_text("node,topic,w\n1,x,1\n2,y,0\n3,x,1\n")
    (tmp_path / "e.csv").write_text("source,target\n1,2\n2,3\n")
    return [str(tmp_path / name) for name in ("e.csv", "n.csv", "g.npz")]


def test_the_file_that_is_written_loads(paths):
    result = CliRunner().invoke(app, [*paths, "--label", "topic"], catch_exceptions=False)
    assert result.exit_code == 0 and "3 nodes, 4 entries (both ways), 1 features, classes x, y" in result.stdout
    assert load_dataset(paths[2], None).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_json_has_the_fingerprint(paths):
    result = CliRunner().invoke(app, [*paths, "--label", "topic", "--directed", "--json"], catch_exceptions=False)
    summary = json.loads(result.stdout)
    assert summary["edge_entries"] == 2 and summary["classes"] == ["x", "y"] and summary["unlabelled_nodes"] == 0
    assert summary["fingerprint"] == load_dataset(paths[2], None).fingerprint


def test_a_wrong_column_is_bad_input(paths):
    result = CliRunner().invoke(app, paths)
    assert isinstance(result.exception, InputError) and "lacks the column 'label'" in str(result.exception)
