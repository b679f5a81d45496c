from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from postel.datasets.storage.graph_file import write_graph_file
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.datasets.synthetic import csbm
from postel.experiments.comparison import Comparison, comparison_specs, summarize
from postel.experiments.running.executor import run_all
from postel.experiments.spec import MethodSpec
from postel.report.comparison_page import comparison_part, conditional_of_all_labels, write_comparison


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    methods = [MethodSpec.parse(text) for text in ("one_hot", "sals", "postel:alpha=0.6,beta=0.1")]
    specs = comparison_specs("karate", methods, range(2), max_epochs=30, lr=0.05, pseudo_labels=1)
    return summarize(run_all(specs, workers=1))


def test_the_page_says_everything_and_needs_nothing_else(comparison: Comparison, tmp_path: Path) -> None:
    page = write_comparison(comparison, tmp_path / "page.html", command="postel compare <karate>").read_text()
    for line in comparison.methods:
        assert line.label in page
        assert f"{line.accuracy.mean:.1f} ± {line.accuracy.larger_side:.1f}" in page
    assert f"{comparison.majority.mean:.1f}" in page
    assert comparison.fingerprint in page
    assert "postel compare &lt;karate&gt;" in page
    assert page.count("data:image/svg+xml;base64,") == 3
    # Nothing is fetched when it is opened.
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", page)
    assert "<script" not in page
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_of_it(comparison: Comparison, tmp_path: Path, ending: str) -> None:
    content = write_comparison(comparison, tmp_path / f"page.{ending}").read_bytes()
    assert content.startswith(b"\x89PNG" if ending == "png" else b"<?xml")


def test_a_method_without_conditional_has_no_such_picture(comparison: Comparison) -> None:
    rows = [row for row in comparison.rows if row["spec"]["method"]["name"] != "postel"]
    assert len(comparison_part(summarize(rows)).pictures) == 2


def test_all_labels_give_a_proper_conditional(comparison: Comparison) -> None:
    matrix = conditional_of_all_labels(comparison)
    assert [sum(row) for row in matrix] == pytest.approx([1.0] * 4)
    assert matrix[0][0] > 0.5  # the karate club's factions keep to themselves


def test_nodes_without_a_label_are_in_no_one_s_way(tmp_path: Path) -> None:
    graph = csbm(120, num_classes=3, mean_degree=5, num_features=8, seed=3)
    y = graph.y.copy()
    y[::7] = UNLABELLED
    write_graph_file(tmp_path / "mine.npz", replace(graph, y=y))
    methods = [MethodSpec(name="one_hot"), MethodSpec(name="postel")]
    specs = comparison_specs(str(tmp_path / "mine.npz"), methods, [0], protocol="stratified", max_epochs=5)
    found = summarize(run_all(specs, workers=1))
    assert np.sum(conditional_of_all_labels(found)) == pytest.approx(3)
    assert write_comparison(found, tmp_path / "page.html").stat().st_size > 10_000


def test_another_ending_is_refused_and_nothing_is_left(comparison: Comparison, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in \.html, \.png or \.svg, got page\.docx"):
        write_comparison(comparison, tmp_path / "page.docx")
    assert list(tmp_path.iterdir()) == []
