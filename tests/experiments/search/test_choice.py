"""Which setting is chosen: accuracy first, near ties by scaled loss, models that name one class last."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from experiments.studies import made_up
from postel.experiments.search.choice import Measured, choose, own_error, ranked, standard_error


def runs(accuracies, loss=1.0, *, one_class=False, nodes=100):
    return [
        Measured(split, value, loss, nodes=nodes, one_class=one_class) for split, value in enumerate(accuracies)
    ]


def test_the_highest_accuracy_wins_if_it_is_clear():
    assert choose({(0,): runs([0.80, 0.82, 0.81]), (1,): runs([0.70, 0.72, 0.71], loss=0.1)}) == (0,)


def test_near_ties_are_decided_by_the_scaled_loss():
    measured = {(0,): runs([0.80, 0.82, 0.81], 0.9), (1,): runs([0.82, 0.80, 0.805], 0.5)}
    assert ranked(measured)[0] == (0,)
    assert choose(measured) == (1,)


def test_a_loss_that_is_lower_by_chance_gives_up_no_accuracy():
    """A near tie whose loss is lower on two splits and higher on one: the mean is lower, and says nothing."""
    first = runs([0.80, 0.82, 0.81], 0.9)
    unsure = [replace(run, loss=loss) for run, loss in zip(runs([0.82, 0.80, 0.80]), (0.6, 0.7, 1.3), strict=True)]
    sure = [replace(run, loss=loss) for run, loss in zip(unsure, (0.8, 0.7, 0.8), strict=True)]
    assert choose({(0,): first, (1,): unsure}) == (0,)
    assert choose({(0,): first, (1,): unsure, (2,): sure}) == (2,)
    # One split says nothing of the error: there a lower loss decides.
    assert choose({(0,): first[:1], (1,): [replace(first[0], loss=0.8)]}) == (1,)


def test_one_class_is_chosen_only_if_nothing_else_is_as_good():
    """Five settings tie at the majority share and one that tells classes apart is a node behind."""
    share = [0.54, 0.57, 0.51]
    collapsed = {(number,): runs(share, 0.1, one_class=True) for number in range(5)}
    near = runs([0.57, 0.51, 0.51], 0.9)
    assert choose({**collapsed, (9,): near}) == (9,)
    assert choose({**collapsed, (9,): runs([0.2, 0.2, 0.2])}) == (0,)


def test_the_error_is_paired_over_splits():
    one, other = runs([0.9, 0.8, 0.7]), runs([0.88, 0.78, 0.68])
    assert standard_error(one, other) == pytest.approx(0.0, abs=1e-12)
    assert own_error(one) == pytest.approx(0.1 / math.sqrt(3))


def test_with_one_split_the_error_is_over_nodes_and_paired_where_hits_are_known():
    rng = np.random.default_rng(0)
    hits = rng.random(400) < 0.8
    other = hits.copy()
    other[:20] = ~other[:20]
    ours, theirs = (
        [Measured(0, float(found.mean()), 1.0, nodes=400, hits=tuple(found.tolist()))] for found in (hits, other)
    )
    difference = hits.astype(float) - other.astype(float)
    assert standard_error(ours, theirs) == pytest.approx(difference.std() / 20)
    blind = [Measured(0, float(found.mean()), 1.0, nodes=400) for found in (hits, other)]
    assert standard_error(blind[:1], blind[1:]) > 2 * standard_error(ours, theirs)


def test_old_rows_have_a_plain_loss():
    row = made_up("a")
    assert Measured.of(row) == Measured(0, 0.5, 1.0, 10, False, 1, 3.0)
    scaled = replace(row, result=replace(row.result, val_loss_scaled=0.7, one_class_val=True))
    assert (Measured.of(scaled).loss, Measured.of(scaled).one_class) == (0.7, True)
