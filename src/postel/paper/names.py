"""The paper's names of datasets and backbones, and their order in its tables."""

from __future__ import annotations

HOMOPHILIC = ("cora", "citeseer", "pubmed", "computers", "photo")
HETEROPHILIC = ("chameleon", "actor", "squirrel", "texas", "cornell")
#: The datasets in the order of the paper's columns.
DATASETS = HOMOPHILIC + HETEROPHILIC
#: The eight datasets of the tables on likelihoods and components.
EIGHT_DATASETS = tuple(name for name in DATASETS if name not in ("pubmed", "squirrel"))
#: The four datasets of the table on few labels.
FOUR_DATASETS = ("cora", "citeseer", "texas", "cornell")

_DATASETS = {"citeseer": "CiteSeer", "pubmed": "PubMed", "karate": "Karate club"}
_BACKBONES = {
    "gcn": "GCN",
    "gat": "GAT",
    "appnp": "APPNP",
    "mlp": "MLP",
    "chebnet": "ChebNet",
    "gprgnn": "GPR-GNN",
    "bernnet": "BernNet",
    "ordered_gnn": "OrderedGNN",
}
#: The backbones in the order of the paper's rows.
BACKBONES = tuple(_BACKBONES)


def dataset_label(name: str) -> str:
    """Return the paper's spelling of a dataset.

    Args:
        name: The dataset's name.

    Returns:
        The label; the name itself if the paper does not have the dataset.

    Example:
        >>> dataset_label("citeseer"), dataset_label("texas"), dataset_label("ogbn-products")
        ('CiteSeer', 'Texas', 'ogbn-products')
    """
    return _DATASETS.get(name, name.capitalize() if name in DATASETS else name)


def backbone_label(name: str) -> str:
    """Return the paper's spelling of a backbone.

    Args:
        name: The backbone's name.

    Returns:
        The label; the name itself if the paper does not have the backbone.

    Example:
        >>> backbone_label("gprgnn")
        'GPR-GNN'
    """
    return _BACKBONES.get(name, name)
