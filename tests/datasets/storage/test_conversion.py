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
    graph = convert(*tables, **NAMES, directed=False)
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


def test_links_stay_as_listed_by_default(tables):
    assert convert(*tables, **NAMES).edge_index.tolist() == [[0, 1, 2, 0], [1, 2, 2, 1]]


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
    graph = convert(links, nodes, out, directed=False)
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
    (tmp_path / "nodes.xls").write_text(NODES)
    with pytest.raises(InputError, match=r"must end in \.csv, \.tsv, \.txt or \.parquet"):
        convert(links, tmp_path / "nodes.xls", tmp_path / "web.npz", **NAMES)


@pytest.mark.parametrize(
    ("nodes", "links"),
    [
        (["1", "7"], ["01", "007"]),
        (["01", "007"], ["1", "7"]),
        (["1", "7"], ["1.0", "7.0"]),
        (["1", "7"], ["+1", "7"]),
        (["1", "7", "x"], ["1", " 7"]),
        (["1e3", "7"], ["1000", "7"]),
        (["9007199254740993", "7"], ["9007199254740992", "7"]),
    ],
)
def test_an_id_is_the_same_in_both_tables_or_another_node(tmp_path, nodes, links):
    (tmp_path / "n.csv").write_text("node,label\n" + "".join(f"{name},{k % 2}\n" for k, name in enumerate(nodes)))
    (tmp_path / "e.csv").write_text("source,target\n" + ",".join(links) + "\n")
    with pytest.raises(InputError, match="which the node table does not list"):
        convert(tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "g.npz")


def test_ids_are_texts_where_one_of_them_needs_it(tmp_path):
    (tmp_path / "n.csv").write_text("node,label\n1,a\n01,b\nx,a\n")
    (tmp_path / "e.csv").write_text("source,target\n01,x\n1,x\n")
    graph = convert(tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "g.npz", directed=True)
    assert graph.edge_index.tolist() == [[1, 0], [2, 2]]


def test_ids_of_numbers_are_the_same_from_parquet_and_with_spaces(tmp_path):
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"node": [30, 10], "label": ["a", "b"]}), tmp_path / "n.parquet")
    (tmp_path / "e.csv").write_text("source,target\n 10,30 \n")
    graph = convert(tmp_path / "e.csv", tmp_path / "n.parquet", tmp_path / "g.npz", directed=True)
    assert graph.edge_index.tolist() == [[1], [0]]


def test_numbers_sort_as_numbers_and_words_as_words(tmp_path):
    (tmp_path / "e.csv").write_text("source,target\n")
    for labels, classes in ((["10", "9", "9"], ("9", "10")), (["10", "9", "a"], ("10", "9", "a"))):
        rows = "".join(f"{k},{label}\n" for k, label in enumerate(labels))
        (tmp_path / "n.csv").write_text("node,label\n" + rows)
        made = convert(tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "g.npz", overwrite=True)
        assert made.class_names == classes


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("node,label,x,x\n1,a,1,2\n2,b,3,4\n", "has the column 'x' twice"),
        ("node,label,label\n1,a,a\n2,b,b\n", "has the column 'label' twice"),
        (",node,label\n0,1,a\n1,2,b\n", "a column without a name"),
        ("node,label,x\n1,a,nan\n2,b,3\n", "row 1 has no finite number in column 'x'"),
        ("node,label,x\n1,a,1e39\n2,b,3\n", "row 1 has no finite number in column 'x'"),
        ("node,label,x\n1,a,\n2,b,3\n", "holds text or empty cells"),
        ("node,label,x\n1,a,NA\n2,b,3\n", "holds text or empty cells"),
        ("node,label,split,split0\n1,a,train,val\n2,b,val,train\n", "without a gap, got split, split0"),
        ("node,label,split0,split2\n1,a,train,val\n2,b,val,train\n", "without a gap, got split0, split2"),
        ("node,label\n1,a\n 2,b\n2 ,b\n", "listed twice"),
        ("node,label\n1,1.0\n2,2.0\n", "got fractions"),
        ("node,label\n", "has no rows"),
        ("", "cannot be read as csv"),
    ],
)
def test_a_table_that_could_mean_two_things_is_refused(tmp_path, nodes, message):
    (tmp_path / "n.csv").write_text(nodes)
    (tmp_path / "e.csv").write_text("source,target\n1,2\n")
    with pytest.raises(InputError, match=message):
        convert(tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "g.npz")
    assert not (tmp_path / "g.npz").exists()


def test_text_that_is_not_utf_8_is_refused_and_never_shown_as_bytes(tables):
    links, nodes, out = tables
    nodes.write_bytes(NODES.replace("news", "café").encode("latin-1"))
    with pytest.raises(InputError, match=r"no UTF-8 text.*save it as UTF-8"):
        convert(links, nodes, out, **NAMES)
    nodes.write_text(NODES.replace("news", "café"), encoding="utf-8")
    assert convert(links, nodes, out, **NAMES).class_names == ("café", "sport")


@pytest.mark.parametrize("content", [b"caf\xe9", "café".encode()])
def test_bytes_of_parquet_are_text_if_they_are_utf_8(tmp_path, content):
    import pyarrow.parquet

    columns = {"node": [1, 2], "label": pa.array([content, b"tea"], pa.binary())}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "n.parquet")
    (tmp_path / "e.csv").write_text("source,target\n1,2\n")
    paths = tmp_path / "e.csv", tmp_path / "n.parquet", tmp_path / "g.npz"
    if content == b"caf\xe9":
        with pytest.raises(InputError, match="'label' is no UTF-8 text"):
            convert(*paths)
    else:
        assert convert(*paths).class_names == ("café", "tea")


@pytest.mark.parametrize(
    ("suffix", "between", "given"),
    [
        (".tsv", "\t", None),
        (".txt", "\t", None),
        (".txt", ",", None),
        (".csv", ";", ";"),
        (".txt", " ", " "),
        (".csv", "\t", "\\t"),
        (".csv", "\t", "tab"),
        (".tsv", "|", "|"),
    ],
)
def test_separators(tables, suffix, between, given):
    links, nodes, out = tables
    expected = convert(links, nodes, out, **NAMES)
    others = []
    for path in (links, nodes):
        others.append(path.with_name(f"{path.stem}-2{suffix}"))
        others[-1].write_text(path.read_text().replace(",", between))
    made = convert(*others, out, **NAMES, separator=given, overwrite=True)
    assert made.fingerprint() == expected.fingerprint() and made.class_names == expected.class_names


def test_a_separator_is_one_character(tables):
    for wrong in ("", ";;", '"', "\n", "é"):
        with pytest.raises(InputError, match="separator must be a single character"):
            convert(*tables, **NAMES, separator=wrong)


SPLITS = {
    "columns": "node,label,split0,split1\na,x,train,test\nb,y,val,train\nc,x,test,\nd,y,,val\n",
    "table": "node,split0,split1\nc,test,\nb,val,train\na,train,test\nd,,val\n",
    "rows": "node,split,part\na,0,train\na,1,test\nb,0,val\nb,1,train\nc,0,test\nd,1,val\n",
}


@pytest.mark.parametrize("form", SPLITS)
def test_several_splits_in_columns_or_in_a_table(tmp_path, form):
    nodes, links, out = tmp_path / "n.csv", tmp_path / "e.csv", tmp_path / "g.npz"
    nodes.write_text("node,label\na,x\nb,y\nc,x\nd,y\n" if form != "columns" else SPLITS["columns"])
    links.write_text("source,target\na,b\n")
    (tmp_path / "s.tsv").write_text(SPLITS[form].replace(",", "\t"))
    convert(links, nodes, out, split_table=None if form == "columns" else tmp_path / "s.tsv")
    for number, expected in enumerate(([[0], [1], [2]], [[1], [3], [0]])):
        data = load_dataset(out, number, "public")
        found = [data[f"{part}_mask"].nonzero().view(-1).tolist() for part in ("train", "val", "test")]
        assert found == expected
    with pytest.raises(InputError, match=r"public splits 0\.\.1, got 2"):
        load_dataset(out, 2, "public")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("node,x\na,1\n", "has no splits"),
        ("node,split\na,train\na,val\n", "lists a node twice"),
        ("node,split,part\na,0,train\na,0,val\n", "lists a node twice for one split"),
        ("node,split,part\na,-1,train\n", "number of a split, from 0 on, got '-1'"),
        ("node,split,part\na,,train\n", "got an empty cell"),
        ("node,split,part\na,999999999,train\n", "1000 at most, got 1000000000"),
        ("node,split,part\n", "1000 at most, got 0"),
        ("node,split\nz,train\n", "names node 'z', which the node table does not list"),
        ("node,split\na,practice\n", "train, val, test or nothing, got 'practice'"),
    ],
)
def test_a_wrong_table_of_splits_is_told(tmp_path, content, message):
    (tmp_path / "n.csv").write_text("node,label\na,x\nb,y\n")
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    (tmp_path / "s.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        convert(tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "g.npz", split_table=tmp_path / "s.csv")


def test_splits_come_from_one_place(tmp_path):
    (tmp_path / "n.csv").write_text("node,label,split\na,x,train\nb,y,val\n")
    (tmp_path / "e.csv").write_text("source,target\na,b\n")
    (tmp_path / "s.csv").write_text("node,split\na,train\nb,val\n")
    with pytest.raises(InputError, match=r"n.csv has splits, in 'split', and so has .*s.csv"):
        convert(tmp_path / "e.csv", tmp_path / "n.csv", tmp_path / "g.npz", split_table=tmp_path / "s.csv")


def test_a_parquet_file_that_says_it_has_a_billion_rows_is_not_read(tmp_path):
    import pyarrow.parquet

    column = pa.array(np.zeros(20_000_000, dtype=np.int8))
    pyarrow.parquet.write_table(pa.table({"source": column, "target": column}), tmp_path / "e.parquet")
    (tmp_path / "n.csv").write_text("node,label\na,x\nb,y\n")
    assert (tmp_path / "e.parquet").stat().st_size < 200_000
    with pytest.raises(InputError, match="says that it has 40000000 cells"):
        convert(tmp_path / "e.parquet", tmp_path / "n.csv", tmp_path / "g.npz")
