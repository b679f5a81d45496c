from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from postel.cli.convert import convert
from postel.datasets import load_dataset
from postel.datasets.storage.stored_graph import PARTS
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
    result = CliRunner().invoke(app, [*paths, "--label", "topic", "--undirected"], catch_exceptions=False)
    assert result.exit_code == 0 and "3 nodes, 4 entries (both ways), 1 features, classes x, y" in result.stdout
    assert load_dataset(paths[2], None).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_links_stay_as_listed_by_default_and_that_is_told(paths):
    result = CliRunner().invoke(app, [*paths, "--label", "topic"], catch_exceptions=False)
    assert "3 nodes, 2 entries (2 of them one way)" in result.stdout
    assert "convert again with --undirected" in result.stderr
    assert load_dataset(paths[2], None).edge_index.tolist() == [[0, 1], [1, 2]]


def test_json_has_the_fingerprint(paths):
    result = CliRunner().invoke(app, [*paths, "--label", "topic", "--directed", "--json"], catch_exceptions=False)
    summary = json.loads(result.stdout)
    assert summary["edge_entries"] == 2 and summary["classes"] == ["x", "y"] and summary["unlabelled_nodes"] == 0
    assert summary["fingerprint"] == load_dataset(paths[2], None).fingerprint


def test_a_wrong_column_is_bad_input(paths):
    result = CliRunner().invoke(app, paths)
    assert isinstance(result.exception, InputError) and "lacks the column 'label'" in str(result.exception)


def test_a_collection_is_converted_with_all_its_splits(paths, tmp_path):
    arrays = {"node_features": np.eye(6), "node_labels": np.arange(6) % 2, "edges": np.array([[0, 1], [2, 3]])}
    masks = {f"{part}_masks": np.tile(np.arange(6) % 3 == k, (4, 1)) for k, part in enumerate(PARTS)}
    np.savez(tmp_path / "c.npz", **arrays, **masks)
    result = CliRunner().invoke(app, [str(tmp_path / "c.npz"), paths[2]], catch_exceptions=False)
    assert result.exit_code == 0 and "classes 0, 1, 4 splits (--protocol public)" in result.stdout
    assert load_dataset(paths[2], 3, "public").train_mask.tolist() == [True, False, False] * 2


def test_too_few_files_are_told(paths):
    for given in (paths[:1], paths[:2], [*paths, "more.npz"]):
        result = CliRunner().invoke(app, given)
        assert isinstance(result.exception, InputError) and "give an edge list, a node table" in str(
            result.exception
        )


def test_separator_and_splits_are_options(tmp_path):
    (tmp_path / "n.txt").write_text("node|label\n1|x\n2|y\n")
    (tmp_path / "e.txt").write_text("source|target\n1|2\n")
    (tmp_path / "s.txt").write_text("node|split0|split1\n1|train|val\n2|val|train\n")
    names = [str(tmp_path / name) for name in ("e.txt", "n.txt", "g.npz")]
    options = ["--separator", "|", "--split-table", str(tmp_path / "s.txt"), "--json"]
    result = CliRunner().invoke(app, [*names, *options], catch_exceptions=False)
    assert json.loads(result.stdout)["splits"] == {"public": 2}
