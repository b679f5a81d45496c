from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from postel.cli.diagnose import diagnose
from postel.datasets import diagnose as diagnose_graph
from postel.datasets import load
from postel.errors import InputError

app = typer.Typer()
app.command()(diagnose)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"}, catch_exceptions=False)


def test_json_is_the_function_s_result():
    result = run("csbm-heterophilic", "--split", "3", "--protocol", "stratified", "--json")
    assert json.loads(result.stdout) == diagnose_graph("csbm-heterophilic", 3, "stratified").to_dict()


def test_the_tables_and_the_verdict_are_printed():
    result = run("karate")
    printed = " ".join(result.stdout.split())
    found = diagnose_graph("karate")
    assert f"{found.all_labels.edge_homophily:.3f}" in result.stdout
    assert f"{found.training.posterior_best_is_true:.2%}" in result.stdout
    for row in found.training.conditional:
        assert " ".join(f"{value:.2f}" for value in row) in printed
    assert found.verdict in result.stdout


def test_a_warning_goes_to_the_notes(data_root, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(load, "_warned", set())
    result = run("cornell", "--data-root", str(data_root), "--json", "--self-loops")
    assert "cornell-corrected" in result.stderr
    assert json.loads(result.stdout)["evaluation"]["absent_from_test"] == [1, 2]


def test_the_plot_is_written(tmp_path):
    result = run("karate", "--plot", str(tmp_path / "k.svg"))
    assert result.exit_code == 0 and (tmp_path / "k.svg").stat().st_size > 10_000


def test_bad_input_is_an_input_error():
    for arguments in (
        ["krate"],
        ["karate", "--protocol", "x"],
        ["karate", "--recipe", "x"],
        ["karate", "--split", "77"],
    ):
        with pytest.raises(InputError):
            run(*arguments)
