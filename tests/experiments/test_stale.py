"""What decides a run is in its key: a changed file is never answered with rows of the old one."""

from __future__ import annotations

from pathlib import Path

import torch

from postel.datasets.storage.graph_file import read_graph_file, write_graph_file
from postel.datasets.storage.stored_graph import StoredGraph
from postel.experiments.comparison import comparison_specs
from postel.experiments.graphs import graph_of
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec
from postel.experiments.store import Store

METHOD = [MethodSpec(name="one_hot")]


def own_file(path: Path, shift: int) -> None:
    """A copy of karate whose public split begins ``shift`` nodes later."""
    graph = graph_of("karate")
    part = (torch.arange(graph.num_nodes) + shift) % 3
    masks = torch.stack([part == number for number in range(3)])[:, None].numpy()
    stored = StoredGraph.checked(graph.x, graph.edge_index, graph.y, {"public": masks}, graph.class_names)
    write_graph_file(path, stored)


def test_a_changed_split_of_a_file_is_run_anew(tmp_path: Path) -> None:
    path, store = tmp_path / "own.npz", Store(tmp_path / "rows.sqlite")
    keys = []
    for shift in (0, 1):
        own_file(path, shift)
        specs = comparison_specs(str(path), METHOD, range(1), protocol="public", max_epochs=5)
        (row,) = run_all(specs, workers=1, store=store)
        keys.append(row.key)
    assert len(set(keys)) == 2 and len(store) == 2


def test_only_splits_that_are_read_from_the_file_are_in_the_key(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    keys = set()
    for shift in (0, 1):
        own_file(path, shift)
        (spec,) = comparison_specs(str(path), METHOD, range(1), protocol="paper", max_epochs=5)
        assert spec.fingerprint == read_graph_file(path).fingerprint()
        keys.add(spec.key)
    assert len(keys) == 1
