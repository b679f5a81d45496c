"""The paper's table on ogbn-products: accuracy with sampled batches, and how long soft labels take."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch

from postel.datasets import load_dataset
from postel.datasets.catalog import CATALOG
from postel.datasets.sources import NotAtHandError
from postel.datasets.storage.stored_graph import UNLABELLED
from postel.errors import InputError
from postel.experiments.intervals import bootstrap_interval
from postel.experiments.store import Store
from postel.experiments.store.measured import Measurements
from postel.labels import KnownLabels
from postel.paper.accuracy import NOT_RUN
from postel.paper.planning import FIXED, Options, Planned, plan_cells
from postel.paper.product import Product
from postel.paper.published import published
from postel.paper.results import PAPER_RESAMPLES, Results, mean
from postel.paper.running import Watch
from postel.paper.table import Column, Table, decimals
from postel.paper.target import Target
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

    name = "table-products"
    title = "Test accuracy on ogbn-products, and the time that soft labels take"

    def plan(self, options: Options) -> list[Planned]:
        """A cell a method that has fixed soft labels; ALS learns its own while training, which batches cannot."""
        if options.datasets not in (None, (DATASET,)):
            raise InputError(f"table-products is about {DATASET}, got {', '.join(options.datasets or ())}")
        if options.budget not in (None, FIXED):
            raise InputError(
                f"table-products runs default settings, so --budget must be fixed, got {options.budget}"
            )
        protocol = options.fixed_protocol("public", f"{DATASET} has one published split")
        variants = options.among_methods((ONE_HOT, LS, SALS, ALS, POSTEL))
        cells = plan_cells(
            options,
            (DATASET,),
            options.chosen_backbones(("gcn",)),
            variants,
            protocol=protocol,
            splits=3,
            budget=FIXED,
        )
        return [replace(cell, max_epochs=cell.max_epochs or _EPOCHS) for cell in cells]

    def run(self, options: Options, store: Store, watch: Watch | None = None) -> None:
        """Train each seed of each method that is not kept yet, and time soft labels."""
        watch, kept, cells = watch or Watch(), Measurements(store), self.plan(options)
        todo = [(cell, seed) for cell in cells for seed in range(cell.splits) if cell.variant is not ALS]
        todo = [(cell, seed) for cell, seed in todo if kept.get(self.name, _key(cell, seed)) is None]
        if not todo and kept.get(self.name, _TIMING) is not None:
            return
        data = _load(options)
        if kept.get(self.name, _TIMING) is None:
            watch.on_step("timing soft labels")
            kept.put(self.name, _TIMING, time_soft_labels(data))
        for number, (cell, seed) in enumerate(todo):
            watch.on_cell(number, len(todo), cell)
            kept.put(self.name, _key(cell, seed), train_once(data, cell, seed))

    def make(self, results: Results, options: Options) -> Product:
        """Ours beside the paper's; no difference is given for another graph than the paper's."""
        timing = results.kept.get(self.name, _TIMING)
        graph = CATALOG[DATASET].paper
        comparable = timing is not None and graph is not None and timing["nodes"] == graph.nodes
        rows, epoch_seconds = [], []
        for cell in self.plan(options):
            runs = [results.kept.get(self.name, _key(cell, seed)) for seed in range(cell.splits)]
            runs = [run for run in runs if run is not None]
            epoch_seconds += [run["epoch_seconds"] for run in runs]
            paper = published("products").get((cell.variant.slug, DATASET)) if cell.backbone == "gcn" else None
            scores = [100 * run["accuracy"] for run in runs]
            measured: tuple[Any, ...] = (NOT_RUN, None, None, None, None)
            if scores:
                span = bootstrap_interval(scores)
                side = bootstrap_interval(scores, resamples=PAPER_RESAMPLES).larger_side
                measured = ("run", span.mean, side, span.low, span.high)
            theirs = (paper.value, paper.side) if paper else (None, None)
            gap = measured[1] - paper.value if scores and paper and comparable else None
            rows.append((cell.backbone, cell.variant.label, "accuracy, %", *measured, *theirs, gap, len(runs)))
        soft = timing["seconds"] if timing else None
        for label, ours, slug in (
            ("soft labels of PosteL, s", soft, "soft-label-seconds"),
            ("one epoch, s", mean(epoch_seconds) if epoch_seconds else None, "epoch-seconds"),
        ):
            theirs = (published("products")[slug, DATASET].value, None)
            gap = ours - theirs[0] if ours is not None and comparable else None
            state = NOT_RUN if ours is None else "run"
            rows.append(("gcn", "–", label, state, ours, None, None, None, *theirs, gap, len(epoch_seconds)))
        return Product(self.name, Table(self.title, _COLUMNS, rows, _notes(timing, comparable)))


_COLUMNS = (
    Column("backbone", left=True),
    Column("method", left=True),
    Column("what", left=True),
    Column("state", left=True),
    Column("ours", decimals(2)),
    Column("±", decimals(2)),
    Column("low", decimals(2)),
    Column("high", decimals(2)),
    Column("paper", decimals(2)),
    Column("paper ±", decimals(2)),
    Column("difference", decimals(2, signed=True)),
    Column("n"),
)


def time_soft_labels(data: Any) -> dict[str, Any]:
    """``seconds`` that PosteL's soft labels of every node take, the best of three, and the size of the graph."""
    labelled = torch.where(data.train_mask, data.y, torch.full_like(data.y, UNLABELLED))
    known = KnownLabels.from_mask(labelled, data.train_mask, data.num_classes)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        PosteL().soft_labels(data.edge_index, known, dtype=torch.float32)
        taken.append(time.perf_counter() - start)
    return {"seconds": min(taken), "nodes": int(data.num_nodes), "entries": int(data.edge_index.shape[1])}


def train_once(data: Any, cell: Planned, seed: int) -> dict[str, Any]:
    """Test accuracy and times of one run with sampled batches and default settings."""
    model = NodeClassifier(
        cell.backbone,
        smoother=cell.variant.spec.make(),
        pseudo_labels=cell.variant.pseudo_labels,
        max_epochs=cell.max_epochs or _EPOCHS,
        batch_size=BATCH_SIZE,
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


def _load(options: Options) -> Any:
    try:
        return load_dataset(DATASET, 0, "public", data_root=options.data_root)
    except NotAtHandError as error:
        raise InputError(
            f"table-products needs {DATASET}, which is not here: get {_SOURCE}, unpack it as ogbn_products with "
            "its folders raw and split in the folder that --data-root or POSTEL_DATA names, and run this again"
        ) from error


def _key(cell: Planned, seed: int) -> str:
    return f"{cell.backbone} {cell.variant.slug} seed={seed} epochs={cell.max_epochs}"


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


TARGET = TableProducts()
