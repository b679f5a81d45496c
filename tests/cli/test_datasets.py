from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from postel.cli.datasets import datasets

app = typer.Typer()
app.command()(datasets)


def test_the_table_has_the_paper_s_figures_beside_the_data_s(data_root):
    result = CliRunner().invoke(
        app, ["--data-root", str(data_root)], env={"COLUMNS": "160"}, catch_exceptions=False
    )
    assert result.exit_code == 0
    (squirrel,) = [line for line in result.stdout.splitlines() if line.startswith("squirrel ")]
    assert (
        "198,423" in squirrel
        and "half" in squirrel
        and squirrel.count("5,201/198,423/2,089/5") == 2
        and "= " in squirrel
    )
    assert "half: half the entries of the symmetric graph" in result.stdout
    assert "≠" not in result.stdout
    assert "cornell-corrected has Cornell's own" in result.stdout


def test_json_is_for_machines(data_root):
    result = CliRunner().invoke(app, ["--data-root", str(data_root), "--json"], catch_exceptions=False)
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert rows["actor"]["edges"] == rows["actor"]["paper"]["edges"] == 30019
    assert rows["actor"]["agrees"] is True and rows["actor"]["counting"] == "entries"


def test_what_lacks_is_named_with_the_command_that_gets_it(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("POSTEL_DATA", raising=False)
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path))
    (tmp_path / "texas.npz").write_bytes(b"cut")
    result = CliRunner().invoke(app, [], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0
    assert "Run: postel fetch cora citeseer" in result.stderr
    assert "texas.npz is cut short" in result.stderr
    assert "34" in result.stdout
