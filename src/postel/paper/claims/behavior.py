"""Claims about what training does: loss curves, rounds, time, conditionals, embeddings and neighbors."""

from __future__ import annotations

from itertools import pairwise

import torch

from postel.datasets.diagnosis.measures import contrast
from postel.experiments.results import Row
from postel.paper.claims.evidence import Evidence
from postel.paper.claims.verdicts import Finding, by_limit, by_share, graded, not_run
from postel.paper.names import DATASETS, dataset_label
from postel.paper.published import published
from postel.paper.variants import ALS, KD, ONE_HOT, POSTEL, POSTEL_WITHOUT_IPL, Variant

#: Loss curves are looked at up to this epoch, to which the paper's text refers.
EPOCHS = 200

Matrix = list[list[float]]


def actor_neighbors_tell_little(evidence: Evidence) -> Finding:
    """Compare how much neighbors' classes differ between classes on Actor with PubMed and Cornell.

    Args:
        evidence: The measurements of ``figure-neighbors``.
    """
    names = ("actor", "pubmed", "cornell")
    matrices = [evidence.measured("figure-neighbors", name) for name in names]
    run = [float(contrast(torch.tensor(matrix))) for matrix in matrices if matrix is not None]
    if len(run) < len(names):
        return not_run(len(run), len(names))
    told = ", ".join(f"{dataset_label(name)} {value:.2f}" for name, value in zip(names, run, strict=True))
    return Finding(graded(run[0] < min(run[1:]) / 2, run[0] < min(run[1:])), told, 3, 3)


def neighbors_are_independent(evidence: Evidence) -> Finding:
    """Take the larger total variation between the joint distribution of two neighbors and the product.

    Args:
        evidence: The measurements of ``figure-independence``.
    """
    names = ("pubmed", "cornell")
    found = {name: evidence.measured("figure-independence", name) for name in names}
    gaps = {name: values["gap"] for name, values in found.items() if values is not None}
    worst = max(gaps.values()) if len(gaps) == len(names) else None
    told = "total variation " + ", ".join(f"{dataset_label(name)} {gap:.2f}" for name, gap in gaps.items())
    return by_limit(worst, holds=0.1, part=0.2, told=told, run=len(gaps), of=len(names))


def squirrel_overfits(evidence: Evidence) -> Finding:
    """Compare how far validation losses have risen again by epoch 200 on Squirrel.

    Args:
        evidence: The cells, with curves of the first split.
    """
    plain, ours = (_rise(evidence, variant, "squirrel") for variant in (ONE_HOT, POSTEL))
    if plain is None or ours is None:
        return not_run(sum(one is not None for one in (plain, ours)), 2)
    told = (
        f"one-hot: lowest at epoch {plain[1]}, {100 * plain[0]:.0f} % above it by {EPOCHS}; PosteL: "
        f"{ours[1]}, {100 * ours[0]:.0f} %"
    )
    as_said = plain[1] <= EPOCHS // 2 and plain[0] > 0.05 >= ours[0]
    return Finding(graded(as_said, ours[0] < plain[0]), told, 2, 2)


def overfits_less_everywhere(evidence: Evidence) -> Finding:
    """Count graphs on which the validation loss rises less with PosteL's labels.

    Args:
        evidence: The cells, with curves of the first split.
    """
    found: list[bool | None] = []
    for name in DATASETS:
        plain, ours = (_rise(evidence, variant, name) for variant in (ONE_HOT, POSTEL))
        found.append(None if plain is None or ours is None else ours[0] < plain[0])
    return by_share(found, paper=1.0, minimum=4, what="graphs")


def gap_is_smaller(evidence: Evidence) -> Finding:
    """Count graphs on which test and training loss of the kept model are nearer with PosteL's labels.

    Args:
        evidence: The cells, with curves of the first split.
    """
    found: list[bool | None] = []
    for name in DATASETS:
        plain, ours = (_loss_gap(evidence, variant, name) for variant in (ONE_HOT, POSTEL))
        found.append(None if plain is None or ours is None else ours < plain)
    return by_share(found, paper=1.0, minimum=4, what="graphs")


def rounds_lower_the_test_loss(evidence: Evidence) -> Finding:
    """Follow the test loss from round to round on Cornell's first split.

    Args:
        evidence: The cell, with its curves.
    """
    row = evidence.first_row(POSTEL, "cornell")
    if row is None or not row.rounds:
        return not_run(0, 1)
    kept = [entry for entry in row.rounds if (entry.round == 0 or entry.improved) and entry.loss("test")]
    losses = [entry.loss("test")[entry.best_epoch - 1] for entry in kept]
    falls = [after < before for before, after in pairwise(losses)]
    told = "test loss " + " → ".join(f"{loss:.3f}" for loss in losses) if falls else "no round helped"
    whole = bool(falls) and all(falls)
    return Finding(graded(whole, bool(falls) and losses[-1] < losses[0]), told, 1, 1)


def few_rounds_suffice(evidence: Evidence) -> Finding:
    """Average the rounds that lowered the validation loss, beside the paper's for the same cells.

    Args:
        evidence: The cells.
    """
    figures = published("iterations")
    cells = {place: evidence.find(POSTEL, place[1], place[0]) for place in figures}
    found = [(cell.mean("improved_rounds"), figures[place].value) for place, cell in cells.items() if cell]
    if len(found) < 10:
        return not_run(len(found), len(figures))
    ours, theirs = (sum(pair[side] for pair in found) / len(found) for side in (0, 1))
    told = f"{ours:.2f} (the paper there: {theirs:.2f})"
    return by_limit(ours - theirs, holds=0.5, part=1.5, told=told, run=len(found), of=len(figures))


def four_times_as_long(evidence: Evidence) -> Finding:
    """Compare the time of PosteL's runs with that of one-hot labels.

    Args:
        evidence: The cells of ``table-time``, at given settings.
    """
    (plain, ours), run = _seconds(evidence, ONE_HOT, POSTEL)
    if run < 4:
        return not_run(run, len(DATASETS))
    told = f"{ours / plain:.1f} times"
    return by_limit(ours / plain, holds=6.0, part=8.0, told=told, run=run, of=len(DATASETS))


def no_slower_than_others(evidence: Evidence) -> Finding:
    """Compare the time of PosteL's runs with KD and ALS.

    Args:
        evidence: The cells of ``table-time``, at given settings.
    """
    (ours, *others), run = _seconds(evidence, POSTEL, KD, ALS)
    if run < 4:
        return not_run(run, len(DATASETS))
    ratios = [ours / other for other in others]
    told = f"{ratios[0]:.1f} times KD, {ratios[1]:.1f} times ALS"
    holds = all(ratio <= 1.5 for ratio in ratios)
    return Finding(graded(holds, any(ratio <= 1.5 for ratio in ratios)), told, run, len(DATASETS))


def faster_without_rounds(evidence: Evidence) -> Finding:
    """Compare the time of KD and ALS with PosteL's without pseudo-labels.

    Args:
        evidence: The cells of ``table-time``, at given settings.
    """
    (ours, *others), run = _seconds(evidence, POSTEL_WITHOUT_IPL, KD, ALS)
    if run < 4:
        return not_run(run, len(DATASETS))
    ratios = [other / ours for other in others]
    told = f"KD takes {ratios[0]:.1f} times as long, ALS {ratios[1]:.1f}"
    return Finding(graded(min(ratios) >= 2.5, max(ratios) >= 2.5), told, run, len(DATASETS))


def pseudo_labels_mend_conditionals(evidence: Evidence) -> Finding:
    """Count graphs on which pseudo-labels bring the conditional nearer to that of all labels.

    Args:
        evidence: The cells of few labels with their first split's rounds, and all labels' conditionals.
    """
    found: list[bool | None] = []
    for name in ("cornell", "texas", "cora"):
        row = evidence.first_row(POSTEL, name, protocol="limited")
        truth = evidence.measured("figure-conditionals", name)
        with_training, with_pseudo = conditionals_of(row) if row else (None, None)
        if with_training is None or with_pseudo is None or truth is None:
            found.append(None)
        else:
            found.append(distance(with_pseudo, truth) < distance(with_training, truth))
    return by_share(found, paper=1.0, minimum=2, what="graphs")


def clusters_are_tighter(evidence: Evidence) -> Finding:
    """Count graphs on which the silhouette of the last layer is higher with PosteL's labels.

    Args:
        evidence: The cells, and what ``figure-tsne`` measured of their first split.
    """
    found: list[bool | None] = []
    for name in ("chameleon", "squirrel"):
        rows = [evidence.first_row(variant, name) for variant in (ONE_HOT, POSTEL)]
        plain, ours = (evidence.measured("figure-tsne", row.key) if row else None for row in rows)
        found.append(ours["silhouette"] > plain["silhouette"] if plain and ours else None)
    return by_share(found, paper=1.0, minimum=2, what="graphs")


def conditionals_of(row: Row) -> tuple[Matrix | None, Matrix | None]:
    """Return the conditional of round 0, and that of the kept round or, if none helped, of the first with labels.

    Args:
        row: A run with its rounds.
    """
    rounds = list(row.rounds or ())
    place = row.result.best_round or min(1, len(rounds) - 1)
    return rounds[0].conditional, rounds[place].conditional if place else None


def distance(matrix: Matrix, truth: Matrix) -> float:
    """Return the total variation between two conditionals, mean over classes.

    Args:
        matrix: A conditional [K, K].
        truth: Another one.

    Example:
        >>> distance([[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])
        0.25
    """
    apart = [
        sum(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / 2
        for ours, theirs in zip(matrix, truth, strict=True)
    ]
    return sum(apart) / len(apart)


def _rise(evidence: Evidence, variant: Variant, dataset: str) -> tuple[float, int] | None:
    """How far the validation loss of the kept round is above its lowest by epoch 200, and when that was."""
    row = evidence.first_row(variant, dataset)
    kept = row.best_round if row else None
    curve = kept.loss("val")[:EPOCHS] if kept else []
    return (curve[-1] / min(curve) - 1, curve.index(min(curve)) + 1) if curve else None


def _loss_gap(evidence: Evidence, variant: Variant, dataset: str) -> float | None:
    row = evidence.first_row(variant, dataset)
    kept = row.best_round if row else None
    if kept is None or not kept.loss("train") or not kept.loss("test"):
        return None
    return kept.loss("test")[kept.best_epoch - 1] - kept.loss("train")[kept.best_epoch - 1]


def _seconds(evidence: Evidence, *variants: Variant) -> tuple[list[float], int]:
    """Mean seconds of each method over the graphs that all of them were run on, and how many those are."""
    graphs = [[evidence.timed(variant, name) for variant in variants] for name in DATASETS]
    whole = [[cell.mean("seconds") for cell in cells if cell] for cells in graphs if None not in cells]
    sums = [sum(side) for side in zip(*whole, strict=True)] or [0.0] * len(variants)
    return [total / max(len(whole), 1) for total in sums], len(whole)
