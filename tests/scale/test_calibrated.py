"""Calibrated posteriors from tables: the numbers of the transform on every engine."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from postel.labels import KnownLabels
from postel.scale import smooth_tables
from postel.settings import CalibratedSettings
from postel.smoothers import calibrated_soft_labels
from postel.smoothers.calibrated import CalibratedPosteL
from scale.test_contract import Case, run

CASES: dict[str, dict[str, Any]] = {
    "directed": {},
    "undirected, strings": {"text_ids": True, "text_labels": True, "form": "csv", "parts": 4, "undirected": True},
    "pseudo-labels": {"pseudo": True, "undirected": True, "alpha": 1.0},
    "pseudo-labels, directed, pairs around training nodes": {"pseudo": True, "centers": "train"},
    "all nodes": {"nodes": "all", "pseudo": True, "undirected": True, "num_classes": 6},
    "all nodes, directed": {"nodes": "all", "pseudo": True, "calibration": "temperature", "text_ids": True},
    "all nodes, pairs around training nodes": {"nodes": "all", "pseudo": True, "centers": "train", "parts": 3},
    "own label not left out": {"leave_one_out": False, "calibration": "none", "undirected": True},
}
FILES = ("text_ids", "text_labels", "form", "parts", "pseudo", "undirected", "nodes")


def split_up(case: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What concerns the files, and what concerns the method."""
    return ({k: v for k, v in case.items() if k in FILES}, {k: v for k, v in case.items() if k not in FILES})


def expected(case: Case, files: dict[str, Any], method: dict[str, Any]) -> tuple[dict[int, np.ndarray], Any]:
    """Soft labels by place and the exponents, by the in-memory method."""
    edges = np.stack([case.source, case.target])
    if files.get("undirected"):
        back = edges[::-1]
        edges = np.concatenate([edges, back[:, back[0] != back[1]]], axis=1)
    number = method.get("num_classes") or case.k
    known = KnownLabels.from_index(
        torch.from_numpy(case.train),
        torch.from_numpy(case.y[case.train]),
        num_nodes=case.ids.size,
        num_classes=number,
    )
    if files.get("pseudo"):
        known = known.with_pseudo(torch.from_numpy(case.pseudo), torch.from_numpy(case.y[case.pseudo]))
    entries = torch.from_numpy(edges)
    soft = calibrated_soft_labels(entries, known, CalibratedSettings(**method)).numpy()
    wanted = set(case.train.tolist())
    if files.get("nodes") == "all":
        wanted |= set(case.source.tolist()) | set(case.target.tolist())
        wanted |= set(case.pseudo.tolist()) if files.get("pseudo") else set()
    fitted = CalibratedPosteL(**method).statistics(entries, known)["exponents"]
    return {node: soft[node] for node in wanted}, fitted


@pytest.mark.parametrize("name", CASES)
def test_every_engine_gives_the_numbers_of_the_transform(
    name: str,
    engine: str,
    tmp_path: Path,
    store: Callable[..., Path],
    read_soft: Callable[[Path], dict[Any, np.ndarray]],
) -> None:
    files, method = split_up(CASES[name])
    case = Case(seed=sum(map(ord, name)))
    made, out, node_name = run(case, engine, tmp_path, store, settings=CalibratedSettings(**method), **files)
    rows, fitted = expected(case, files, method)
    found = read_soft(out)
    assert made.nodes == len(found) and set(found) == {node_name(place) for place in rows}
    for place, row in rows.items():
        np.testing.assert_allclose(found[node_name(place)], row, rtol=0, atol=1e-12)
    assert made.exponents == pytest.approx(vars(fitted), abs=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.sampled_from(sorted(CASES)), st.booleans())
def test_engines_in_one_process_agree_to_the_bit(seed: int, name: str, undirected: bool) -> None:
    pytest.importorskip("duckdb")
    number = itertools.count()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def store(_: str, columns: dict[str, Any], form: str = "parquet", parts: int = 1) -> Path:
            path = folder / f"{next(number)}.parquet"
            pq.write_table(pa.table(columns), path)
            return path

        files, method = split_up(CASES[name])
        files = {**files, "undirected": undirected, "text_labels": False}
        case = Case(seed, nodes=20, rows=50)
        read = {}
        for engine in ("memory", "duckdb"):
            _, out, node_name = run(case, engine, folder, store, settings=CalibratedSettings(**method), **files)
            read[engine] = pq.read_table(out).to_pydict()
        assert read["memory"] == read["duckdb"]
        rows, _ = expected(case, files, method)
        places = {node_name(at): at for at in range(case.ids.size)}
        for node, row in zip(*read["memory"].values(), strict=True):
            np.testing.assert_allclose(row, rows[places[node]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("most", [5])
def test_more_labels_than_the_fit_needs_are_chosen_alike(
    most: int, engine: str, tmp_path: Path, store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chosen nodes are those of the in-memory method: every engine fits the same exponents."""
    monkeypatch.setattr("postel.scale.smooth.MOST_LABELS", most)
    monkeypatch.setattr("postel.calibration.MOST_LABELS", most)
    case = Case(seed=5)
    made, _, _ = run(case, engine, tmp_path, store, settings=CalibratedSettings(), undirected=True)
    _, fitted = expected(case, {"undirected": True}, {})
    assert made.exponents == pytest.approx(vars(fitted), abs=1e-9)


def test_a_self_loop_is_nothing(tmp_path: Path, store: Callable[..., Path]) -> None:
    labels = store("labels", {"node": [0, 1, 2], "label": [0, 1, 1]})
    read = []
    for number, extra in enumerate(([], [0, 1, 1])):
        edges = {"source": [0, 1, *extra], "target": [1, 2, *extra]}
        out = tmp_path / f"out{number}.parquet"
        smooth_tables(store(f"edges{number}", edges), labels, out, settings=CalibratedSettings(), engine="memory")
        read.append(pq.read_table(out).to_pydict())
    assert read[0] == read[1]


def test_spark_sends_everything_that_its_executors_need() -> None:
    """The kernels import nothing of postel but what is sent along with them."""
    from postel.scale import calibrated_kernel

    sent = {"postel.scale.kernel", "postel.settings", "postel.checks", "postel.errors"}
    text = Path(calibrated_kernel.__file__).read_text(encoding="utf-8")
    used = {line.split()[1] for line in text.splitlines() if line.startswith("from postel")}
    assert used <= sent
