"""Attention over edges: softmax per target node and weighted sum of sources, for all heads in one sparse product.

Everything is stored heads first: scores [heads, N], weights [heads, E] with the edges sorted by target, values
[heads * N, D]. Then the weights of one head lie together in the order of compressed rows, a sum over the edges of
each node is one product, and no message is ever stored per edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from postel.graph import Graph, Neighbors
from postel.graph.bernoulli import keep_mask
from postel.graph.operators import without_self_loops
from postel.graph.sparse import csr_like, csr_product
from postel.graph.tracing import Back

NEGATIVE_SLOPE = 0.2
# Numbers in the messages of one block of a large graph.
BLOCK_MESSAGES = 50_000_000
# Numbers that one instruction multiplies.
LANES = 8
# Scores up to this size go through exp as they are: neither it nor a sum of its values overflows or vanishes.
SAFE_SCORE = 60.0


@dataclass(frozen=True)
class AttentionPattern:
    """Where the attention weights of a graph lie; see :func:`attention_pattern`.

    Attributes:
        heads: Number of heads.
        num_nodes: Number of nodes N.
        sources: The source of every edge [E], the edges sorted by target.
        targets: The target of every edge [E].
        order_by_source: Where the edges are when they are sorted by source [E].
        rows: Offsets and columns of the compressed rows of all heads, one head after another.
        columns: The same for the transpose.
        incoming: The matrix [N, E] that sums over the edges to each node.
        outgoing: The matrix [N, E] that sums over the edges from each node.
    """

    heads: int
    num_nodes: int
    sources: Tensor
    targets: Tensor
    order_by_source: Tensor
    rows: tuple[Tensor, Tensor]
    columns: tuple[Tensor, Tensor]
    incoming: Tensor
    outgoing: Tensor

    def matrix(self, weights: Tensor) -> Tensor:
        """Return the block-diagonal sparse matrix with these weights.

        Args:
            weights: The weights [heads, E].

        Returns:
            A CSR tensor [heads * N, heads * N].
        """
        size = self.heads * self.num_nodes
        return csr_like(*self.rows, weights.view(-1), (size, size))

    def transposed(self, weights: Tensor) -> Tensor:
        """Return the transpose of :meth:`matrix`.

        Args:
            weights: The weights [heads, E].

        Returns:
            A CSR tensor [heads * N, heads * N].
        """
        size = self.heads * self.num_nodes
        return csr_like(*self.columns, weights.index_select(1, self.order_by_source).view(-1), (size, size))

    def inner_products(self, by_target: Tensor, by_source: Tensor) -> Tensor:
        """Return ``<by_target_i, by_source_j>`` for every edge from j to i.

        Args:
            by_target: Rows [heads * N, D].
            by_source: Rows [heads * N, D].

        Returns:
            The inner products [heads, E].
        """
        edges, heads = self.sources.numel(), self.heads
        if heads == 1 and by_source.shape[1] < LANES:
            return self._narrow_inner_products(by_target, by_source)
        if edges * heads > (heads * self.num_nodes) ** 2:
            # torch takes no sparse matrix with more entries than cells, which repeated edges can give.
            left = by_target.view(heads, self.num_nodes, -1).index_select(1, self.targets)
            return (left * by_source.view(heads, self.num_nodes, -1).index_select(1, self.sources)).sum(2)
        out = self.matrix(by_source.new_zeros(heads, edges))
        torch.sparse.sampled_addmm(out, by_target, by_source.t(), beta=0.0, out=out)
        return out.values().view(heads, edges)

    def _narrow_inner_products(self, by_target: Tensor, by_source: Tensor) -> Tensor:
        """The same for one head, column by column: for few columns torch's kernel leaves most lanes idle."""
        products = by_target.t().contiguous().index_select(1, self.targets)
        products.mul_(by_source.t().contiguous().index_select(1, self.sources))
        total, *others = products.unbind()
        for other in others:
            total.add_(other)
        return total.view(1, -1)

    def sum_by_target(self, weights: Tensor) -> Tensor:
        """Sum over the edges to each node.

        Args:
            weights: Numbers [heads, E].

        Returns:
            Their sums [heads, N].
        """
        return _sum_edges(self.incoming, weights)

    def sum_by_source(self, weights: Tensor) -> Tensor:
        """Sum over the edges from each node.

        Args:
            weights: Numbers [heads, E].

        Returns:
            Their sums [heads, N].
        """
        return _sum_edges(self.outgoing, weights)


def _sum_edges(incidence: Tensor, weights: Tensor) -> Tensor:
    out = weights.new_empty(weights.shape[0], incidence.shape[0])
    if incidence.dtype != weights.dtype:
        incidence = incidence.to(weights.dtype)
    torch.addmm(out.t(), incidence, weights.t(), beta=0.0, out=out.t())
    return out


def attention_pattern(graph: Graph, heads: int) -> AttentionPattern:
    """Return the pattern of a graph with exactly one self-loop per node; it is kept in the graph.

    Repeated edges stay apart, as in torch_geometric.

    Args:
        graph: The prepared graph.
        heads: Number of heads.

    Returns:
        The pattern.

    Example:
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
    source, target = torch.cat([source, nodes]), torch.cat([target, nodes])
    by_target = torch.argsort(target * num_nodes + source, stable=True)
    source, target = source[by_target], target[by_target]
    by_source = torch.argsort(source, stable=True)
    index = torch.int32 if heads * max(num_nodes, source.numel()) < 2**31 else torch.int64
    into, out_of = _offsets(target, num_nodes), _offsets(source, num_nodes)
    return AttentionPattern(
        heads=heads,
        num_nodes=num_nodes,
        sources=source.to(index),
        targets=target.to(index),
        order_by_source=by_source.to(index),
        rows=_for_all_heads(into, source, num_nodes, heads, index),
        columns=_for_all_heads(out_of, target[by_source], num_nodes, heads, index),
        incoming=_incidence(into, torch.arange(source.numel(), device=source.device), index),
        outgoing=_incidence(out_of, by_source, index),
    )


def _offsets(row: Tensor, size: int) -> Tensor:
    counts = torch.bincount(row, minlength=size)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _for_all_heads(
    offsets: Tensor, columns: Tensor, num_nodes: int, heads: int, index: torch.dtype
) -> tuple[Tensor, Tensor]:
    each = torch.arange(heads, device=columns.device).unsqueeze(1)
    starts = (offsets[:-1] + each * columns.numel()).view(-1)
    end = torch.tensor([heads * columns.numel()], device=columns.device)
    return torch.cat([starts, end]).to(index), (columns + each * num_nodes).view(-1).to(index)


def _incidence(offsets: Tensor, places: Tensor, index: torch.dtype) -> Tensor:
    ones = torch.ones(places.numel(), device=places.device)
    return csr_like(offsets.to(index), places.to(index), ones, (offsets.numel() - 1, places.numel()))


def traced_attention(
    pattern: AttentionPattern, by_source: Tensor, by_target: Tensor, values: Tensor, p: float = 0.0
) -> tuple[Tensor, Back]:
    """Return Σ_j a_ij · values_j with a = softmax over j of leaky_relu(by_source_j + by_target_i).

    Args:
        pattern: The edges.
        by_source: The scores by source [heads, N].
        by_target: The scores by target [heads, N].
        values: The values [heads * N, D].
        p: The dropout rate on the weights a, 0 in evaluation.

    Returns:
        The weighted sums [heads * N, D], and a function from their gradient to those of ``by_source``,
        ``by_target`` and ``values``.

    Example:
        >>> from torch_geometric.data import Data
        >>> from postel.graph import prepare
        >>> graph = prepare(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]])))
        >>> pattern = attention_pattern(graph, heads=1)
        >>> zeros = torch.zeros(1, 2)
        >>> traced_attention(pattern, zeros, zeros, torch.tensor([[1.0], [3.0]]))[0].tolist()
        [[1.0], [2.0]]
    """
    scores = by_source.index_select(1, pattern.sources).add_(by_target.index_select(1, pattern.targets))
    weights = leaky_relu(scores, NEGATIVE_SLOPE)
    if not float(by_source.abs().max() + by_target.abs().max()) <= SAFE_SCORE:
        weights.sub_(_highest(pattern, weights).index_select(1, pattern.targets))
    weights.exp_()
    total = pattern.sum_by_target(weights)
    mask, kept, scale = None, weights, total.reciprocal()
    if p > 0.0:
        mask, keep = keep_mask(weights.shape, 1.0 - p, weights.device)
        kept = weights * mask
        scale.div_(keep)
    # Dividing the sums is cheaper than dividing the weights.
    out = csr_product(pattern.matrix(kept), values).mul_(scale.view(-1, 1))

    def back(grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        # The softmax's gradient subtracts Σ_j a_ij da_ij, which is the inner product of the sum and its gradient.
        mean = torch.mv(grad * out, grad.new_ones(grad.shape[1])).view_as(total).div_(total)
        grad = grad * scale.view(-1, 1)
        # The gradient of a weight is the inner product of its target's gradient and its source's value.
        each = pattern.inner_products(grad, values)
        if mask is not None:
            each.mul_(mask)
        each.sub_(mean.index_select(1, pattern.targets)).mul_(weights)
        torch.ops.aten.leaky_relu_backward.grad_input(each, scores, NEGATIVE_SLOPE, False, grad_input=each)
        values_grad = csr_product(pattern.transposed(kept), grad)
        return pattern.sum_by_source(each), pattern.sum_by_target(each), values_grad

    return out, back


def _highest(pattern: AttentionPattern, weights: Tensor) -> Tensor:
    """The largest weight of each node's incoming edges [heads, N]."""
    places = pattern.targets.long().expand_as(weights)
    out = weights.new_full((pattern.heads, pattern.num_nodes), -torch.inf)
    return out.scatter_reduce_(1, places, weights, "amax")


def attend_in_blocks(neighbors: Neighbors, by_source: Tensor, by_target: Tensor, values: Tensor) -> Tensor:
    """Do what :func:`traced_attention` does, in evaluation and on a large graph.

    Targets are taken block by block, so only a block's messages are in memory at once.

    Args:
        neighbors: The edges of the graph, without self-loops; every node gets one.
        by_source: The scores by source [N, heads].
        by_target: The scores by target [N, heads].
        values: The values [N, heads, D].

    Returns:
        The weighted sums [N, heads, D].

    Example:
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
