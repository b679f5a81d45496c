from __future__ import annotations

import gzip
import json
import tracemalloc

import numpy as np
import pytest
import torch

from postel.datasets.load import load_dataset
from postel.datasets.sources.ogb import number_blocks, prepare_ogb
from postel.datasets.storage.array_folder import read_array_folder
from postel.datasets.storage.stored_graph import StoredGraph
from postel.errors import InputError


def write_layout(folder, num_nodes, num_links, num_features, seed=0, digits=4):
    """A random graph in OGB's raw layout; gives features, links, labels and the three parts."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(num_nodes, num_features)).round(digits).astype(np.float32)
    links = rng.integers(0, num_nodes, size=(num_links, 2))
    y = rng.integers(0, 5, size=(num_nodes, 1))
    y[:5, 0] = range(5)
    order = rng.permutation(num_nodes)
    parts = np.split(order, [num_nodes // 10, num_nodes // 5])
    write(folder / "raw" / "num-node-list.csv.gz", f"{num_nodes}\n")
    write(folder / "raw" / "num-edge-list.csv.gz", f"{num_links}\n")
    for name, array in (("edge", links), ("node-feat", x), ("node-label", y)):
        write(folder / "raw" / f"{name}.csv.gz", lines(array))
    for name, index in zip(("train", "valid", "test"), parts, strict=True):
        write(folder / "split" / "sales_ranking" / f"{name}.csv.gz", lines(index[:, None]))
    return x, links, y[:, 0], parts


def lines(array):
    return "".join(",".join(map(str, row)) + "\n" for row in array.tolist())


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", compresslevel=1) as stream:
        stream.write(text)


@pytest.fixture
def layout(tmp_path):
    folder = tmp_path / "root" / "ogbn_products"
    return folder, write_layout(folder, 50, 120, 4)


@pytest.mark.parametrize("block_bytes", [64, 1000, 1 << 20])
def test_the_graph_is_read_whatever_the_block(layout, tmp_path, block_bytes):
    folder, (x, links, y, parts) = layout
    prepare_ogb(folder, tmp_path / "out", block_bytes=block_bytes)
    graph = read_array_folder(tmp_path / "out")
    assert np.array_equal(graph.x, x) and isinstance(graph.x, np.memmap)
    assert isinstance(graph.edge_index, np.memmap)
    assert np.array_equal(graph.edge_index[:, ::2], links.T)
    assert np.array_equal(graph.edge_index[:, 1::2], links.T[::-1])
    assert np.array_equal(graph.y, y)
    for mask, part in zip(graph.splits["public"][:, 0], parts, strict=True):
        assert np.array_equal(np.flatnonzero(mask), np.sort(part))
    assert graph.fingerprint() == StoredGraph.checked(x, graph.edge_index, y).fingerprint()


def test_blocks_are_as_large_as_asked(layout):
    folder, (x, *_rest) = layout
    blocks = list(number_blocks(folder / "raw" / "node-feat.csv.gz", None, 200, np.float32))
    assert len(blocks) > 5 and max(len(block) for block in blocks) < 20
    assert np.array_equal(np.concatenate(blocks), x)


def test_memory_does_not_grow_with_the_graph(tmp_path):
    peaks = []
    for number, size in enumerate((10_000, 40_000)):
        folder = tmp_path / str(number)
        write_layout(folder, size, 5 * size, 8, digits=2)
        tracemalloc.start()
        prepare_ogb(folder, tmp_path / f"out{number}", block_bytes=1 << 16)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    on_disk = sum(path.stat().st_size for path in (tmp_path / "out1").iterdir())
    # What may grow is a few bytes per node (labels and split); features and edges are two hundred.
    assert peaks[1] < on_disk / 3
    assert peaks[1] - peaks[0] < 25 * 30_000


def test_products_load_by_name_once_the_raw_folder_is_there(layout, cache):
    folder, (x, _links, y, parts) = layout
    data = load_dataset("ogbn-products", 0, "public", data_root=folder.parent)
    assert torch.equal(data.x, torch.from_numpy(x))
    assert data.edge_index.shape == (2, 240) and data.edge_index.dtype == torch.int64
    assert data.test_mask.nonzero().view(-1).tolist() == sorted(parts[2].tolist())
    assert (cache / "ogbn-products" / "graph.json").exists()
    # The prepared copy is enough from now on.
    again = load_dataset("ogbn-products", 0, "public")
    assert again.fingerprint == data.fingerprint and torch.equal(again.y, torch.from_numpy(y))


def test_changing_loaded_data_leaves_the_files_alone(layout, cache):
    folder, _ = layout
    data = load_dataset("ogbn-products", 0, "public", data_root=folder.parent)
    data.x.zero_()
    data.edge_index.zero_()
    assert load_dataset("ogbn-products", 0, "public").fingerprint == data.fingerprint


def test_without_the_raw_folder_the_way_is_told(cache):
    with pytest.raises(InputError, match="unpack OGB's raw folder as ogbn_products/raw"):
        load_dataset("ogbn-products")


def test_unlabelled_nodes_are_kept_as_such(layout, tmp_path):
    folder, (_x, _links, y, parts) = layout
    text = ["nan" if node == parts[2][0] else str(float(label)) for node, label in enumerate(y)]
    write(folder / "raw" / "node-label.csv.gz", "\n".join(text))
    with pytest.raises(InputError, match="has no label"):
        prepare_ogb(folder, tmp_path / "out")
    write(folder / "split" / "sales_ranking" / "test.csv.gz", lines(parts[2][1:, None]))
    prepare_ogb(folder, tmp_path / "out")
    assert np.flatnonzero(read_array_folder(tmp_path / "out").y == -1).tolist() == [parts[2][0]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("raw/edge", "0,1\n", "has 1 lines, the num-\\*-list files name 120"),
        ("raw/edge", "0,1\n" * 121, "more than the 120 lines"),
        ("raw/edge", "0,50\n" * 120, r"nodes 0\.\.49, got 0\.\.50"),
        ("raw/edge", "0,1,2\n" * 120, "2 numbers per line"),
        ("raw/edge", "0,x\n" * 120, "no number"),
        ("raw/node-feat", "1,2,3,4\n" * 49, "has 49 lines"),
        ("raw/node-feat", "1,2,3,nan\n" * 50, "NaN"),
        ("raw/node-feat", "1,2,3,4\n" * 49 + "1,2,3\n", "4 numbers per line"),
        ("raw/node-label", "0.5\n" * 50, "class numbers"),
        ("raw/num-node-list", "50\n51\n", "one number"),
        ("split/sales_ranking/train", "50\n", r"nodes 0\.\.49"),
        ("split/sales_ranking/test", "0\n" * 2 + "\n".join(map(str, range(50))), "another part"),
    ],
)
def test_wrong_files_are_named_and_leave_nothing(layout, tmp_path, name, text, message):
    folder, _ = layout
    write(folder / f"{name}.csv.gz", text)
    with pytest.raises(InputError, match=message):
        prepare_ogb(folder, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root"]


def test_a_cut_or_missing_file_is_refused(layout, tmp_path):
    folder, _ = layout
    path = folder / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"edge\.csv\.gz is cut short"):
        prepare_ogb(folder, tmp_path / "out")
    path.unlink()
    with pytest.raises(InputError, match=r"lacks raw/edge\.csv\.gz"):
        prepare_ogb(folder, tmp_path / "out")


def test_an_altered_prepared_folder_is_refused(layout, tmp_path):
    folder, _ = layout
    out = tmp_path / "out"
    prepare_ogb(folder, out)
    with pytest.raises(InputError, match="fingerprint 0123"):
        read_array_folder(out, expected="0123")
    y = np.load(out / "y.npy")
    y[7] = (y[7] + 1) % 5
    np.save(out / "y.npy", y)
    with pytest.raises(InputError, match="was altered"):
        read_array_folder(out)
    content = (out / "x.npy").read_bytes()
    (out / "x.npy").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="no whole graph folder"):
        read_array_folder(out)
    (out / "graph.json").write_text(json.dumps({"format": "other"}))
    with pytest.raises(InputError, match="names the format 'other'"):
        read_array_folder(out)
