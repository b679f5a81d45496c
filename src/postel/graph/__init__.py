"""A graph prepared for training once: sparse features, adjacency operators and their transposes."""

from __future__ import annotations

from postel.graph.features import Features
from postel.graph.labelled import LabelledGraph
from postel.graph.neighbors import LargeGraph, Neighbors
from postel.graph.prepared import Graph, prepare
from postel.graph.sparse import SparseMatrix, sparse_product

__all__ = [
    "Features",
    "Graph",
    "LabelledGraph",
    "LargeGraph",
    "Neighbors",
    "SparseMatrix",
    "prepare",
    "sparse_product",
]
