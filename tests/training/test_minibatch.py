"""Sampling, batches and layer-wise evaluation."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

from postel.backbones import BACKBONES, attention, make_backbone
from postel.errors import InputError
from postel.graph import Features, Graph, LargeGraph, Neighbors
from postel.smoothers import ALS, PosteL
from postel.training import (
    NeighborBatches,
    NodeClassifier,
    Settings,
    Watch,
    classifier,
    layerwise_logits,
    loader,
    neighbor_loader,
    train_in_batches,
)
from postel.training.sampling import NeighborSampler, distinct_integers

NODES = 120


def _data(seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(NODES) % 3
    x = torch.rand(NODES, 8, generator=generator) * 2 + F.one_hot(y, 8)
    pairs = torch.randint(0, NODES, (2, 1500), generator=generator)
    edges = pairs[:, (y[pairs[0]] == y[pairs[1]]) | (torch.rand(1500, generator=generator) < 0.1)]
    place = torch.randperm(NODES, generator=generator)
    masks = {
        f"{name}_mask": torch.zeros(NODES, dtype=torch.bool).index_fill(0, nodes, True)
        for name, nodes in (("train", place[:50]), ("val", place[50:80]), ("test", place[80:]))
    }
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1), y=y, **masks)


def test_subsets_are_distinct_and_equally_likely():
    rng = np.random.default_rng(0)
    drawn = distinct_integers(np.full(60_000, 5), 3, rng)
    counts = Counter(tuple(sorted(row)) for row in drawn.tolist())
    assert set(counts) == set(combinations(range(5), 3))
    expected = 60_000 / 10
    assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())
    hubs = distinct_integers(np.array([10**9, 4]), 4, rng)
    assert len(set(hubs[0].tolist())) == 4 and sorted(hubs[1].tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("fanouts", [[2], [3, 2], [-1, 1]])
def test_sampled_edges_are_real_distinct_and_as_many_as_asked(fanouts):
    data = _data()
    edge_index = torch.unique(
        data.edge_index, dim=1
    )  # without repeated entries, distinct places are distinct edges
    neighbors = Neighbors.from_edge_index(edge_index, NODES)
    real = set(map(tuple, edge_index.t().tolist()))
    degrees = np.diff(neighbors.offsets)
    sampler = NeighborSampler(neighbors, fanouts, seed=1)
    for seeds in (torch.tensor([5, 3]), torch.arange(40)):
        nodes, edges = sampler.sample(seeds)
        assert nodes[: seeds.numel()].tolist() == seeds.tolist()
        assert nodes.unique().numel() == nodes.numel()
        found = [tuple(pair) for pair in nodes[edges].t().tolist()]
        assert len(set(found)) == len(found) and set(found) <= real
        per_target = Counter(target for _, target in found)
        for seed in seeds.tolist():
            wanted = degrees[seed] if fanouts[0] == -1 else min(fanouts[0], degrees[seed])
            assert per_target[seed] == wanted
        assert (sampler._place == -1).all()


def test_every_source_is_drawn_equally_often():
    star = torch.stack([torch.arange(1, 9), torch.zeros(8, dtype=torch.int64)])
    sampler = NeighborSampler(Neighbors.from_edge_index(star, 9), [2], seed=0)
    counts = Counter()
    for _ in range(4000):
        nodes, _ = sampler.sample(torch.tensor([0]))
        counts.update(nodes[1:].tolist())
    assert all(abs(counts[node] - 1000) < 5 * 1000**0.5 for node in range(1, 9))


def test_complete_samples_give_the_full_graphs_logits():
    """With all sources at every hop, a network that normalizes by target only sees no difference."""
    data = _data()
    backbone = make_backbone("ordered_gnn", 8, 3, hidden=8, chunk=4).eval()
    full = backbone(Graph(Features.from_dense(data.x), data.edge_index))
    batches = NeighborBatches(data, torch.arange(NODES), num_neighbors=[-1, -1], batch_size=7, shuffle=False)
    parts = [backbone(Graph(Features.from_dense(b.x), b.edge_index))[: b.batch_size] for b in batches]
    assert torch.allclose(torch.cat(parts), full, atol=1e-5)


def test_batches_carry_every_node_attribute_and_visit_each_node_once():
    data = PosteL()(_data())
    chosen = data.train_mask.nonzero().view(-1)
    batches = NeighborBatches(data, chosen, num_neighbors=[4, 2], batch_size=8, seed=2)
    orders = []
    for _ in range(2):
        seen = []
        for batch in batches:
            for name in ("x", "y", "soft_y", "train_mask"):
                assert torch.equal(batch[name], data[name][batch.n_id])
            seen += batch.n_id[: batch.batch_size].tolist()
        assert sorted(seen) == chosen.tolist() and len(batches) == 7
        orders.append(seen)
    assert orders[0] != orders[1]
    again = NeighborBatches(data, chosen, num_neighbors=[4, 2], batch_size=8, seed=2)
    assert [n for b in again for n in b.n_id[: b.batch_size].tolist()] == orders[0]


@pytest.mark.parametrize("name", BACKBONES)
def test_layerwise_logits_equal_the_full_forward(name, monkeypatch):
    data = _data()
    monkeypatch.setattr(Neighbors.blocks, "__defaults__", (50,))
    monkeypatch.setattr(attention, "BLOCK_MESSAGES", 2000)
    backbone = make_backbone(name, 8, 3)
    features = Features.from_dense(data.x)
    whole = LargeGraph(features, Neighbors.from_edge_index(data.edge_index, NODES))
    ours = layerwise_logits(backbone, whole)
    with torch.no_grad():
        expected = backbone.eval()(Graph(features, data.edge_index))
    assert torch.allclose(ours, expected, atol=1e-4)


def test_torch_geometrics_loader_is_used_where_its_samplers_are(monkeypatch):
    import torch_geometric.loader

    taken = {}
    monkeypatch.setattr(loader, "compiled_sampler", lambda: True)
    monkeypatch.setattr(torch_geometric.loader, "NeighborLoader", lambda data, **options: taken.update(options))
    neighbor_loader(_data(), torch.tensor([1]), num_neighbors=(3, 2), batch_size=5)
    assert taken["num_neighbors"] == [3, 2] and taken["batch_size"] == 5 and taken["input_nodes"].tolist() == [1]
    monkeypatch.undo()
    if not loader.compiled_sampler():
        assert isinstance(neighbor_loader(_data(), torch.tensor([1])), NeighborBatches)


@pytest.mark.parametrize("make", [NeighborBatches, neighbor_loader])
def test_input_nodes_are_ids_or_a_mask_as_in_torch_geometric(make):
    data = _data()
    ids = data.train_mask.nonzero().view(-1)
    options = {"num_neighbors": (3, 2), "batch_size": 16, "shuffle": False}
    by_mask, by_ids = (list(make(data, nodes, **options)) for nodes in (data.train_mask, ids))
    assert [batch.n_id.tolist() for batch in by_mask] == [batch.n_id.tolist() for batch in by_ids]
    assert torch.cat([batch.n_id[: batch.batch_size] for batch in by_mask]).equal(ids)
    everyone = list(make(data, **options))
    assert torch.cat([batch.n_id[: batch.batch_size] for batch in everyone]).equal(torch.arange(NODES))


def test_a_mask_reaches_the_compiled_loader_as_ids(monkeypatch):
    import torch_geometric.loader

    taken = {}
    monkeypatch.setattr(loader, "compiled_sampler", lambda: True)
    monkeypatch.setattr(torch_geometric.loader, "NeighborLoader", lambda data, **options: taken.update(options))
    data = _data()
    neighbor_loader(data, data.train_mask)
    assert taken["input_nodes"].equal(data.train_mask.nonzero().view(-1)) and taken["batch_size"] == 1024


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        (torch.tensor([True, False]), r"input_nodes must be a boolean tensor of shape \[120\]"),
        (torch.tensor([0.0]), r"input_nodes must be a boolean tensor of shape \[120\] or node ids"),
        (torch.tensor([[0]]), r"input_nodes must be a boolean tensor of shape \[120\] or node ids"),
        ([0], r"input_nodes must be a boolean tensor of shape \[120\] or node ids"),
        (torch.tensor([0, 120]), r"input_nodes must name nodes in \[0, 119\], got 120"),
        (torch.tensor([-1]), r"input_nodes must name nodes in \[0, 119\], got -1"),
    ],
)
def test_wrong_input_nodes_are_one_sentence(nodes, sentence):
    with pytest.raises(InputError, match=sentence):
        neighbor_loader(_data(), nodes)


def _fit(seed=0, **changes):
    settings = {"max_epochs": 12, "batch_size": 16, "num_neighbors": (5, 5), "lr": 0.02, "seed": seed}
    return NodeClassifier("gcn", **{**settings, **changes}).fit(_data())


def test_batches_learn_repeat_themselves_and_leave_generators_alone():
    torch.manual_seed(4)
    expected = torch.rand(2)
    torch.manual_seed(4)
    model = _fit()
    assert torch.equal(torch.rand(2), expected)
    assert model.result_.test.accuracy > 0.8
    assert torch.equal(model.logits_, _fit().logits_) and not torch.equal(model.logits_, _fit(seed=1).logits_)
    assert torch.allclose(model.decision_function(_data()), model.logits_)
    full = NodeClassifier("gcn", max_epochs=1).fit(_data())
    full.backbone_ = model.backbone_
    assert torch.allclose(full.decision_function(_data()), model.logits_, atol=1e-4)


def test_batches_work_with_pseudo_labels_and_are_saved(tmp_path):
    model = _fit(smoother=PosteL(), pseudo_labels=1, max_epochs=4)
    assert model.result_.trainings == 2
    model.save(tmp_path)
    assert torch.equal(NodeClassifier.load(tmp_path).predict_proba(_data()), model.predict_proba(_data()))


def test_best_pass_is_kept():
    data = _data()
    data.soft_y = F.one_hot(data.y.roll(1), 3).float()  # wrong targets, so that the validation loss rises
    whole = LargeGraph(Features.from_dense(data.x), Neighbors.from_edge_index(data.edge_index, NODES))
    batches = NeighborBatches(data, data.train_mask.nonzero().view(-1), batch_size=20)
    watch = Watch({"val": (data.val_mask.nonzero().view(-1), data.y[data.val_mask])}, NODES)
    make = lambda: make_backbone("gcn", 8, 3)  # noqa: E731
    outcome = train_in_batches(make, batches, whole, watch, Settings(lr=0.01, max_epochs=6))
    losses = outcome.curves.loss["val"]
    assert outcome.best_epoch == losses.index(min(losses)) + 1 < 6 == len(outcome.curves.objective)
    assert torch.equal(layerwise_logits(outcome.backbone, whole), outcome.logits)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number above 0"),
        ({"num_neighbors": ()}, "at least one hop"),
        ({"num_neighbors": (3, 0)}, r"above 0 or -1 for all, got \[3, 0\]"),
        ({"smoother": ALS()}, "train this method with batch_size=None"),
        ({"device": "meta"}, "batches are trained on the CPU"),
    ],
)
def test_bad_batch_settings_are_one_sentence(changes, sentence, monkeypatch):
    # A device that every machine has besides the CPU, which is refused before as one that cannot compute.
    monkeypatch.setattr(classifier, "check_device", lambda device: None)
    with pytest.raises(InputError, match=sentence):
        _fit(**changes)
