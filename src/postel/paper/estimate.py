"""How long a plan will take: from the epochs that rows in the store have, and seconds measured on this machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from postel.datasets.catalog import CATALOG
from postel.experiments.rates import Rate
from postel.experiments.results import Cell, Row
from postel.experiments.search.plan import plan_rungs
from postel.experiments.search.spaces import size_of, space_of
from postel.experiments.spec import RunSpec
from postel.experiments.store import Store
from postel.paper.requests import FIXED, CellRequest

#: Rounds that helped, on average, in the paper's table of them; one more is trained and thrown away.
ROUNDS = 1.28

# Without rows to go by: epochs until a training stops.
_EPOCHS = 400

Rates = Callable[[str, str], Rate]


@dataclass(frozen=True)
class Estimate:
    """How much is to be done.

    Args:
        cells: Cells in all.
        done: Those that are in the store.
        runs: Runs still to do.
        trainings: Trainings still to do.
        seconds: How long that takes.
        how: Where the seconds come from.
    """

    cells: int
    done: int
    runs: int
    trainings: int
    seconds: float
    how: str


def estimate(cells: Sequence[CellRequest], store: Store, workers: int, rates: Rates) -> Estimate:
    """Estimate what is left to do of some cells, and how long that takes on this machine.

    A run is one split of one setting; with pseudo-labels or a teacher it takes several trainings.

    Args:
        cells: What a table or figure needs.
        store: Where rows are; of pairs of dataset and backbone that it has, its rows tell how many epochs a
            training takes, mean over the learning rates of a search. How long an epoch takes they do not tell:
            they may be another machine's, and other work may have run beside them.
        workers: How many runs are made at a time.
        rates: Gives the rate of a dataset and backbone, as :class:`~postel.experiments.rates.EpochRates` does.

    Returns:
        The counts, the seconds, and where they come from.
    """
    known = store.cells()
    seen = _seen(store, known)
    runs = trainings = done = 0
    seconds = 0.0
    measured: dict[tuple[str, str], Rate] = {}
    guessed = set()
    for request in cells:
        tuned = request.tuned is not None and any(
            cell.is_evidence and cell.answers(request.tuned) for cell in known
        )
        if request.base is None and (tuned or any(map(request.is_done_by, known))):
            done += 1
            continue
        place = (request.dataset, request.backbone)
        rows = seen.get(place, _Seen())
        if place not in measured:
            measured[place] = rates(*place)
        rate = measured[place]
        work = work_of(request, rows.nodes or rate.validation)
        if rows.epochs:
            epochs = rows.epochs_of_a_training(request)
        else:
            epochs = _EPOCHS
            guessed.add(place)
        epochs = min(epochs, request.question.fixed.get("max_epochs", epochs))
        runs += work.runs
        trainings += round(work.trainings)
        seconds += work.trainings * epochs * rate.seconds / workers + 60 * work.minutes
    return Estimate(len(cells), done, runs, trainings, seconds, _how(list(measured.values()), len(guessed)))


@dataclass(frozen=True)
class Work:
    """What a cell takes.

    Args:
        runs: Runs, of one split of one setting each.
        trainings: The trainings of these runs.
        minutes: What a search that is limited by time takes.
    """

    runs: int
    trainings: float
    minutes: float = 0.0


def work_of(request: CellRequest, nodes: int = 0) -> Work:
    """Estimate what the search for an answer and the runs of the chosen setting take.

    Args:
        request: What is asked, and the budget to spend.
        nodes: Validation nodes of a split, which decide how many splits a rung has; 0 if that is not known.

    Example:
        >>> from postel.paper.requests import Options, request_cells
        >>> from postel.paper.variants import LS, ONE_HOT, POSTEL
        >>> cells = request_cells(Options(budget="400"), ["cora"], ["gcn"], [ONE_HOT, LS, POSTEL])
        >>> [work_of(request).runs for request in cells]
        [80, 237, 309]
    """
    budget, question, takes = request.budget, request.question, trainings_of(request)
    splits = len(question.splits)
    if budget == FIXED or request.base is not None:
        return Work(splits, splits * takes)
    if budget.kind == "minutes":
        return Work(0, 0, budget.amount)
    searched = request.search_splits(splits)
    each = 2 if question.method.name == "distillation" else 1
    plan = plan_rungs(
        size_of(space_of(question.backbone, question.method, question.fixed)),
        replicates=max(searched, 3),
        splits=searched,
        nodes=nodes or _nodes(question.dataset) // 5,
        rounds=question.pseudo_labels is not False,
        each=each,
        budget={"trainings": budget.amount, "grid": math.inf}.get(budget.kind),
    )
    rest = splits - min(plan.decided_on, searched)
    return Work(plan.runs + rest, plan.trainings(each) + rest * takes)


def trainings_of(request: CellRequest) -> float:
    """Return how many trainings a run takes, on average.

    Args:
        request: What is asked.

    Example:
        >>> from postel.paper.requests import Options, request_cells
        >>> from postel.paper.variants import KD, POSTEL, POSTEL_ONE_ROUND
        >>> requests = request_cells(Options(), ["cora"], ["gcn"], [KD, POSTEL_ONE_ROUND, POSTEL])
        >>> [trainings_of(request) for request in requests]
        [2.0, 2.0, 3.28]
    """
    rounds = request.question.pseudo_labels
    if request.question.method.name == "distillation":
        return 2.0
    return round(2 + ROUNDS, 2) if rounds is True else 1.0 + rounds


def _nodes(dataset: str) -> int:
    """Nodes of a dataset, or what stands for those of a graph that is not in the paper."""
    paper = CATALOG[dataset].paper if dataset in CATALOG else None
    return paper.nodes if paper else 1000


@dataclass
class _Seen:
    """What rows tell of a dataset and backbone.

    Runs cut short by hand do not tell the epochs.

    Args:
        nodes: Validation nodes of a split; 0 if there are no rows.
        epochs: Epochs per training of some rows, by learning rate.
    """

    nodes: int = 0
    epochs: dict[float, list[float]] = field(default_factory=dict)

    def learn(self, row: Row) -> None:
        self.nodes = row.result.val.count
        if row.spec.max_epochs == RunSpec.model_fields["max_epochs"].default:
            self.epochs.setdefault(row.spec.lr, []).append(row.result.epochs / row.result.trainings)

    def epochs_of_a_training(self, request: CellRequest) -> float:
        """The mean over learning rates, all of which a search tries; that of a given one if it was seen."""
        given = request.question.fixed.get("lr")
        return fmean(self.epochs[given]) if given in self.epochs else fmean(map(fmean, self.epochs.values()))


def _seen(store: Store, known: Sequence[Cell]) -> dict[tuple[str, str], _Seen]:
    """Return what rows tell by dataset and backbone.

    A few rows of each cell are read, and those of the same runs at the other learning rates of its search, which
    take several times as long where the chosen rate is high.
    """
    found: dict[tuple[str, str], _Seen] = {}
    for cell in known:
        asked = cell.question
        seen = found.setdefault((asked.dataset, asked.backbone), _Seen())
        rates = space_of(asked.backbone, asked.method, asked.fixed).get("lr", []) if cell.was_searched else []
        chosen = store.rows(cell.run_keys[:3], rounds=False)
        others = [
            row.spec.model_copy(update={"lr": rate}).key for row in chosen for rate in rates if rate != row.spec.lr
        ]
        for row in (*chosen, *store.get(others, rounds=False).values()):
            seen.learn(row)
    return {place: seen for place, seen in found.items() if seen.nodes}


def _how(measured: Sequence[Rate], guessed: int) -> str:
    """Where the seconds come from, in a sentence."""
    if not measured:
        return "nothing to run"
    parts = []
    own, stand_ins = ([rate for rate in measured if rate.stand_in is flag] for flag in (False, True))
    if own:
        parts.append(f"epochs measured on this machine{_since(own)} for {len(own)}")
    if stand_ins:
        parts.append(
            f"epochs measured on random graphs of the published size{_since(stand_ins)} for {len(stand_ins)} "
            "whose dataset is not at hand"
        )
    pairs = "pair" if len(measured) == 1 else "pairs"
    basis = f"from {', '.join(parts)} of {len(measured)} {pairs} of dataset and backbone"
    assumed = f"; {_EPOCHS} epochs per training are assumed for {guessed} of which the store has none"
    return basis + (assumed if guessed else "")


def _since(rates: Sequence[Rate]) -> str:
    days = sorted({rate.day for rate in rates})
    return f" on {days[0]}" if len(days) == 1 else f" from {days[0]} to {days[-1]}"
