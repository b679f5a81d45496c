"""Your own PyG model on posterior soft labels with iterative pseudo-labels: fit, score, save, load.

The model is any function (in_channels, out_channels) -> module that is called as module(x, edge_index).
Run: python examples/own_model_with_pseudo_labels.py [FOLDER]; the model is kept in FOLDER if there is one.
"""

import sys
import tempfile

import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv

from postel import NodeClassifier, PosteL, load_dataset


class SAGE(torch.nn.Module):
    def __init__(self, in_channels, out_channels, hidden):
        super().__init__()
        self.first, self.last = SAGEConv(in_channels, hidden), SAGEConv(hidden, out_channels)

    def forward(self, x, edge_index):
        x = F.dropout(self.first(x, edge_index).relu(), 0.5, self.training)
        return self.last(x, edge_index)


def model_fn(in_channels, out_channels, hidden=32):
    return SAGE(in_channels, out_channels, hidden)


data = load_dataset("csbm-heterophilic", split=0)
model = NodeClassifier(
    model_fn,
    backbone_args={"hidden": 32},
    smoother=PosteL(alpha=0.5, beta=0.4),
    pseudo_labels=True,  # until a round no longer lowers the validation loss
    lr=0.02,
    max_epochs=200,
    window=50,
).fit(data)

print("round  validation loss  pseudo-labels of test nodes that were right")
for entry in model.history_:
    right = f"{entry.agreement['test']:.3f}" if entry.agreement else "none yet"
    print(f"{entry.round:5}  {entry.val_loss:15.4f}  {right}")
test = model.result_.test
print(f"kept round {model.result_.best_round} of {model.result_.trainings} trainings")
print(f"test accuracy {test.accuracy:.3f}, majority class {test.majority:.3f}, calibration error {test.ece:.3f}")

with tempfile.TemporaryDirectory() as temporary:
    folder = sys.argv[1] if len(sys.argv) > 1 else temporary
    model.save(folder)
    again = NodeClassifier.load(folder, backbone=model_fn)  # a network of your own needs its function again
    print(f"loaded: test accuracy {again.score(data, data.test_mask):.3f}")
    print(f"same probabilities: {torch.equal(again.predict_proba(data), model.predict_proba(data))}")
