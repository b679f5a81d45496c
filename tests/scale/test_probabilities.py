"""Pseudo-labels that are probabilities: the numbers of the transform with soft evidence, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.scale import smooth_tables
from postel.settings import CalibratedSettings
from postel.smoothers import calibrated_soft_labels
from postel.smoothers.calibrated import CalibratedPosteL
from scale.test_contract import QUICK, Case

CASES: dict[str, dict[str, Any]] = {
    "undirected": {"undirected": True},
    "directed, strings, csv": {"text": True, "form": "csv", "parts": 3},
    "all nodes": {"nodes": "all", "undirected": True, "num_classes": 6},
    "all nodes, directed, strings": {"nodes": "all", "text": True, "calibration": "temperature"},
    "pairs around training nodes": {"centers": "train", "leave_one_out": False},
    "all nodes, pairs around training nodes": {"nodes": "all", "centers": "train", "form": "csv"},
}
METHOD = ("num_classes", "calibration", "centers", "leave_one_out")


def probabilities(case: Case, dtype: type) -> np.ndarray:
    """What a model says of the nodes of ``case.pseudo``, some of it 0, and wrongly of training nodes."""
    rows = np.random.default_rng(3).dirichlet(np.full(case.k, 0.4), case.ids.size).astype(dtype)
    rows[case.pseudo[0]] = np.eye(case.k)[1]
    return rows


def columns_of(case: Case, rows: np.ndarray, name: list[Any], label: Callable[[int], Any]) -> dict[str, Any]:
    """The table that ``postel predict`` would write, for pseudo-labelled and three training nodes."""
    places = [*case.pseudo.tolist(), *case.train[:3].tolist()]
    columns: dict[str, Any] = {"node": [name[place] for place in places]}
    columns["prediction"] = [str(label(int(rows[place].argmax()))) for place in places]
    columns["probability"] = [float(rows[place].max()) for place in places]
    order = [2, 0, 1, *range(3, case.k)]  # not the order of the classes
    return columns | {f"p_{label(c)}": rows[places, c] for c in order}


@pytest.mark.parametrize("case_name", CASES)
def test_every_engine_gives_the_numbers_of_the_transform(
    case_name: str,
    engine: str,
    tmp_path: Path,
    store: Callable[..., Path],
    read_soft: Callable[[Path], dict[Any, np.ndarray]],
) -> None:
    options = dict(CASES[case_name])
    method = {key: options.pop(key) for key in METHOD if key in options}
    text, form, parts = options.pop("text", False), options.pop("form", "parquet"), options.pop("parts", 1)
    case = Case(seed=sum(map(ord, case_name)))
    name = [f"n{i}" for i in case.ids.tolist()] if text else case.ids.tolist()
    label = (lambda c: f"class {c}") if text else int
    rows = probabilities(case, np.float64 if form == "csv" else np.float32)
    edges = np.stack([case.source, case.target])
    out = tmp_path / "soft.parquet"
    made = smooth_tables(
        store(
            "edges", {"source": [name[i] for i in edges[0]], "target": [name[i] for i in edges[1]]}, form, parts
        ),
        store(
            "labels",
            {"node": [name[i] for i in case.train], "label": [label(int(c)) for c in case.y[case.train]]},
            form,
            parts,
        ),
        out,
        pseudo_labels=store("said", columns_of(case, rows, name, label), form, parts),
        settings=CalibratedSettings(**method),
        engine=engine,
        flow="target_to_source",
        spark_conf=QUICK,
        **options,
    )
    if options.get("undirected"):
        back = edges[::-1]
        edges = np.concatenate([edges, back[:, back[0] != back[1]]], axis=1)
    k = method.get("num_classes") or case.k
    evidence = np.zeros((case.ids.size, k))
    evidence[case.pseudo, : case.k] = rows[case.pseudo]
    known = KnownLabels.from_index(
        torch.from_numpy(case.train), torch.from_numpy(case.y[case.train]), num_nodes=case.ids.size, num_classes=k
    ).with_evidence(torch.from_numpy(evidence))
    wanted = calibrated_soft_labels(torch.from_numpy(edges), known, CalibratedSettings(**method)).numpy()
    places = set(case.train.tolist())
    if options.get("nodes") == "all":
        places |= set(edges.ravel().tolist()) | set(case.pseudo.tolist())
    found = read_soft(out)
    assert set(found) == {name[place] for place in places}
    for place in places:
        np.testing.assert_allclose(found[name[place]], wanted[place], rtol=0, atol=1e-12)
    fitted = CalibratedPosteL(**method).statistics(torch.from_numpy(edges), known)
    assert made.exponents == pytest.approx(vars(fitted["exponents"]), abs=1e-9)
    np.testing.assert_allclose(made.conditional, fitted["conditional"].numpy(), rtol=0, atol=1e-12)
    assert made.labelled == case.train.size + case.pseudo.size


GOOD = {"node": [2, 3], "p_0": [0.5, 0.1], "p_1": [0.5, 0.9]}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "sum": ({**GOOD, "p_1": [0.5, 0.8]}, r"probabilities of node 3 sum to 0\.9: each row must be a distribution"),
    "negative": ({**GOOD, "p_0": [0.5, -0.1], "p_1": [0.5, 1.1]}, r"node 3 go down to -0\.1"),
    "not a number": ({**GOOD, "p_0": [0.5, float("nan")]}, "node 3 sum to nan"),
    "twice": ({**GOOD, "node": [3, 3], "p_1": [0.5, 0.9]}, "node 3 has 2 rows of probabilities; keep one row"),
    "a name": (
        {**GOOD, "p_Theory": [0.0, 0.0]},
        "column 'p_Theory' names no class, since labels are class numbers",
    ),
    "a class without column": ({"node": [3], "p_0": [0.5], "p_2": [0.5]}, "has no column p_1 for the label 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_gets_one_sentence(
    name: str, engine: str, tmp_path: Path, store: Callable[..., Path]
) -> None:
    columns, message = WRONG[name]
    tables = [
        store("edges", {"source": [0, 1], "target": [2, 3]}),
        store("labels", {"node": [0, 1], "label": [0, 1]}),
    ]
    with pytest.raises(InputError, match=message):
        smooth_tables(
            *tables,
            tmp_path / "soft.parquet",
            pseudo_labels=store("said", columns),
            settings=CalibratedSettings(),
            engine=engine,
            spark_conf=QUICK,
        )
    assert not (tmp_path / "soft.parquet").exists()


def test_a_method_of_hard_labels_refuses_probabilities(tmp_path: Path, store: Callable[..., Path]) -> None:
    tables = [
        store("edges", {"source": [0, 1], "target": [2, 3]}),
        store("labels", {"node": [0, 1], "label": [0, 1]}),
    ]
    said = store("said", GOOD)
    with pytest.raises(InputError, match="probabilities, which only the method calibrated takes"):
        smooth_tables(*tables, tmp_path / "soft.parquet", pseudo_labels=said)
    # With a column of labels they are labels, whatever else there is.
    both = store("both", {**GOOD, "label": [0, 1]})
    assert smooth_tables(*tables, tmp_path / "soft.parquet", pseudo_labels=both, engine="memory").labelled == 4
