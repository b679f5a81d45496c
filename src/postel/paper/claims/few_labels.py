"""Claims about a tenth of the training labels: what PosteL and its pseudo-labels add there."""

from __future__ import annotations

from postel.experiments.results import Row
from postel.experiments.scores import Gain
from postel.paper.claims.evidence import Evidence, above, fair_gain, fair_gains
from postel.paper.claims.verdicts import GRAPHS, Finding, by_all, by_share, claim, in_words, not_run
from postel.paper.names import FOUR_DATASETS
from postel.paper.variants import ONE_HOT, POSTEL, POSTEL_WITHOUT_IPL

Matrix = list[list[float]]


@claim(
    "With a tenth of the labels it is better than one-hot labels",
    "Limited Labels, Table 2",
    "4 of 4 graphs",
    GRAPHS,
)
def _beats_one_hot(evidence: Evidence) -> Finding:
    gains = fair_gains(
        (evidence.postel(name, protocol="limited"), evidence.find(ONE_HOT, name, protocol="limited"))
        for name in FOUR_DATASETS
    )
    return by_share(above(gains), minimum=3, what="graphs")


@claim("With a tenth of the labels pseudo-labels add to it", "Limited Labels, Table 2", "4 of 4 graphs", GRAPHS)
def _rounds_help(evidence: Evidence) -> Finding:
    return by_share(above(list(_gains_by_rounds(evidence).values())), minimum=3, what="graphs")


@claim(
    "With a tenth of the labels pseudo-labels add most on Texas and Cornell",
    "Limited Labels, Table 2",
    "+1.8, +3.0",
    "more on both than on Cora and CiteSeer; in part: on one",
)
def _rounds_help_small_graphs_most(evidence: Evidence) -> Finding:
    run = {name: gain.mean for name, gain in _gains_by_rounds(evidence).items() if gain is not None}
    if len(run) < len(FOUR_DATASETS):
        return not_run(len(run), len(FOUR_DATASETS))
    large = max(run["cora"], run["citeseer"])
    return by_all([run[name] > large for name in ("texas", "cornell")], in_words(run, "+z.1f"), 4, 4)


@claim(
    "Pseudo-labels bring the conditionals nearer to the oracle's",
    "Limited Labels, Figure 5",
    "3 of 3 graphs",
    GRAPHS,
)
def _pseudo_labels_mend_conditionals(evidence: Evidence) -> Finding:
    found: list[bool | None] = []
    for name in ("cornell", "texas", "cora"):
        row = evidence.first_row(POSTEL, name, protocol="limited")
        truth = evidence.measured("figure-conditionals", name)
        with_training, with_pseudo = conditionals_of(row) if row else (None, None)
        if with_training is None or with_pseudo is None or truth is None:
            found.append(None)
        else:
            found.append(distance(with_pseudo, truth) < distance(with_training, truth))
    return by_share(found, minimum=2, what="graphs")


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


def _gains_by_rounds(evidence: Evidence) -> dict[str, Gain | None]:
    """What pseudo-labels add to PosteL on each graph."""
    variants = (POSTEL, POSTEL_WITHOUT_IPL)
    return {
        name: fair_gain(*(evidence.find(variant, name, protocol="limited") for variant in variants))
        for name in FOUR_DATASETS
    }
