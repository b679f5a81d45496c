"""Rates of epochs: measured once for a machine, kept in the cache, never in the way of a plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from postel.experiments import rates
from postel.experiments.rates import EpochRates


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Nodes and backbones that were measured, each taken to have a millisecond a node."""
    calls: list[tuple[int, str]] = []

    def measure(graph, backbone):
        calls.append((graph.graph.num_nodes, backbone))
        return graph.graph.num_nodes / 1000

    monkeypatch.setattr(rates, "measure_epoch", measure)
    return calls


def test_a_pair_is_measured_once_for_a_machine(tmp_path, measured, monkeypatch):
    path, asked = tmp_path / "deep" / "rates.json", []
    of = EpochRates(path=path, on_measure=lambda *pair: asked.append(pair))
    assert of("karate", "gcn").seconds == 0.034 and of("karate", "gcn") == EpochRates(path=path)("karate", "gcn")
    of("karate", "mlp")
    assert measured == [(34, "gcn"), (34, "mlp")] and asked == [("karate", "gcn"), ("karate", "mlp")]
    assert of("karate", "gcn").stand_in is False and len(of("karate", "gcn").day) == 10
    monkeypatch.setattr(rates, "machine", lambda: "another")
    EpochRates(path=path)("karate", "gcn")
    assert len(measured) == 3 and len(json.loads(path.read_text())) == 2


def test_a_dataset_that_is_not_at_hand_has_a_stand_in_of_its_size(tmp_path, measured, monkeypatch):
    monkeypatch.delenv("POSTEL_DATA", raising=False)
    monkeypatch.setenv("POSTEL_CACHE", str(tmp_path))
    of = EpochRates()
    assert of("texas", "gcn").stand_in and measured == [(183, "gcn")]
    assert of.path == tmp_path / "epoch-rates.json"
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-rates.json"]  # nothing was fetched


def test_a_dataset_at_hand_is_measured_itself(tmp_path, measured, data_root):
    assert not EpochRates(str(data_root), path=tmp_path / "rates.json")("texas", "gcn").stand_in


@pytest.mark.parametrize("text", ["not JSON", "[]"])
def test_a_file_that_is_damaged_or_cannot_be_written_is_no_error(tmp_path, measured, text):
    path = tmp_path / "rates.json"
    path.write_text(text)
    assert EpochRates(path=path)("karate", "gcn").seconds == 0.034
    assert json.loads(path.read_text())
    assert EpochRates(path=Path("/proc/none/rates.json"))("karate", "gcn").seconds == 0.034


def test_a_measurement_leaves_the_threads_as_they_were(tmp_path):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert 0 < EpochRates(path=tmp_path / "rates.json")("karate", "gcn").seconds < 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
