from __future__ import annotations

import numpy as np
import pytest
import torch

from postel.datasets import convert, load_dataset
from postel.errors import InputError

pa = pytest.importorskip("pyarrow")

NODES = "page,topic,part,words,links\na,news,train,1.5,0\nb,sport,test,0,2\nc,,,3,1\nd,news,val,0,0\n"
LINKS = "from,to\na,b\nb,c\nc,c\na,b\n"
NAMES = {"source": "from", "target": "to", "node": "page", "label": "topic", "split": "part"}


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "links.csv").write_text(LINKS)
    return tmp_path / "links.csv", tmp_path / "nodes.csv", tmp_path / "web.npz"


def test_two_tables_become_a_graph_file(tables):
    graph = convert(*tables, **NAMES)
    assert graph.edge_index.tolist() == [[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]]
    assert graph.x.toarray().tolist() == [[1.5, 0], [0, 2], [3, 1], [0, 0]]
    assert graph.y.tolist() == [0, 1, -1, 0] and graph.class_names == ("news", "sport")
    data = load_dataset(tables[2], 0, "public")
    assert data.fingerprint == graph.fingerprint() and data.num_classes == 2
    assert [data[f"{part}_mask"].nonzero().view(-1).tolist() for part in ("train", "val", "test")] == [
        [0],
        [3],
        [1],
    ]
    assert torch.equal(data.x, torch.from_numpy(graph.x.toarray()))


def test_directed_links_stay_as_listed(tables):
    assert convert(*tables, **NAMES, directed=True).edge_index.tolist() == [[0, 1, 2, 0], [1, 2, 2, 1]]


def test_parquet_and_csv_give_the_same_graph(tables):
    import pyarrow.csv
    import pyarrow.parquet

    parquet = [path.with_suffix(".parquet") for path in tables[:2]]
    for old, new in zip(tables[:2], parquet, strict=True):
        pyarrow.parquet.write_table(pyarrow.csv.read_csv(old), new)
    made = convert(*parquet, tables[2], **NAMES)
    assert made.fingerprint() == convert(*tables, **NAMES, overwrite=True).fingerprint()


def test_numbers_may_name_nodes_and_classes(tables):
    links, nodes, out = tables
    nodes.write_text("node,label\n30,7\n10,2\n20,7\n")
    links.write_text("source,target\n10,30\n")
    graph = convert(links, nodes, out)
    assert graph.edge_index.tolist() == [[0, 1], [1, 0]]
    assert graph.y.tolist() == [1, 0, 1] and graph.class_names == ("2", "7")
    # Without features a node's degree stands in.
    assert graph.x.toarray().tolist() == [[1], [1], [0]]
    assert np.array_equal(load_dataset(out).x.numpy(), graph.x.toarray())


def test_no_links_are_a_graph_too(tables):
    tables[0].write_text("from,to\n")
    assert convert(*tables, **NAMES).edge_index.shape == (2, 0)


@pytest.mark.parametrize(
    ("nodes", "links", "names", "message"),
    [
        (NODES, LINKS + "a,z\n", {}, "column 'to' names node 'z', which the node table does not list"),
        (NODES + "a,news,,1,1\n", LINKS, {}, "listed twice"),
        (NODES, LINKS, {"label": "class"}, "lacks the column 'class'; it has page, topic"),
        (NODES, LINKS, {"source": "start"}, "lacks the column 'start'; it has from, to"),
        (NODES, "from,to\na,\n", {}, "row 1 has an empty cell in column 'to'"),
        (NODES.replace("3,1", "three,1"), LINKS, {}, "'words' is taken for a feature and holds text"),
        (NODES.replace("train", "practice"), LINKS, {}, "train, val, test or nothing, got 'practice'"),
        (NODES.replace("sport", "news"), LINKS, {}, "two classes at least, got 1"),
        (NODES.replace("c,,,3", "c,,test,3"), LINKS, {}, "names a node without label"),
        ("page,topic\na,1.5\nb,2.5\n", "from,to\n", {}, "got fractions"),
        ("page,topic\na\nb,c,d\n", LINKS, {}, "cannot be read as csv"),
    ],
)
def test_wrong_tables_are_named_and_nothing_is_written(tables, nodes, links, names, message):
    tables[1].write_text(nodes)
    tables[0].write_text(links)
    with pytest.raises(InputError, match=message):
        convert(*tables, **(NAMES | names))
    assert not tables[2].exists()


def test_wrong_names_are_told(tables, tmp_path):
    links, nodes, _ = tables
    with pytest.raises(InputError, match=r"name ends in \.npz, got 'web\.zip'"):
        convert(links, nodes, tmp_path / "web.zip")
    with pytest.raises(InputError, match="does not exist"):
        convert(tmp_path / "none.csv", nodes, tmp_path / "web.npz", **NAMES)
    (tmp_path / "nodes.txt").write_text(NODES)
    with pytest.raises(InputError, match=r"must end in \.csv or \.parquet"):
        convert(links, tmp_path / "nodes.txt", tmp_path / "web.npz", **NAMES)
