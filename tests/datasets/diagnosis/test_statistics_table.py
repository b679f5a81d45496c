from __future__ import annotations

import re

import pytest

from postel.datasets.catalog import CATALOG, PAPER_DATASETS
from postel.datasets.diagnosis.statistics_table import statistics_table

# The paper's table, once more: nodes, edges, features, classes.
PAPER = """
Cora 2,708 5,278 1,433 7
CiteSeer 3,327 4,552 3,703 6
PubMed 19,717 44,324 500 3
Computers 13,752 245,861 767 10
Photo 7,650 119,081 745 8
Chameleon 2,277 31,396 2,325 5
Actor 7,600 30,019 932 5
Squirrel 5,201 198,423 2,089 5
Texas 183 287 1,703 5
Cornell 183 277 1,703 5
"""


def test_all_ten_datasets_agree_with_the_paper(data_root):
    rows = {row.name: row for row in statistics_table(list(PAPER_DATASETS), data_root=data_root)}
    assert len(rows) == 10
    for line in PAPER.strip().splitlines():
        name, *figures = re.sub(",", "", line).split()
        row = rows[name.lower()]
        assert [row.nodes, row.edges, row.features, row.classes] == [int(figure) for figure in figures]
        assert row.agrees
        assert row.fingerprint == CATALOG[row.name].fingerprint


def test_no_single_convention_fits_all(data_root):
    rows = {row.name: row.counting for row in statistics_table(list(PAPER_DATASETS), data_root=data_root)}
    assert [name for name, way in rows.items() if way == "half"] == ["chameleon", "squirrel", "texas"]
    assert [name for name, way in rows.items() if way == "entries"] == ["actor"]


@pytest.mark.usefixtures("cache", "dead_network")
def test_what_is_not_at_hand_is_said_without_asking_the_network():
    rows = {row.name: row for row in statistics_table()}
    assert set(rows) == set(CATALOG)
    assert (
        rows["cora"].nodes is None and "could not be had" in rows["cora"].missing and rows["cora"].agrees is None
    )
    assert not rows["cora"].broken and rows["karate"].nodes == 34


def test_a_broken_file_is_told_from_a_missing_one(cache):
    cache.mkdir()
    (cache / "cora.npz").write_bytes(b"cut")
    (row,) = statistics_table(["cora"])
    assert row.broken and "cut short" in row.missing


def test_a_raw_folder_of_ogb_is_not_prepared_for_a_table(cache, tmp_path):
    (tmp_path / "ogbn_products" / "raw").mkdir(parents=True)
    (row,) = statistics_table(["ogbn-products"], data_root=tmp_path)
    assert row.nodes is None and not row.broken
