"""GPR-GNN (Chien et al., 2021): class scores from the features, spread by a learned polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from postel.backbones.appnp import pagerank_coefficients
from postel.backbones.layers import Extractor
from postel.backbones.polynomial import traced_polynomial
from postel.backbones.traced import TracedBackbone
from postel.checks import check_count, check_rate
from postel.graph import Graph
from postel.graph.bernoulli import traced_dropout
from postel.graph.tracing import Back


class GPRGNN(TracedBackbone):
    """``Σ_k γ_k P^k · dropout(mlp(x))`` with learned γ that start at personalized PageRank's.

    γ has no weight decay.

    Args:
        in_channels: Number of features per node.
        out_channels: Number of classes.
        hidden: Width of the hidden layers.
        num_layers: Number of linear layers, at least 2.
        dropout: The dropout rate before every linear layer.
        steps: The highest power of P.
        teleport: The teleport probability that γ starts from; the original calls it alpha.
        propagation_dropout: The dropout rate on the class scores.

    Example:
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

    def trace(self, graph: Graph, training: bool, encoded: Tensor | None = None) -> tuple[Tensor, Back]:
        """Return the logits and the way back.

        Args:
            graph: The prepared graph.
            training: Whether dropout is drawn.
            encoded: Not used: dropout comes first.

        Returns:
            Logits [N, K], and a function from their gradient to those of all parameters in order.
        """
        scores, extract_back = self.extract.trace(graph, training)
        scores, drop_back = traced_dropout(scores, self.propagation_dropout if training else 0.0)
        out, spread_back = traced_polynomial(graph.gcn, self.gamma, scores)

        def back(grad: Tensor) -> Sequence[Any]:
            gamma_grad, scores_grad = spread_back(grad)
            return gamma_grad, *extract_back(drop_back(scores_grad))

        return out, back

    def parameter_groups(self, lr: float, weight_decay: float) -> list[dict[str, Any]]:
        """Return the extractor's parameters, and γ without weight decay.

        Args:
            lr: The run's learning rate.
            weight_decay: The run's weight decay.

        Returns:
            Two groups for Adam.
        """
        return [
            {"params": list(self.extract.parameters()), "lr": lr, "weight_decay": weight_decay},
            {"params": [self.gamma], "lr": lr, "weight_decay": 0.0},
        ]
