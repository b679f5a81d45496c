"""One contract for all engines: the numbers of the in-memory method, whatever counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from postel.labels import KnownLabels
from postel.scale import Smoothed, smooth_tables
from postel.smoothers.postel import PosteL, posterior_soft_labels

QUICK = {"spark.sql.shuffle.partitions": "2"}


class Case:
    """A small random graph with nodes of every kind; nodes are places here and get their ids when stored."""

    def __init__(self, seed: int, nodes: int = 40, rows: int = 160, classes: int = 4) -> None:
        rng = np.random.default_rng(seed)
        # Ids that lie far apart, and nodes that are in one table only.
        self.ids = np.sort(rng.choice(10**12, nodes, replace=False)) - 5 * 10**11
        self.k = classes
        self.y = rng.integers(classes, size=nodes)
        self.y[:2] = [0, classes - 1]
        order = rng.permutation(np.arange(2, nodes))
        self.train = np.sort(np.concatenate([[0, 1], order[: nodes // 3]]))
        self.pseudo = np.sort(order[nodes // 3 : nodes // 2])
        source, target = rng.integers(nodes - 5, size=(2, rows))
        source[:4], target[:4] = (3, 3, 0, 5), (3, 3, 0, 5)  # self-loops, one of them twice
        source[4:9], target[4:9] = source[9:14], target[9:14]  # repeated rows
        self.source, self.target = source, target

    def expected(
        self, *, undirected: bool, pseudo: bool, nodes: str, num_classes: int | None = None, **method: Any
    ) -> dict[int, np.ndarray]:
        """Soft labels by place, by the in-memory method."""
        edges = np.stack([self.source, self.target])
        if undirected:
            back = edges[::-1]
            edges = np.concatenate([edges, back[:, back[0] != back[1]]], axis=1)
        known = KnownLabels.from_index(
            torch.from_numpy(self.train),
            torch.from_numpy(self.y[self.train]),
            num_nodes=self.ids.size,
            num_classes=num_classes or self.k,
        )
        if pseudo:
            known = known.with_pseudo(torch.from_numpy(self.pseudo), torch.from_numpy(self.y[self.pseudo]))
        soft = posterior_soft_labels(torch.from_numpy(edges), known, **method).numpy()
        wanted = set(self.train.tolist())
        if nodes == "all":
            wanted |= set(self.source.tolist()) | set(self.target.tolist())
            wanted |= set(self.pseudo.tolist()) if pseudo else set()
        return {node: soft[node] for node in wanted}


def run(
    case: Case,
    engine: str,
    folder: Path,
    store: Callable[..., Path],
    *,
    text_ids: bool = False,
    text_labels: bool = False,
    form: str = "parquet",
    parts: int = 1,
    pseudo: bool = False,
    tag: object = "",
    **settings: Any,
) -> tuple[Smoothed, Path, Callable[[int], Any]]:
    """The job on ``engine``, its output, and the name of a node by its place."""
    name = [f"n{i}" for i in case.ids.tolist()] if text_ids else case.ids.tolist()
    label = [f"class {c}" for c in case.y.tolist()] if text_labels else case.y.tolist()

    def pick(values: list[Any], places: np.ndarray) -> list[Any]:
        return [values[place] for place in places]

    edges = {"source": pick(name, case.source), "target": pick(name, case.target)}
    labels = {"node": pick(name, case.train), "label": pick(label, case.train)}
    # A row twice with one label is no conflict.
    labels = {key: [*value, value[0]] for key, value in labels.items()}
    stored = {}
    if pseudo:
        # Pseudo-labels of training nodes are ignored: these are wrong on purpose.
        nodes = pick(name, case.pseudo) + pick(name, case.train[:3])
        guesses = pick(label, case.pseudo) + pick(label, case.train[[1, 0, 0]])
        stored["pseudo_labels"] = store(f"pseudo{tag}", {"node": nodes, "label": guesses}, form)
    out = folder / f"soft{tag}-{engine}.parquet"
    made = smooth_tables(
        store(f"edges{tag}", edges, form, parts),
        store(f"labels{tag}", labels, form, parts),
        out,
        engine=engine,
        spark_conf=QUICK,
        **stored,
        **{"flow": "target_to_source", **settings},
    )
    return made, out, lambda place: name[place]


CASES: dict[str, dict[str, Any]] = {
    "integers": {},
    "strings in CSV, both ways": {
        "text_ids": True,
        "text_labels": True,
        "form": "csv",
        "parts": 4,
        "undirected": True,
    },
    "pseudo-labels, empty parts": {"pseudo": True, "parts": 5, "undirected": True, "self_loops": True},
    "normalized, all nodes": {
        "likelihood": "normalized",
        "nodes": "all",
        "pseudo": True,
        "undirected": True,
        "form": "csv",
    },
    "normalized, training nodes": {"likelihood": "normalized", "pseudo": True, "alpha": 1.0, "beta": 0.0},
    "all nodes, strings": {
        "nodes": "all",
        "text_ids": True,
        "self_loops": True,
        "undirected": True,
        "num_classes": 6,
    },
    "as released": {
        "noise": "off-target",
        "isolated": "one-hot",
        "centers": "train",
        "self_loops": True,
        "pseudo": True,
        "undirected": True,
    },
    "as released, all nodes": {
        "noise": "off-target",
        "isolated": "one-hot",
        "centers": "train",
        "nodes": "all",
        "pseudo": True,
        "likelihood": "normalized",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_every_engine_gives_the_numbers_of_the_method(
    name: str,
    engine: str,
    tmp_path: Path,
    store: Callable[..., Path],
    read_soft: Callable[[Path], dict[Any, np.ndarray]],
) -> None:
    settings = CASES[name]
    case = Case(seed=sum(map(ord, name)))
    made, out, node_name = run(case, engine, tmp_path, store, **settings)
    files = ("text_ids", "text_labels", "form", "parts", "pseudo", "undirected", "nodes")
    method = {key: value for key, value in settings.items() if key not in files}
    expected = case.expected(
        undirected=settings.get("undirected", False),
        pseudo=settings.get("pseudo", False),
        nodes=settings.get("nodes", "train"),
        **method,
    )
    found = read_soft(out)
    assert made.nodes == len(found) and set(found) == {node_name(place) for place in expected}
    for place, row in expected.items():
        np.testing.assert_allclose(found[node_name(place)], row, rtol=0, atol=1e-12)


@settings(max_examples=40)
@given(
    st.integers(0, 2**31),
    st.sampled_from(["edge", "normalized"]),
    st.sampled_from(["train", "all"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_engines_in_one_process_agree_to_the_bit(
    seed: int, likelihood: str, nodes: str, undirected: bool, pseudo: bool, self_loops: bool
) -> None:
    import tempfile

    import pyarrow as pa
    import pyarrow.parquet as pq

    pytest.importorskip("duckdb")
    number = itertools.count()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def store(_: str, columns: dict[str, Any], form: str = "parquet", parts: int = 1) -> Path:
            path = folder / f"{next(number)}.parquet"
            pq.write_table(pa.table(columns), path)
            return path

        case = Case(seed, nodes=20, rows=50)
        ways = {"undirected": undirected, "nodes": nodes, "likelihood": likelihood, "self_loops": self_loops}
        read = {}
        for engine in ("memory", "duckdb"):
            _, out, _ = run(case, engine, folder, store, pseudo=pseudo, **ways)
            read[engine] = pq.read_table(out).to_pydict()
        assert read["memory"] == read["duckdb"]
        expected = case.expected(pseudo=pseudo, **ways)
        places = {int(node): place for place, node in enumerate(case.ids)}
        assert {places[node] for node in read["memory"]["node"]} == set(expected)
        for node, row in zip(*read["memory"].values(), strict=True):
            np.testing.assert_allclose(row, expected[places[node]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("likelihood", ["edge", "normalized"])
def test_a_hub_with_a_hundred_thousand_neighbors(
    likelihood: str,
    engine: str,
    tmp_path: Path,
    store: Callable[..., Path],
    read_soft: Callable[[Path], dict[Any, np.ndarray]],
) -> None:
    leaves = 100_000
    rng = np.random.default_rng(0)
    source = np.concatenate([np.zeros(leaves, dtype=np.int64), rng.integers(1, leaves + 1, 20_000)])
    target = np.concatenate([np.arange(1, leaves + 1), rng.integers(1, leaves + 1, 20_000)])
    y = rng.integers(3, size=leaves + 1)
    edges = store("edges", {"source": source, "target": target})
    labels = store("labels", {"node": np.arange(leaves + 1), "label": y})
    out = tmp_path / "soft"
    smooth_tables(
        edges, labels, out, engine=engine, undirected=True, likelihood=likelihood, alpha=1.0, spark_conf=QUICK
    )
    found = read_soft(out)
    known = KnownLabels.from_index(torch.arange(leaves + 1), torch.from_numpy(y), num_nodes=leaves + 1)
    both = torch.from_numpy(np.stack([np.concatenate([source, target]), np.concatenate([target, source])]))
    loops = source == target
    both = both[:, ~torch.from_numpy(np.concatenate([loops, loops]))]
    expected = posterior_soft_labels(both, known, likelihood=likelihood, alpha=1.0).numpy()
    assert len(found) == leaves + 1
    np.testing.assert_allclose(np.stack([found[i] for i in range(leaves + 1)]), expected, rtol=0, atol=1e-12)


def test_the_transform_gives_the_same(engine: str, tmp_path: Path, store: Callable[..., Path]) -> None:
    from torch_geometric.data import Data

    from postel.scale import join_soft_labels

    case = Case(seed=11)
    _, out, _ = run(case, engine, tmp_path, store, nodes="all", num_classes=4, flow="source_to_target")
    mask = torch.zeros(case.ids.size, dtype=torch.bool)
    mask[case.train] = True
    data = Data(
        edge_index=torch.from_numpy(np.stack([case.source, case.target])),
        y=torch.from_numpy(case.y),
        train_mask=mask,
        num_nodes=case.ids.size,
    )
    back = join_soft_labels(data, out, ids=torch.from_numpy(case.ids))
    there = torch.zeros_like(mask)
    there[np.concatenate([case.source, case.target, case.train])] = True
    expected = PosteL(num_classes=4)(data).soft_y
    torch.testing.assert_close(back.soft_y[there], expected[there], rtol=0, atol=1e-7)
    assert "soft_y" not in data


def test_no_edge_at_all_gives_the_prior(
    engine: str, tmp_path: Path, store: Callable[..., Path], read_soft: Callable[[Path], dict[Any, np.ndarray]]
) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n")
    labels = store("labels", {"node": ["a", "b", "c"], "label": ["x", "x", "y"]})
    out = tmp_path / "soft"
    made = smooth_tables(tmp_path / "edges.csv", labels, out, engine=engine, alpha=1, beta=0, spark_conf=QUICK)
    assert made.classes == ["x", "y"]
    for row in read_soft(out).values():
        np.testing.assert_allclose(row, [2 / 3, 1 / 3], atol=1e-12)


def test_an_empty_field_says_nothing(
    engine: str, tmp_path: Path, read_soft: Callable[[Path], dict[Any, np.ndarray]]
) -> None:
    (tmp_path / "edges.csv").write_text("source;other;target\n1;x;2\n;x;2\n1;x;\n2;x;1\n")
    (tmp_path / "labels.csv").write_text("label;node\n0;1\n1;2\n;3\n1;\n")
    from postel.scale import Columns

    out = tmp_path / "soft"
    made = smooth_tables(
        tmp_path / "edges.csv",
        tmp_path / "labels.csv",
        out,
        engine=engine,
        nodes="all",
        columns=Columns(separator=";"),
        tables=True,
        spark_conf=QUICK,
    )
    assert set(read_soft(out)) == {1, 2} and made.labelled == 2
    assert (tmp_path / "soft.json").exists()
