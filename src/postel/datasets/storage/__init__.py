"""How graphs are kept on disk: the stored graph, its two file formats, and the conversion from tables."""

from postel.datasets.storage.conversion import convert
from postel.datasets.storage.graph_file import read_graph_file, write_graph_file
from postel.datasets.storage.stored_graph import PARTS, UNLABELLED, StoredGraph

__all__ = ["PARTS", "UNLABELLED", "StoredGraph", "convert", "read_graph_file", "write_graph_file"]
