"""A labelled graph is a Data that was prepared before: the same models come of both, to the bit."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from postel.errors import InputError
from postel.graph import LabelledGraph, prepare
from postel.smoothers import ALS, PosteL
from postel.training import NodeClassifier, classifier


def _data(sparse: bool) -> Data:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 3
    x = torch.rand(60, 16, generator=generator)
    if sparse:
        x = x * (torch.rand(60, 16, generator=generator) < 0.15)
    part = torch.randint(0, 3, (60,), generator=generator)
    edges = torch.randint(0, 60, (2, 300), generator=generator)
    return Data(
        x=x,
        edge_index=torch.cat([edges, edges.flip(0)], 1),
        y=y,
        train_mask=part == 0,
        val_mask=part == 1,
        test_mask=part == 2,
    )


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("backbone", ["gcn", "gat", "ordered_gnn"])
def test_fit_and_predict_are_the_same_on_a_prepared_graph(sparse, backbone):
    data = _data(sparse)
    kept = LabelledGraph.from_data(data)
    for smoother in (PosteL(), ALS()):
        settings = {"smoother": smoother, "pseudo_labels": 1, "max_epochs": 12}
        plain, shared = (NodeClassifier(backbone, **settings).fit(given) for given in (data, kept))
        assert torch.equal(plain.logits_, shared.logits_)
        assert plain.result_.val == shared.result_.val and plain.result_.test == shared.result_.test
        assert torch.equal(plain.predict_proba(data), shared.predict_proba(kept))
        assert torch.equal(plain.predict(data), shared.predict(kept.graph))
        assert plain.score(data) == shared.score(kept) == shared.score(kept, data.test_mask)


def test_splits_share_the_graph_and_what_was_made_from_it():
    data = _data(sparse=True)
    kept = LabelledGraph.from_data(data)
    other = kept.with_masks(data.val_mask, data.train_mask, data.test_mask)
    model = NodeClassifier("gcn", max_epochs=5)
    model.fit(kept)
    made = kept.graph.gcn
    swapped = model.fit(other).logits_
    assert other.graph.gcn is made
    data.train_mask, data.val_mask = data.val_mask, data.train_mask
    assert torch.equal(model.fit(data).logits_, swapped)
    model.fit(kept.with_masks(data.val_mask, data.train_mask))
    assert model.result_.test is None


def test_batches_take_a_prepared_graph_too():
    data = _data(sparse=False)
    kept = LabelledGraph.from_data(data)
    plain, shared = (
        NodeClassifier("gcn", batch_size=8, max_epochs=3, num_neighbors=(3, 3)).fit(given)
        for given in (data, kept)
    )
    assert torch.equal(plain.logits_, shared.logits_)
    assert torch.equal(plain.predict(data), shared.predict(kept.graph))


def test_the_number_of_classes_comes_along():
    data = _data(sparse=False)
    assert LabelledGraph.from_data(data).num_classes is None
    data.num_classes = 5
    kept = LabelledGraph.from_data(data)
    assert kept.num_classes == 5
    assert NodeClassifier("gcn", max_epochs=2).fit(kept).logits_.shape == (60, 5)
    assert NodeClassifier("gcn", max_epochs=2, num_classes=6).fit(kept).logits_.shape == (60, 6)


def test_what_does_not_fit_is_told_in_a_sentence(monkeypatch):
    data = _data(sparse=False)
    with pytest.raises(InputError, match=r"data\.train_mask must be a boolean tensor of shape \[60\]"):
        NodeClassifier("gcn").fit(LabelledGraph(prepare(data), data.y))
    with monkeypatch.context() as patched:
        # A device that every machine has besides the CPU; it is refused as one that cannot compute.
        patched.setattr(classifier, "check_device", lambda device: None)
        with pytest.raises(InputError, match="the graph was prepared on cpu, but device='meta'; prepare it there"):
            NodeClassifier("gcn", device="meta").fit(LabelledGraph.from_data(data))
    with pytest.raises(InputError, match=r"data\.y must be an integer tensor"):
        LabelledGraph.from_data(Data(x=data.x, edge_index=data.edge_index))
    model = NodeClassifier("gcn", max_epochs=2).fit(data)
    with pytest.raises(InputError, match=r"the model was fitted on 16 features, but data\.x has 4"):
        model.predict(prepare(Data(x=torch.ones(60, 4), edge_index=data.edge_index)))
