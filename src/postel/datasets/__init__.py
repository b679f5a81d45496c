"""Datasets by name, splits, synthetic graphs and any graph of the user's; and a diagnosis of each."""

from postel.datasets.catalog import CATALOG, PAPER_DATASETS
from postel.datasets.diagnosis import Diagnosis, diagnose
from postel.datasets.load import DatasetWarning, load_dataset
from postel.datasets.splits import make_split
from postel.datasets.storage.conversion import convert, convert_collection
from postel.datasets.storage.graph_file import read_graph_file, write_graph_file
from postel.datasets.storage.stored_graph import StoredGraph
from postel.datasets.synthetic import csbm
from postel.registry import PROTOCOLS

__all__ = [
    "CATALOG",
    "PAPER_DATASETS",
    "PROTOCOLS",
    "DatasetWarning",
    "Diagnosis",
    "StoredGraph",
    "convert",
    "convert_collection",
    "csbm",
    "diagnose",
    "load_dataset",
    "make_split",
    "read_graph_file",
    "write_graph_file",
]
