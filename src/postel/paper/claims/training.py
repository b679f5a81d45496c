"""Claims about graphs and what training on them does: neighbors, loss curves, rounds and time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch

from postel.datasets.diagnosis.measures import contrast
from postel.experiments.results import Row
from postel.paper.claims.evidence import Evidence
from postel.paper.claims.verdicts import (
    GRAPHS,
    Finding,
    by_all,
    by_limit,
    by_share,
    claim,
    graded,
    in_words,
    not_run,
)
from postel.paper.names import DATASETS
from postel.paper.published import published
from postel.paper.variants import ALS, KD, ONE_HOT, POSTEL, POSTEL_WITHOUT_IPL, Variant

#: Loss curves are looked at up to this epoch, to which the paper's text refers.
EPOCHS = 200
CURVES = f"by epoch {EPOCHS}, at one learning rate and weight decay, {GRAPHS}"


@claim(
    "On Actor neighbors hardly differ from class to class",
    "Appendix E",
    "Figure 6",
    "contrast below half of PubMed's and Cornell's; in part: below",
)
def _actor_neighbors_tell_little(evidence: Evidence) -> Finding:
    names = ("actor", "pubmed", "cornell")
    matrices = {name: evidence.measured("figure-neighbors", name) for name in names}
    run = {name: float(contrast(torch.tensor(matrix))) for name, matrix in matrices.items() if matrix is not None}
    if len(run) < len(names):
        return not_run(len(run), len(names))
    actor, *others = run.values()
    return Finding(graded(actor < min(others) / 2, actor < min(others)), in_words(run, ".2f"), 3, 3)


@claim(
    "Neighbors' labels are independent given the node's",
    "Empirical Analysis, Figure 3",
    "closely",
    "total variation from the product at most 0.1; in part: 0.2. In the joint distribution a node counts once for "
    "each pair of neighbors, in the product once for each neighbor",
)
def _neighbors_are_independent(evidence: Evidence) -> Finding:
    found = {name: evidence.measured("figure-independence", name) for name in ("pubmed", "cornell")}
    gaps = {name: values["gap"] for name, values in found.items() if values is not None}
    worst = max(gaps.values()) if len(gaps) == len(found) else None
    told = f"total variation {in_words(gaps, '.2f')}"
    return by_limit(worst, holds=0.1, part=0.2, told=told, run=len(gaps), of=len(found))


@claim(
    "On Squirrel one-hot labels overfit after 50 epochs, PosteL is stable through 200",
    "Empirical Analysis, Figure 4a",
    "50, 200",
    "at one learning rate and weight decay one-hot's validation loss is lowest by epoch 100 and 5 % above that by "
    "200, PosteL's is not; in part: it rises less",
)
def _overfits_on_squirrel(evidence: Evidence) -> Finding:
    rows = evidence.at_one_setting("squirrel")
    curves = [curve for curve in map(_validation_losses, rows) if curve]
    if len(curves) < 2:
        return not_run(len(curves), 2)
    plain, ours = (curve[-1] / min(curve) - 1 for curve in curves)
    lowest = [curve.index(min(curve)) + 1 for curve in curves]
    told = (
        f"one-hot: lowest at epoch {lowest[0]}, {100 * plain:.0f} % above it by {EPOCHS}; PosteL: "
        f"{lowest[1]}, {100 * ours:.0f} %; both with {_rate(rows[1])}"
    )
    as_said = lowest[0] <= EPOCHS // 2 and plain > 0.05 >= ours
    return Finding(graded(as_said, ours < plain), told, 2, 2)


@claim(
    "On all graphs the validation loss rises less with PosteL",
    "Empirical Analysis, Figures 9 and 10",
    "10 graphs",
    CURVES,
)
def _overfits_less(evidence: Evidence) -> Finding:
    return by_share(_lower_with_postel(evidence, _rise), minimum=4, what="graphs")


@claim("The gap between test and training loss is smaller with PosteL", "Empirical Analysis", "10 graphs", CURVES)
def _has_smaller_gap(evidence: Evidence) -> Finding:
    return by_share(_lower_with_postel(evidence, _loss_gap), minimum=4, what="graphs")


@claim(
    "On Cornell the test loss falls with every round",
    "Empirical Analysis, Figure 4b",
    "4 rounds",
    "so in every round that was kept; in part: over all of them",
)
def _rounds_lower_the_test_loss(evidence: Evidence) -> Finding:
    row = evidence.first_row(POSTEL, "cornell")
    if row is None or not row.rounds:
        return not_run(0, 1)
    kept = [entry for entry in row.rounds if (entry.round == 0 or entry.improved) and entry.loss("test")]
    losses = [entry.loss("test")[entry.best_epoch - 1] for entry in kept]
    falls = [after < before for before, after in pairwise(losses)]
    if not falls:
        return Finding("does not hold", "no round helped", 1, 1)
    told = "test loss " + " → ".join(f"{loss:.3f}" for loss in losses)
    return Finding(graded(all(falls), losses[-1] < losses[0]), told, 1, 1)


@claim(
    "Few rounds of pseudo-labels suffice",
    "Empirical Analysis, Table 4",
    "1.13 rounds",
    "at most half a round more than the paper's there; in part: 1.5",
)
def _few_rounds_suffice(evidence: Evidence) -> Finding:
    figures = published("iterations")
    cells = {place: evidence.find(POSTEL, place[1], place[0]) for place in figures}
    found = [(cell.mean("improved_rounds"), figures[place].value) for place, cell in cells.items() if cell]
    if len(found) < 10:
        return not_run(len(found), len(figures))
    ours, theirs = (sum(side) / len(found) for side in zip(*found, strict=True))
    told = f"{ours:.2f} (the paper there: {theirs:.2f})"
    return by_limit(ours - theirs, holds=0.5, part=1.5, told=told, run=len(found), of=len(figures))


@claim(
    "PosteL takes about four times as long as one-hot labels",
    "Appendix F, Table 5",
    "4.1 times",
    "at most 6 times; in part: 8",
)
def _takes_four_times_as_long(evidence: Evidence) -> Finding:
    (plain, ours), run = _seconds(evidence, ONE_HOT, POSTEL)
    if run < 4:
        return not_run(run, len(DATASETS))
    told = f"{ours / plain:.1f} times"
    return by_limit(ours / plain, holds=6.0, part=8.0, told=told, run=run, of=len(DATASETS))


@claim(
    "PosteL takes about as long as KD and ALS",
    "Appendix F, Table 5",
    "1.0 and 1.2 times",
    "at most 1.5 times either; in part: one of them",
)
def _takes_no_longer_than_others(evidence: Evidence) -> Finding:
    (ours, kd, als), run = _seconds(evidence, POSTEL, KD, ALS)
    if run < 4:
        return not_run(run, len(DATASETS))
    told = f"{ours / kd:.1f} times KD, {ours / als:.1f} times ALS"
    return by_all([ours / kd <= 1.5, ours / als <= 1.5], told, run, len(DATASETS))


@claim(
    "Without pseudo-labels it takes a third of the time of KD and ALS",
    "Appendix F, Table 5",
    "3.3 and 2.7 times",
    "both take 2.5 times as long; in part: one of them",
)
def _is_faster_without_rounds(evidence: Evidence) -> Finding:
    (ours, kd, als), run = _seconds(evidence, POSTEL_WITHOUT_IPL, KD, ALS)
    if run < 4:
        return not_run(run, len(DATASETS))
    told = f"KD takes {kd / ours:.1f} times as long, ALS {als / ours:.1f}"
    return by_all([kd / ours >= 2.5, als / ours >= 2.5], told, run, len(DATASETS))


def _lower_with_postel(evidence: Evidence, measure: Callable[[Row], float | None]) -> list[bool | None]:
    """Whether a measure of GCN's first split is lower with PosteL than with one-hot labels at the same setting."""
    found: list[bool | None] = []
    for name in DATASETS:
        plain, ours = (measure(row) if row else None for row in evidence.at_one_setting(name))
        found.append(None if plain is None or ours is None else ours < plain)
    return found


def _validation_losses(row: Row | None) -> list[float]:
    """The validation loss of the kept round up to epoch 200; empty if it was not stored."""
    kept = row.best_round if row else None
    return kept.loss("val")[:EPOCHS] if kept else []


def _rise(row: Row) -> float | None:
    """How far the validation loss is above its lowest by epoch 200."""
    curve = _validation_losses(row)
    return curve[-1] / min(curve) - 1 if curve else None


def _loss_gap(row: Row) -> float | None:
    """How far the test loss is from the training loss by epoch 200, in the kept round."""
    kept = row.best_round
    if kept is None or not kept.loss("train") or not kept.loss("test"):
        return None
    train, test = (kept.loss(name)[:EPOCHS][-1] for name in ("train", "test"))
    return abs(test - train)


def _rate(row: Row | None) -> str:
    return f"learning rate {row.spec.lr:g}" if row else ""


def _seconds(evidence: Evidence, *variants: Variant) -> tuple[list[float], int]:
    """Mean seconds of each method over the graphs that all of them were run on, and how many those are."""
    graphs = [[evidence.timed(variant, name) for variant in variants] for name in DATASETS]
    whole = [[cell.mean("seconds") for cell in cells if cell] for cells in graphs if None not in cells]
    sums = [sum(side) for side in zip(*whole, strict=True)] or [0.0] * len(variants)
    return [total / max(len(whole), 1) for total in sums], len(whole)
