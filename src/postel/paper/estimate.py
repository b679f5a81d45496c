"""How long a plan will take: from rows that are in the store where it can, else from stated rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from postel.datasets.catalog import CATALOG
from postel.experiments.budget import Budget
from postel.experiments.spaces import size_of, space_of
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.paper.planning import Planned
from postel.paper.results import is_done, mean

#: Rounds that helped, on average, in the paper's table of them; one more is trained and thrown away.
ROUNDS = 1.28

# Without rows to go by: an epoch of GCN takes so many seconds, and so many more a node and an entry of the edges.
_EPOCH, _NODE, _ENTRY = 1.1e-3, 1.3e-6, 1.4e-8
_EPOCHS = 400
#: Epochs of other networks beside GCN's.
_TIMES_GCN = {"gat": 4.5, "appnp": 1.6, "mlp": 1, "chebnet": 1, "gprgnn": 1.5, "bernnet": 2.5, "ordered_gnn": 15}


@dataclass(frozen=True)
class Estimate:
    """Cells in all and in the store, runs and trainings still to do, seconds with so many workers, and how so."""

    cells: int
    done: int
    runs: int
    trainings: int
    seconds: float
    how: str


def estimate(cells: Sequence[Planned], store: Store, workers: int) -> Estimate:
    """What is left to do of ``cells``.

    A run is one split of one setting; with pseudo-labels or a teacher it takes several trainings.
    """
    known = store.cells()
    rates = _rates(store, known)
    runs = trainings = 0
    seconds, done, stated = 0.0, 0, set()
    for cell in cells:
        if cell.base is None and any(is_done(found, cell) for found in known):
            done += 1
            continue
        of_cell, minutes = runs_of(cell)
        takes = trainings_of(cell)
        place = (cell.dataset, cell.backbone)
        rate, epochs = rates.get(place) or (epoch_seconds(*place), _EPOCHS)
        if place not in rates:
            stated.add(place)
        epochs = min(epochs, cell.max_epochs or epochs)
        runs += of_cell
        trainings += round(of_cell * takes)
        seconds += of_cell * takes * epochs * rate / workers + 60 * minutes
    measured = {(cell.dataset, cell.backbone) for cell in cells} - stated
    return Estimate(len(cells), done, runs, trainings, seconds, _how(len(measured), len(stated)))


def runs_of(cell: Planned) -> tuple[int, float]:
    """How many runs a cell takes, and the minutes of a search that is limited by them.

    >>> from postel.paper.variants import LS, ONE_HOT
    >>> runs_of(Planned("cora", "gcn", LS, budget="16")), runs_of(Planned("cora", "gcn", ONE_HOT, budget="16"))
    ((55, 0.0), (31, 0.0))
    """
    budget = Budget.parse(cell.budget)
    if budget.kind == "fixed" or cell.base is not None:
        return cell.splits, 0.0
    searched = cell.searched_of(cell.splits)
    rest = cell.splits - searched
    if budget.kind == "minutes":
        return rest, budget.amount
    size = size_of(space_of(cell.backbone, cell.variant.text))
    trials = size if budget.kind == "grid" else min(size, int(budget.amount))
    return trials * searched + rest, 0.0


def trainings_of(cell: Planned) -> float:
    """How many trainings a run takes, on average.

    >>> from postel.paper.variants import KD, POSTEL, POSTEL_ONE_ROUND
    >>> [trainings_of(Planned("cora", "gcn", variant)) for variant in (KD, POSTEL_ONE_ROUND, POSTEL)]
    [2.0, 2.0, 3.28]
    """
    if cell.variant.method == "distillation":
        return 2.0
    rounds = cell.variant.pseudo_labels
    return round(2 + ROUNDS, 2) if rounds is True else 1.0 + rounds


def epoch_seconds(dataset: str, backbone: str) -> float:
    """The stated time of an epoch on one thread, by the size of the graph and the kind of network.

    >>> epoch_seconds("texas", "gcn") < epoch_seconds("cora", "gcn") < epoch_seconds("cora", "bernnet")
    True
    """
    paper = CATALOG[dataset].paper if dataset in CATALOG else None
    nodes, entries = (paper.nodes, 2 * paper.edges) if paper else (1000, 10_000)
    return (_EPOCH + _NODE * nodes + _ENTRY * entries) * _TIMES_GCN.get(backbone, 1)


def _rates(store: Store, known: Sequence[dict[str, Any]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Seconds an epoch and epochs a training by dataset and backbone, from a few rows of each cell."""
    whole = RunSpec.model_fields["max_epochs"].default
    seen: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cell in known:
        for row in store.get(cell["run_keys"][:3]).values():
            result = row["result"]
            # A run that was cut short by hand tells the rate, but not when training would have stopped.
            epochs = result["epochs"] / result["trainings"]
            told = epochs if cell["settings"]["max_epochs"] == whole else _EPOCHS
            seen.setdefault((cell["dataset"], cell["backbone"]), []).append(
                (result["seconds"] / result["epochs"], told)
            )
    return {
        place: (mean([rate for rate, _ in pairs]), mean([epochs for _, epochs in pairs]))
        for place, pairs in seen.items()
    }


def _how(measured: int, stated: int) -> str:
    rule = (
        f"a stated rate: {1000 * _EPOCH:g} ms an epoch of GCN plus {1e6 * _NODE:g} µs a node and "
        f"{1e6 * _ENTRY:g} µs an edge entry, times a factor for other networks, {_EPOCHS} epochs a training"
    )
    rows = "the epochs and seconds of rows in the store"
    if not stated:
        return f"estimated from {rows}" if measured else "nothing to run"
    if not measured:
        return f"estimated from {rule}"
    pairs = f"{measured} of {measured + stated} pairs of dataset and backbone"
    return f"estimated from {rows} for {pairs}, for the others from {rule}"
