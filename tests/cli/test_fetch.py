from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from postel.cli.fetch import fetch
from postel.datasets.catalog import CATALOG, PAPER_DATASETS
from postel.errors import InputError

app = typer.Typer()
app.command()(fetch)


@pytest.fixture(autouse=True)
def no_network(tmp_path, monkeypatch):
    monkeypatch.delenv("POSTEL_DATA", raising=False)
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")


def run(*arguments):
    # An input that is closed: whoever asks a question fails.
    return CliRunner().invoke(app, list(arguments), input="")


def test_paper_stands_for_the_ten(data_root):
    result = run("paper", "--data-root", str(data_root), "--json")
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == list(PAPER_DATASETS)
    assert all(row["fingerprint"] == CATALOG[row["name"]].fingerprint for row in rows)
    assert all(row["from"] == f"data root {data_root}" for row in rows)


def test_one_failure_does_not_keep_the_others_back():
    result = run("texas", "karate", "KARATE")
    assert isinstance(result.exception, InputError)
    assert "texas could not be had" in str(result.exception) and "POSTEL_DATA" in str(result.exception)
    assert result.stdout.count("karate") == 1 and "embedded" in result.stdout


def test_an_unknown_name_stops_before_anything_is_fetched():
    result = run("karate", "karat")
    assert isinstance(result.exception, InputError) and "did you mean karate" in str(result.exception)
    assert result.stdout == ""
