"""The paper's table on ogbn-products: accuracy with sampled batches, and how long soft labels take."""

from __future__ import annotations

import time
from typing import Any

import torch

from postel.datasets import load_dataset
from postel.datasets.catalog import CATALOG
from postel.datasets.sources import NotAtHandError
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.errors import InputError
from postel.experiments.intervals import bootstrap_interval
from postel.experiments.scores import PAPER_RESAMPLES
from postel.experiments.store import Store
from postel.experiments.store.measurements import Measurements
from postel.experiments.store.reader import Reader
from postel.labels import KnownLabels
from postel.paper.published import published
from postel.paper.rendering import Rendering
from postel.paper.requests import FIXED, CellRequest, Options
from postel.paper.table import NOT_RUN, Table, numbers, texts
from postel.paper.target import Target, Watch
from postel.paper.variants import ALS, LS, ONE_HOT, POSTEL, SALS
from postel.smoothers import PosteL
from postel.training import NodeClassifier

DATASET = "ogbn-products"
BATCH_SIZE = 1024
_EPOCHS = 100
_SOURCE = "snap.stanford.edu/ogb/data/nodeproppred/products.zip (1.4 GB)"
_TIMING = "soft-label timing"


class TableProducts(Target):
    """GCN on ogbn-products' published split, one run a seed."""

    title = "Test accuracy on ogbn-products, and the time that soft labels take"
    datasets = (DATASET,)
    # ALS learns its labels while training, which sampled batches cannot: it has a line and is not run.
    variants = (ONE_HOT, LS, SALS, ALS, POSTEL)
    protocol = "public"
    splits = 3
    budget = FIXED
    runs_cells = False

    def make_requests(self, options: Options) -> list[CellRequest]:
        """Return one question per method, each with as many seeds as there are splits elsewhere.

        Args:
            options: The user's options.
        """
        if options.datasets not in (None, (DATASET,)):
            raise InputError(f"table-products is about {DATASET}, got {', '.join(options.datasets or ())}")
        if options.budget not in (None, "fixed"):
            raise InputError(
                f"table-products runs default settings, so --budget must be fixed, got {options.budget}"
            )
        return super().make_requests(options)

    @property
    def epochs(self) -> int:
        """Epochs at most."""
        return self.options.max_epochs or _EPOCHS

    def measure(self, store: Store, watch: Watch) -> None:
        """Train each seed of each method that is not kept yet, and times soft labels.

        Args:
            store: Where results are stored.
            watch: Receives progress.
        """
        kept = Measurements(store)
        run = [request for request in self.requests if request.variant is not ALS]
        todo = [(request, seed) for request in run for seed in request.question.splits]
        todo = [(request, seed) for request, seed in todo if kept.get(self.name, self._key(request, seed)) is None]
        if not todo and kept.get(self.name, _TIMING) is not None:
            return
        data, device = _load(self.options.data_root), self.options.device
        if kept.get(self.name, _TIMING) is None:
            watch.on_step("timing soft labels")
            kept.put(self.name, _TIMING, time_soft_labels(data))
        for number, (request, seed) in enumerate(todo):
            watch.on_cell(number, len(todo), request)
            kept.put(self.name, self._key(request, seed), train_once(data, request, seed, self.epochs, device))

    def make(self, reader: Reader) -> Rendering:
        """Return ours beside the paper's; no difference is given for another graph than the paper's.

        Args:
            reader: The store's reader.
        """
        timing = reader.measurements.get(self.name, _TIMING)
        graph = CATALOG[DATASET].paper
        comparable = timing is not None and graph is not None and timing["nodes"] == graph.nodes
        rows, epoch_seconds = [], []
        for request in self.requests:
            runs = [
                reader.measurements.get(self.name, self._key(request, seed)) for seed in request.question.splits
            ]
            runs = [run for run in runs if run is not None]
            epoch_seconds += [run["epoch_seconds"] for run in runs]
            paper = (
                published("products").get((request.variant.slug, DATASET)) if request.backbone == "gcn" else None
            )
            scores = [100 * run["accuracy"] for run in runs]
            measured: tuple[Any, ...] = (NOT_RUN, None, None, None, None)
            if scores:
                span = bootstrap_interval(scores)
                side = bootstrap_interval(scores, resamples=PAPER_RESAMPLES).larger_side
                measured = ("run", span.mean, side, span.low, span.high)
            theirs = (paper.value, paper.side) if paper else (None, None)
            gap = measured[1] - paper.value if scores and paper and comparable else None
            rows.append(
                (request.backbone, request.variant.label, "accuracy, %", *measured, *theirs, gap, len(runs))
            )
        soft = timing["seconds"] if timing else None
        for label, ours, slug in (
            ("soft labels of PosteL, s", soft, "soft-label-seconds"),
            ("one epoch, s", sum(epoch_seconds) / len(epoch_seconds) if epoch_seconds else None, "epoch-seconds"),
        ):
            theirs = (published("products")[slug, DATASET].value, None)
            gap = ours - theirs[0] if ours is not None and comparable else None
            state = NOT_RUN if ours is None else "run"
            rows.append(("gcn", "–", label, state, ours, None, None, None, *theirs, gap, len(epoch_seconds)))
        return Rendering(self.name, Table(self.title, _COLUMNS, rows, _notes(timing, comparable)))

    def _key(self, request: CellRequest, seed: int) -> str:
        where = "" if self.options.device == "cpu" else f" device={self.options.device}"
        return f"{request.backbone} {request.variant.slug} seed={seed} epochs={self.epochs}{where}"


_COLUMNS = (
    *texts("backbone", "method", "what", "state"),
    *numbers("ours", "±", "low", "high", "paper", "paper ±", places=2),
    *numbers("difference", places=2, signed=True),
    *numbers("n"),
)


def time_soft_labels(data: Any) -> dict[str, Any]:
    """Measure how long PosteL's soft labels of every node take.

    Args:
        data: The graph with its published split.

    Returns:
        The ``seconds``, the best of three, and the size of the graph in ``nodes`` and ``entries``.
    """
    labelled = torch.where(data.train_mask, data.y, torch.full_like(data.y, UNLABELLED))
    known = KnownLabels.from_mask(labelled, data.train_mask, data.num_classes)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        PosteL().soft_labels(data.edge_index, known, dtype=torch.float32)
        taken.append(time.perf_counter() - start)
    return {"seconds": min(taken), "nodes": int(data.num_nodes), "entries": int(data.edge_index.shape[1])}


def train_once(data: Any, request: CellRequest, seed: int, epochs: int, device: str = "cpu") -> dict[str, Any]:
    """Return test accuracy and times of one run with sampled batches and default settings.

    Args:
        data: The graph with its published split.
        request: The network and the method.
        seed: The seed of the run.
        epochs: Epochs at most.
        device: The torch device.
    """
    model = NodeClassifier(
        request.backbone,
        smoother=request.variant.spec.make(),
        pseudo_labels=request.variant.pseudo_labels,
        max_epochs=epochs,
        batch_size=BATCH_SIZE,
        device=device,
        seed=seed,
    ).fit(data)
    result = model.result_
    assert result.test is not None  # every published split has test nodes
    return {
        "accuracy": result.test.accuracy,
        "macro_f1": result.test.macro_f1,
        "epochs": result.epochs,
        "trainings": result.trainings,
        "seconds": result.seconds,
        "epoch_seconds": result.seconds / result.epochs,
    }


def _load(data_root: str | None) -> Any:
    try:
        return load_dataset(DATASET, 0, "public", data_root=data_root)
    except NotAtHandError as error:
        raise InputError(
            f"table-products needs {DATASET}, which is not here: get {_SOURCE}, unpack it as ogbn_products with "
            "its folders raw and split in the folder that --data-root or POSTEL_DATA names, and run this again"
        ) from error


def _notes(timing: dict[str, Any] | None, comparable: bool) -> tuple[str, ...]:
    notes = [
        f"Sampled batches of {BATCH_SIZE} training nodes, default settings without search (budget: fixed); ± as "
        "the paper's code takes it, over seeds of the one published split.",
        "ALS learns its labels while training, which sampled batches do not support: it is not run.",
    ]
    if timing is not None and not comparable:
        notes.append(
            f"The graph at hand has {timing['nodes']:,} nodes and is not the paper's: no difference is given."
        )
    return tuple(notes)
