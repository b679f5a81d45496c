"""``NodeClassifier(batch_size=...)`` on torch_geometric's loader and on ours: the same model either way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
import torch
import torch_geometric.loader
from torch import Tensor
from torch_geometric.data import Data

from postel import NodeClassifier, PosteL, load_dataset
from postel.training import loader


class PlainLoader:
    """What torch_geometric's ``NeighborLoader`` does with all neighbors, where its compiled samplers are missing.

    Nodes that a hop brings in come in another order than ours, so that equal models are no accident.
    """

    seen: list[list[int]]

    def __init__(
        self,
        data: Data,
        *,
        num_neighbors: Sequence[int],
        batch_size: int,
        input_nodes: Tensor,
        sampler: Iterable[int],
    ) -> None:
        assert list(num_neighbors) == [-1, -1]
        self.data, self.batch_size, self.nodes, self.sampler = data, batch_size, input_nodes, sampler

    def __iter__(self) -> Iterator[Data]:
        edges = self.data.edge_index.t().tolist()
        for places in torch.tensor(list(self.sampler)).split(self.batch_size):
            seeds = self.nodes[places].tolist()
            self.seen.append(seeds)
            nodes, frontier, kept = list(seeds), set(seeds), []
            for _ in range(2):
                hop = [(source, target) for source, target in edges if target in frontier]
                kept += hop
                frontier = {source for source, _ in hop} - set(nodes)
                nodes += sorted(frontier, reverse=True)
            place = {node: number for number, node in enumerate(nodes)}
            index = torch.tensor(nodes)
            yield Data(
                x=self.data.x[index],
                soft_y=self.data.soft_y[index],
                edge_index=torch.tensor([[place[s], place[t]] for s, t in kept]).t(),
                batch_size=len(seeds),
            )


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> type[PlainLoader]:
    monkeypatch.setattr(PlainLoader, "seen", [], raising=False)
    monkeypatch.setattr(loader, "compiled_sampler", lambda: True)
    monkeypatch.setattr(torch_geometric.loader, "NeighborLoader", PlainLoader)
    return PlainLoader


def fitted(data: Data, **changes: Any) -> NodeClassifier:
    settings: dict[str, Any] = {"max_epochs": 4, "pseudo_labels": 1, "backbone_args": {"dropout": 0.0}, **changes}
    return NodeClassifier("gcn", smoother=PosteL(), batch_size=5, num_neighbors=(-1, -1), **settings).fit(data)


def test_both_loaders_give_the_same_model(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    data = load_dataset("karate")
    data.edge_index = torch.cat([data.edge_index, torch.tensor([[3, 7], [3, 7]])], dim=1)  # and self-loops
    ours = fitted(data)
    batches: list[list[int]] = []
    sample = loader.NeighborSampler.sample

    def noting(self: Any, seeds: Tensor) -> Any:
        batches.append(seeds.tolist())
        return sample(self, seeds)

    monkeypatch.setattr(loader.NeighborSampler, "sample", noting)
    fitted(data)
    theirs_loader = request.getfixturevalue("compiled")
    theirs = fitted(data)
    assert theirs_loader.seen == batches and len(batches) > 8  # the same batches in the same order
    torch.testing.assert_close(theirs.logits_, ours.logits_, rtol=1e-4, atol=1e-5)
    assert torch.equal(theirs.predict(data), ours.predict(data))
    assert theirs.result_.test.accuracy == ours.result_.test.accuracy
