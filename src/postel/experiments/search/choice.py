"""Which setting is best on validation nodes: by a metric, near ties by a loss that soft labels do not inflate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from postel.errors import InputError
from postel.experiments.rows import Row
from postel.experiments.search.lattice import Place
from postel.settings import METRIC_NAMES

# From so many splits on their spread says how sure a mean is; with fewer the validation nodes have to.
_SPLITS = 3


@dataclass(frozen=True)
class Measured:
    """What a search sees of one run; nothing in it is of test nodes.

    Args:
        split: The split it was run on.
        score: What settings are chosen by, on validation nodes: their accuracy, or another metric in [0, 1].
        loss: Loss on validation nodes after temperature scaling.
        nodes: How many validation nodes the score rests on.
        one_class: Whether every validation node got the same class.
        trainings: How many models were trained.
        seconds: How long that took.
        hits: Which validation nodes were right; None where that was not kept.
    """

    split: int
    score: float
    loss: float
    nodes: int = 0
    one_class: bool = False
    trainings: int = 1
    seconds: float = 0.0
    hits: tuple[bool, ...] | None = None

    @classmethod
    def of(cls, row: Row, metric: str = "accuracy") -> Measured:
        """Return what a search sees of a row.

        Args:
            row: A run. One of version 0.1 has no scaled loss: its plain one stands in.
            metric: What settings are chosen by, a name in ``postel.settings.METRIC_NAMES``. Metrics but the
                accuracy are as sure as the smaller classes allow: they rest on the nodes outside the largest one.

        Raises:
            InputError: If the row does not have the metric.
        """
        result = row.result
        score = getattr(result.val, metric)
        if score is None:
            raise InputError(
                f"a run on {row.spec.dataset}, split {row.split}, has no {METRIC_NAMES[metric]} of its validation "
                "nodes: they are all of one class, or the row is of version 0.1; choose another metric or another "
                "store"
            )
        by_accuracy = metric == "accuracy"
        return cls(
            split=row.split,
            score=score,
            loss=result.val_loss if result.val_loss_scaled is None else result.val_loss_scaled,
            nodes=result.val.count if by_accuracy else round(result.val.count * (1 - result.val.majority)),
            # Where only the order of nodes counts, naming one class for all of them is no flaw.
            one_class=bool(result.one_class_val) and metric not in ("roc_auc", "average_precision"),
            trainings=result.trainings,
            seconds=result.seconds,
            hits=None if row.hits is None or not by_accuracy else tuple(hit == "1" for hit in row.hits),
        )


Runs = Sequence[Measured]


def mean_score(runs: Runs) -> float:
    """Return the mean score on validation nodes.

    Args:
        runs: Runs of one setting.
    """
    return math.fsum(run.score for run in runs) / len(runs)


def mean_loss(runs: Runs) -> float:
    """Return the mean loss on validation nodes after temperature scaling.

    Args:
        runs: Runs of one setting.
    """
    return math.fsum(run.loss for run in runs) / len(runs)


def predicts_one_class(runs: Runs) -> bool:
    """Return whether most of the models give every validation node the same class.

    Args:
        runs: Runs of one setting.
    """
    return 2 * sum(run.one_class for run in runs) > len(runs)


def ranked(measured: Mapping[Place, Runs]) -> list[Place]:
    """Return places from best to worst.

    The score decides; of equal ones those that name several classes come first, then those of lower loss.

    Args:
        measured: The runs of each place, over the same splits.

    Example:
        >>> one, two = Measured(0, 0.5, 1.0, one_class=True), Measured(0, 0.5, 2.0)
        >>> ranked({(0,): [one], (1,): [two]})
        [(1,), (0,)]
    """

    def key(place: Place) -> tuple[float, bool, float, Place]:
        runs = measured[place]
        return (-round(mean_score(runs), 12), predicts_one_class(runs), mean_loss(runs), place)

    return sorted(measured, key=key)


def choose(measured: Mapping[Place, Runs]) -> Place:
    """Return the place to be chosen.

    The highest mean score wins; of those within one standard error of it one whose loss after temperature
    scaling is lower, by more than the standard error of that difference too: a loss that is lower by chance is no
    reason to give up score. Models that name one class for all validation nodes are chosen only if nothing else
    is within that.

    Args:
        measured: The runs of each place that came to the last rung, over the same splits.

    Example:
        >>> runs = {(0,): [Measured(split, 0.80, 0.7) for split in range(3)],
        ...         (1,): [Measured(split, 0.80 + 0.01 * (split - 1), 0.6) for split in range(3)]}
        >>> choose(runs)
        (1,)
    """
    order = ranked(measured)
    best = measured[order[0]]
    near = [order[0]]
    for place in order[1:]:
        runs = measured[place]
        if mean_score(best) - mean_score(runs) <= standard_error(best, runs):
            near.append(place)
    near = [place for place in near if not predicts_one_class(measured[place])] or near
    first = measured[near[0]]
    lower = [place for place in near[1:] if _has_lower_loss(measured[place], first)]
    return min(lower or near[:1], key=lambda place: (mean_loss(measured[place]), order.index(place)))


def standard_error(one: Runs, other: Runs) -> float:
    """Return the standard error of the difference of two mean scores.

    It is taken over splits, pair by pair, if there are at least three; with fewer it is taken over the validation
    nodes, paired where it is known which were right.

    Args:
        one: Runs over some splits.
        other: Runs over the same splits in the same order.

    Example:
        >>> runs = [Measured(split, 0.8, 1.0, nodes=100) for split in range(3)]
        >>> standard_error(runs, runs), round(standard_error(runs[:1], runs[:1]), 4)
        (0.0, 0.0566)
    """
    pairs = list(zip(one, other, strict=True))
    over_splits = _error_over_splits(one, [ours.score - theirs.score for ours, theirs in pairs])
    if over_splits is not None:
        return over_splits
    nodes = sum({run.split: run.nodes for run in one}.values())
    if nodes == 0:
        return 0.0
    if all(run.hits is not None for pair in pairs for run in pair):
        per_node = [
            np.mean(
                [
                    np.array(ours.hits, dtype=np.float64) - np.array(theirs.hits, dtype=np.float64)
                    for ours, theirs in pairs
                    if ours.split == split
                ],
                axis=0,
            )
            for split in dict.fromkeys(run.split for run in one)
        ]
        return float(np.std(np.concatenate(per_node))) / math.sqrt(nodes)
    shares = (mean_score(one), mean_score(other))
    return math.sqrt(sum(share * (1 - share) for share in shares) / nodes)


def _has_lower_loss(one: Runs, other: Runs) -> bool:
    """Whether the loss is lower by more than its error, which takes three splits to be known and is 0 without."""
    lower = [theirs.loss - ours.loss for ours, theirs in zip(one, other, strict=True)]
    return mean_loss(other) - mean_loss(one) > (_error_over_splits(one, lower) or 0.0)


def _error_over_splits(runs: Runs, values: Sequence[float]) -> float | None:
    """The standard error of the mean of ``values``, one per run, over splits; None with fewer than three."""
    by_split: dict[int, list[float]] = {}
    for run, value in zip(runs, values, strict=True):
        by_split.setdefault(run.split, []).append(value)
    if len(by_split) < _SPLITS:
        return None
    means = [math.fsum(found) / len(found) for found in by_split.values()]
    return float(np.std(means, ddof=1)) / math.sqrt(len(means))


def own_error(runs: Runs) -> float:
    """Return the standard error of a mean score: over splits if there are three, else over nodes.

    Args:
        runs: Runs of one setting.
    """
    values = [run.score for run in runs]
    if len({run.split for run in runs}) >= _SPLITS:
        return float(np.std(values, ddof=1)) / math.sqrt(len(values))
    nodes = sum({run.split: run.nodes for run in runs}.values())
    share = mean_score(runs)
    return math.sqrt(share * (1 - share) / nodes) if nodes else 0.0
