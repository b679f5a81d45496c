"""A graph prepared for training once: sparse features, adjacency operators and their transposes."""

from __future__ import annotations

from postel.graph.features import Features
from postel.graph.neighbours import LargeGraph, Neighbours
from postel.graph.prepared import Graph, prepare
from postel.graph.sparse import SparseMatrix, sparse_product

__all__ = ["Features", "Graph", "LargeGraph", "Neighbours", "SparseMatrix", "prepare", "sparse_product"]
