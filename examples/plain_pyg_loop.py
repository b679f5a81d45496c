"""Posterior label smoothing in a plain PyG loop: a transform, and cross entropy on ``data.soft_y``.

One GCN is trained three times, on one-hot labels, on uniformly smoothed ones and on posterior ones; the epoch is
chosen by the loss of the validation nodes on their hard labels. Run: python examples/plain_pyg_loop.py [DATASET],
where DATASET is a name or the path of a graph file (POSTEL_DATA may name a folder of them).
"""

import sys

import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

from postel import OneHot, PosteL, UniformSmoothing, load_dataset

EPOCHS = 80
METHODS = {"one-hot": OneHot(), "uniform": UniformSmoothing(0.3), "posterior": PosteL(alpha=0.5, beta=0.4)}


class GCN(torch.nn.Module):
    def __init__(self, in_channels, out_channels, hidden=64):
        super().__init__()
        self.first, self.last = GCNConv(in_channels, hidden), GCNConv(hidden, out_channels)

    def forward(self, x, edge_index):
        x = F.dropout(self.first(x, edge_index).relu(), 0.5, self.training)
        return self.last(x, edge_index)


def test_accuracy(data):
    torch.manual_seed(0)
    model = GCN(data.num_features, data.num_classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    lowest, accuracy = float("inf"), 0.0
    for _ in range(EPOCHS):
        model.train()
        optimizer.zero_grad()
        logits = model(data.x, data.edge_index)
        F.cross_entropy(logits[data.train_mask], data.soft_y[data.train_mask]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            logits = model(data.x, data.edge_index)
        val_loss = F.cross_entropy(logits[data.val_mask], data.y[data.val_mask]).item()
        if val_loss < lowest:
            right = logits.argmax(1)[data.test_mask] == data.y[data.test_mask]
            lowest, accuracy = val_loss, right.double().mean().item()
    return accuracy


graph = load_dataset(sys.argv[1] if len(sys.argv) > 1 else "csbm-heterophilic", split=0)
node = int(graph.train_mask.nonzero()[0])
for name, smoother in METHODS.items():
    data = smoother(graph)  # a shallow copy with soft_y [N, K]; only labels under train_mask are read
    row = " ".join(f"{share:.3f}" for share in data.soft_y[node])
    print(f"{name:9}  test accuracy {test_accuracy(data):.3f}  label of node {node}: {row}")
print(f"majority class of the test nodes: {graph.y[graph.test_mask].bincount().max() / graph.test_mask.sum():.3f}")
