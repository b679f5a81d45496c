"""GPR-GNN (Chien et al., 2021): class scores from the features, spread by a learned polynomial."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from postel.backbones.appnp import pagerank_coefficients
from postel.backbones.base import Backbone
from postel.backbones.layers import Extractor
from postel.backbones.polynomial import polynomial
from postel.checks import check_count, check_rate
from postel.graph import Graph
from postel.graph.bernoulli import dropout as drop


class GPRGNN(Backbone):
    """``Σ_k γ_k P^k · dropout(mlp(x))`` with learned γ that start at personalised PageRank's.

    ``teleport`` is the original's alpha. γ has no weight decay.

    >>> GPRGNN(4, 2, teleport=0.5, steps=2).gamma.tolist()
    [0.5, 0.25, 0.25]
    """

    name = "gprgnn"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        steps: int = 10,
        teleport: float = 0.1,
        propagation_dropout: float = 0.5,
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.propagation_dropout = check_rate("propagation_dropout", propagation_dropout)
        self.extract = Extractor(
            in_channels,
            check_count("hidden", hidden),
            out_channels,
            num_layers=check_count("num_layers", num_layers, 2),
            dropout=check_rate("dropout", dropout),
        )
        self.gamma = nn.Parameter(pagerank_coefficients(steps, teleport))

    def decode(self, graph: Graph, encoded: Tensor | None) -> Tensor:
        """Logits [N, K]."""
        scores = drop(self.extract(graph), self.propagation_dropout, self.training)
        return polynomial(graph.gcn, self.gamma, scores)

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """The extractor's parameters, and γ without weight decay."""
        return [
            {"params": list(self.extract.parameters()), "lr": lr, "weight_decay": weight_decay},
            {"params": [self.gamma], "lr": lr, "weight_decay": 0.0},
        ]
