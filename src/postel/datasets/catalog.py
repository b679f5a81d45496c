"""What the library knows of each dataset: where it comes from, how the paper used it, what users must be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from postel.checks import did_you_mean
from postel.errors import InputError

Counting = Literal["pairs", "half", "entries"]
Source = Literal["embedded", "index", "upstream", "ogb"]

COUNTING: dict[Counting, str] = {
    "pairs": "linked pairs of distinct nodes",
    "half": "half the entries of the symmetric graph, self-loops among them",
    "entries": "directed entries, self-loops among them",
}


@dataclass(frozen=True)
class PaperFigures:
    """The paper's row for a dataset, and how its edges were counted.

    Args:
        nodes: Number of nodes.
        edges: Number of edges, counted as ``counting`` says.
        features: Number of features per node.
        classes: Number of classes.
        counting: How edges were counted: a key of ``COUNTING``.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    counting: Counting


@dataclass(frozen=True)
class Entry:
    """One dataset of the catalog.

    Args:
        name: Its name.
        about: What it is, in a few words.
        sources: Where it can be had, in the order in which they are asked.
        fingerprint: Names the stored graph's content; None where it is not known.
        symmetrize: Whether the paper made the entries symmetric (self-loops kept, repeated entries merged).
        normalize: Whether the paper scaled feature rows to sum to 1.
        paper: The paper's figures, if it used the dataset.
        warning: What users must be told when they first load it.
        splits: Fingerprints of its published splits, by protocol.
    """

    name: str
    about: str
    sources: tuple[Source, ...]
    fingerprint: str | None = None
    symmetrize: bool = False
    normalize: bool = True
    paper: PaperFigures | None = None
    warning: str | None = None
    splits: dict[str, str] = field(default_factory=dict)

    @property
    def recipe(self) -> str:
        """The paper's graph recipe in words.

        Example:
            >>> CATALOG["texas"].recipe
            'symmetrized, loops kept; feature rows normalized'
        """
        return f"{self.graph}; feature rows {'normalized' if self.normalize else 'as published'}"

    @property
    def graph(self) -> str:
        """What the paper's recipe makes of the edges, in words.

        Example:
            >>> CATALOG["actor"].graph
            'directed, loops kept'
        """
        if self.symmetrize:
            return "symmetrized, loops kept"
        return "directed, loops kept" if self.name == "actor" else "symmetric"


_DUPLICATES = (
    "{0} holds duplicate nodes that leak from training to test, so its scores are too high; "
    "{0}-filtered is the same graph without them"
)

_ENTRIES = (
    Entry(
        "cora",
        "citations between machine-learning papers (Planetoid)",
        ("upstream",),
        "7e173110e7280d7591430c9c23d77d88",
        paper=PaperFigures(2708, 5278, 1433, 7, "pairs"),
        splits={"geom-gcn": "158f5d8eca3e15eb96c0ac29262e600f", "public": "81b88a1d8c8754ed72eb307b45e0fd28"},
    ),
    Entry(
        "citeseer",
        "citations between computer-science papers (Planetoid)",
        ("index", "upstream"),
        "e2a43f37dbc47e1524b590006bc00aea",
        paper=PaperFigures(3327, 4552, 3703, 6, "pairs"),
        splits={"geom-gcn": "aabf30674815e3cd51a9b08dcb19d8a1", "public": "b67c18158d18bbde5183f3632ba9e362"},
    ),
    Entry(
        "pubmed",
        "citations between papers on diabetes (Planetoid)",
        ("index", "upstream"),
        "bcdbeae815dfcec0040033c452c7ab1e",
        paper=PaperFigures(19717, 44324, 500, 3, "pairs"),
        splits={"geom-gcn": "c648e3b1db74534e271dc510daaf3bfd", "public": "f687e4d559a5c839f9553d5d4363ff18"},
    ),
    Entry(
        "computers",
        "products bought together (Amazon)",
        ("upstream",),
        "47e974f2e9d6d8f7157a09b32a749627",
        paper=PaperFigures(13752, 245861, 767, 10, "pairs"),
    ),
    Entry(
        "photo",
        "products bought together (Amazon)",
        ("upstream",),
        "192de74a8dce82e862f7238fe23c01a1",
        paper=PaperFigures(7650, 119081, 745, 8, "pairs"),
    ),
    Entry(
        "chameleon",
        "links between Wikipedia pages, classes by traffic",
        ("upstream",),
        "1435383ef199100c491c94674d080d85",
        symmetrize=True,
        paper=PaperFigures(2277, 31396, 2325, 5, "half"),
        warning=_DUPLICATES.format("chameleon"),
        splits={"geom-gcn": "c08fbf8bdb7e51b8ee164d0aab59c67b"},
    ),
    Entry(
        "squirrel",
        "links between Wikipedia pages, classes by traffic",
        ("upstream",),
        "4e9c3cd688c04d0bdfabff0c114eabc2",
        symmetrize=True,
        paper=PaperFigures(5201, 198423, 2089, 5, "half"),
        warning=_DUPLICATES.format("squirrel"),
        splits={"geom-gcn": "f996d1cf85b30e36d07069f4aa33cd66"},
    ),
    Entry(
        "actor",
        "actors named on the same Wikipedia page",
        ("upstream",),
        "8f0024b7b9483372de87c0b97eb17f8d",
        paper=PaperFigures(7600, 30019, 932, 5, "entries"),
        splits={"geom-gcn": "6e55c914e9ea5eac0c2e425e8e27080d"},
    ),
    Entry(
        "texas",
        "links between web pages of a university (WebKB)",
        ("upstream",),
        "28b1792b5fdda98c91e12c82c158c197",
        symmetrize=True,
        paper=PaperFigures(183, 287, 1703, 5, "half"),
        splits={"geom-gcn": "87ad3a33be519d6851771a1bb8064eac"},
    ),
    Entry(
        "cornell",
        "links between web pages of a university (WebKB), with Texas's features and labels",
        ("upstream",),
        "bd43d1e14ea1e6234f460e36a26d792f",
        symmetrize=True,
        paper=PaperFigures(183, 277, 1703, 5, "pairs"),
        warning=(
            "cornell, as the paper used it, carries the features and labels of Texas on Cornell's edges; "
            "cornell-corrected has Cornell's own"
        ),
        splits={"geom-gcn": "89e127430d60b15ab5e090142c26762e"},
    ),
    Entry(
        "cornell-corrected",
        "Cornell with its own features and labels",
        ("upstream",),
        "3efbcf51e45ba9b4ab9d8d7e88dd7c64",
        splits={"geom-gcn": "89e127430d60b15ab5e090142c26762e"},
    ),
    Entry(
        "chameleon-filtered",
        "Chameleon without duplicate nodes (Platonov et al. 2023)",
        ("upstream",),
        "bdbd86bf06f2d4f6c9719dbd073cf7d8",
        splits={"geom-gcn": "04ad6e020e988b2c7e50f5b4988cf181"},
    ),
    Entry(
        "squirrel-filtered",
        "Squirrel without duplicate nodes (Platonov et al. 2023)",
        ("upstream",),
        "d808195ac04cba09bb9b267f7e18c913",
        splits={"geom-gcn": "ba41fac599a39cbe02cb7e552e648775"},
    ),
    Entry(
        "cora-linqs",
        "Cora from its LINQS files: the graph of cora with nodes in another order",
        ("index",),
        "bc5da3b773fd4d0f890fdec537d1e215",
    ),
    Entry(
        "ogbn-products",
        "products bought together, from OGB's raw folder; split by sales rank",
        ("ogb",),
        normalize=False,
        paper=PaperFigures(2449029, 61859140, 100, 47, "half"),
    ),
    Entry("karate", "Zachary's karate club", ("embedded",), "cc04f9ae4d37aff19adda39fa1da2cc0", normalize=False),
    Entry(
        "csbm-homophilic",
        "synthetic: neighbors mostly share the class",
        ("embedded",),
        "a54a7e03720637e163d90257a351dc3c",
        normalize=False,
    ),
    Entry(
        "csbm-heterophilic",
        "synthetic: neighbors come from the two classes beside a node's own",
        ("embedded",),
        "892c6a49ff42028c2def243b7842956f",
        normalize=False,
    ),
    Entry(
        "csbm-no-signal",
        "synthetic: neighbors say nothing about a node's class",
        ("embedded",),
        "8f61d7867b3de2d59389269ce33c4c0e",
        normalize=False,
    ),
)

CATALOG: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}

PAPER_DATASETS = tuple(
    name for name, entry in CATALOG.items() if entry.paper is not None and name != "ogbn-products"
)


def catalog_entry(name: str) -> Entry:
    """Look a dataset up by name.

    Args:
        name: Its name, in any case.

    Returns:
        The entry.

    Raises:
        InputError: If there is none; the message names the nearest ones.

    Example:
        >>> catalog_entry("Cora").paper.edges
        5278
        >>> catalog_entry("corra")
        Traceback (most recent call last):
            ...
        postel.errors.InputError: there is no dataset 'corra'; did you mean cora or actor? or give ...
    """
    entry = CATALOG.get(name.lower())
    if entry is None:
        hint = did_you_mean(name, CATALOG) or f"there are {', '.join(CATALOG)}; "
        raise InputError(f"there is no dataset {name!r}; {hint}or give the path of a graph file (.npz)")
    return entry
