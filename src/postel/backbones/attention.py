"""Attention over edges: softmax per target node and weighted sum of sources, for all heads in one sparse product.

Node i and head h are row ``i * heads + h`` of one matrix, so that activations [N, heads * D] are its input
[N * heads, D] without a copy, and no message is ever stored per edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from postel.graph import Graph, Neighbors
from postel.graph.bernoulli import keep_bits
from postel.graph.operators import without_self_loops
from postel.graph.sparse import csr_like, csr_product

NEGATIVE_SLOPE = 0.2
# Numbers in the messages of one block of a large graph.
BLOCK_MESSAGES = 50_000_000


@dataclass(frozen=True)
class AttentionPattern:
    """Where the attention weights [E * heads] lie: by target in compressed rows, and where that is by source."""

    size: int
    offsets: Tensor
    wide_offsets: Tensor
    sources: Tensor
    targets: Tensor
    offsets_by_source: Tensor
    targets_by_source: Tensor
    order_by_source: Tensor

    def matrix(self, values: Tensor) -> Tensor:
        """The sparse matrix [N * heads, N * heads] with these weights."""
        return csr_like(self.offsets, self.sources, values, (self.size, self.size))

    def transposed(self, values: Tensor) -> Tensor:
        """Its transpose."""
        turned = values.index_select(0, self.order_by_source)
        return csr_like(self.offsets_by_source, self.targets_by_source, turned, (self.size, self.size))

    def inner_products(self, by_target: Tensor, by_source: Tensor) -> Tensor:
        """``<by_target_i, by_source_j>`` [E * heads] for every edge from j to i, of rows [N * heads, D]."""
        if self.sources.numel() > self.size**2:
            # torch takes no sparse matrix with more entries than cells, which repeated edges can give.
            return (by_target[self.targets.long()] * by_source[self.sources.long()]).sum(1)
        zeros = by_source.new_zeros(self.sources.numel())
        return torch.sparse.sampled_addmm(self.matrix(zeros), by_target, by_source.t(), beta=0.0).values()

    def sum_by_target(self, values: Tensor) -> Tensor:
        """Sums [N * heads] of the weights over each target's edges."""
        return torch.mv(self.matrix(values), values.new_ones(self.size))


def attention_pattern(graph: Graph, heads: int) -> AttentionPattern:
    """The pattern of ``graph`` with exactly one self-loop a node; repeated edges stay apart. Kept in the graph.

    >>> from torch_geometric.data import Data
    >>> from postel.graph import prepare
    >>> graph = prepare(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]])))
    >>> pattern = attention_pattern(graph, heads=1)
    >>> pattern.targets.tolist(), pattern.sources.tolist()
    ([0, 1, 1], [0, 0, 1])
    """
    return graph.made(f"attention-{heads}", lambda: _pattern(graph.edge_index, graph.num_nodes, heads))


def _pattern(edge_index: Tensor, num_nodes: int, heads: int) -> AttentionPattern:
    source, target = without_self_loops(edge_index)
    nodes = torch.arange(num_nodes, device=edge_index.device)
    each = torch.arange(heads, device=edge_index.device)
    source = (torch.cat([source, nodes]).unsqueeze(1) * heads + each).view(-1)
    target = (torch.cat([target, nodes]).unsqueeze(1) * heads + each).view(-1)
    size = num_nodes * heads
    by_target = torch.argsort(target * size + source, stable=True)
    source, target = source[by_target], target[by_target]
    by_source = torch.argsort(source, stable=True)
    small = max(size, source.numel()) < 2**31
    index = torch.int32 if small else torch.int64
    return AttentionPattern(
        size=size,
        offsets=_offsets(target, size).to(index),
        wide_offsets=_offsets(target, size),
        sources=source.to(index),
        targets=target.to(index),
        offsets_by_source=_offsets(source, size).to(index),
        targets_by_source=target[by_source].to(index),
        order_by_source=by_source,
    )


def _offsets(row: Tensor, size: int) -> Tensor:
    counts = torch.bincount(row, minlength=size)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, pattern: AttentionPattern, by_source: Tensor, by_target: Tensor, values: Tensor, p: float
    ) -> Tensor:
        scores = by_source.index_select(0, pattern.sources).add_(by_target.index_select(0, pattern.targets))
        slopes = torch.where(scores > 0, 1.0, NEGATIVE_SLOPE)
        scores.mul_(slopes)
        highest = torch.segment_reduce(scores, "max", offsets=pattern.wide_offsets, unsafe=True)
        weights = scores.sub_(highest.index_select(0, pattern.targets)).exp_()
        total = pattern.sum_by_target(weights)
        weights.div_(total.index_select(0, pattern.targets))
        kept = weights
        ctx.keep = None
        if p > 0.0:
            bits, probability = keep_bits(weights.numel(), 1.0 - p, weights.device)
            ctx.keep = (bits, 1.0 / probability)
            kept = torch.mul(weights, bits).mul_(1.0 / probability)
        ctx.pattern = pattern
        ctx.save_for_backward(slopes, weights, kept, values)
        return csr_product(pattern.matrix(kept), values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor, Tensor, None]:
        slopes, weights, kept, values = ctx.saved_tensors
        pattern: AttentionPattern = ctx.pattern
        grad = grad.contiguous()
        values_grad = csr_product(pattern.transposed(kept), grad)
        # The gradient of a weight is the inner product of its target's gradient and its source's value.
        each = pattern.inner_products(grad, values)
        if ctx.keep is not None:
            bits, scale = ctx.keep
            each = torch.mul(each, bits).mul_(scale)
        each = each * weights
        mean = pattern.sum_by_target(each)
        each.sub_(weights * mean.index_select(0, pattern.targets)).mul_(slopes)
        source_grad = torch.mv(pattern.transposed(each), each.new_ones(pattern.size))
        return None, source_grad, pattern.sum_by_target(each), values_grad, None


def attend(
    pattern: AttentionPattern, by_source: Tensor, by_target: Tensor, values: Tensor, p: float, training: bool
) -> Tensor:
    """Σ_j a_ij · values_j [N * heads, D] with a = softmax over j of leaky_relu(by_source_j + by_target_i).

    Scores are [N * heads]; ``p`` is the dropout on the weights a, in training.

    >>> from torch_geometric.data import Data
    >>> from postel.graph import prepare
    >>> pattern = attention_pattern(prepare(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]))), heads=1)
    >>> zeros = torch.zeros(2)
    >>> attend(pattern, zeros, zeros, torch.tensor([[1.0], [3.0]]), 0.5, training=False).tolist()
    [[1.0], [2.0]]
    """
    return _Attend.apply(pattern, by_source, by_target, values, p if training else 0.0)


def attend_in_blocks(neighbors: Neighbors, by_source: Tensor, by_target: Tensor, values: Tensor) -> Tensor:
    """The same as :func:`attend` in evaluation, for scores [N, heads] and values [N, heads, D] of a large graph.

    Targets are taken block by block, so only a block's messages are in memory at once.

    >>> neighbors = Neighbors.from_edge_index(torch.tensor([[0], [1]]), 2)
    >>> zeros = torch.zeros(2, 1)
    >>> attend_in_blocks(neighbors, zeros, zeros, torch.tensor([[[1.0]], [[3.0]]])).flatten().tolist()
    [1.0, 2.0]
    """
    out = torch.empty_like(values)
    for first, last in neighbors.blocks(entries=BLOCK_MESSAGES // (values.shape[1] * values.shape[2])):
        low, high = int(neighbors.offsets[first]), int(neighbors.offsets[last])
        counts = torch.from_numpy(np.diff(neighbors.offsets[first : last + 1]))
        rows = torch.arange(first, last)
        source = torch.cat([torch.from_numpy(neighbors.sources[low:high]).long(), rows])
        target = torch.cat([rows.repeat_interleave(counts), rows])
        local = target - first
        scores = leaky_relu(by_source[source] + by_target[target], NEGATIVE_SLOPE)
        spread = local.unsqueeze(1).expand_as(scores)
        highest = torch.full((last - first, scores.shape[1]), -torch.inf).scatter_reduce(0, spread, scores, "amax")
        weights = (scores - highest[local]).exp_()
        total = torch.zeros_like(highest).index_add_(0, local, weights)
        summed = torch.zeros((last - first, *values.shape[1:]))
        summed.index_add_(0, local, weights.unsqueeze(-1) * values[source])
        out[first:last] = summed / total.unsqueeze(-1)
    return out
