"""Algorithm 2 without a network: an oracle, a constant model, and models that get worse."""

from __future__ import annotations

import pytest
import torch

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.training import iterate_pseudo_labels
from postel.training.pseudo_labels import Judgement

TRUTH = torch.tensor([0, 1, 2, 0, 1, 2])
KNOWN = KnownLabels.from_index(torch.tensor([0, 1, 2]), TRUTH[:3], num_nodes=6)
SETS = {"val": (torch.tensor([3]), TRUTH[3:4]), "test": (torch.tensor([4, 5]), TRUTH[4:])}


class Model:
    def __init__(self, val_loss: float, predictions: torch.Tensor) -> None:
        self.val_loss, self.predictions = val_loss, predictions


def _scripted(losses, predictions=TRUTH):
    calls: list[tuple[KnownLabels, int]] = []

    def fit_once(known, number):
        calls.append((known, number))
        guess = predictions[number] if isinstance(predictions, list) else predictions
        return Model(losses[number], guess)

    return fit_once, calls


def test_perfect_oracle_labels_every_hidden_node_rightly_and_keeps_training_labels():
    fit_once, calls = _scripted([3.0, 2.0, 1.0, 1.0])
    run = iterate_pseudo_labels(fit_once, KNOWN, True, SETS)
    assert [number for _, number in calls] == [0, 1, 2, 3]
    for known, number in calls[1:]:
        assert torch.equal(known.dense(), TRUTH)
        assert known.is_train.tolist() == [True] * 3 + [False] * 3
        assert run.rounds[number].agreement == {"val": 1.0, "test": 1.0}
    assert calls[0][0].dense().tolist() == [0, 1, 2, -1, -1, -1] and run.rounds[0].agreement == {}
    assert (run.best.number, run.improved_rounds, run.trainings) == (2, 2, 4)
    assert [entry.improved for entry in run.rounds] == [True, True, True, False]


def test_a_constant_model_cannot_overwrite_training_labels():
    fit_once, calls = _scripted([1.0, 1.0], torch.full((6,), 2))
    run = iterate_pseudo_labels(fit_once, KNOWN, True, SETS)
    assert calls[1][0].dense().tolist() == [0, 1, 2, 2, 2, 2]
    assert run.rounds[1].agreement == {"val": 0.0, "test": 0.5}
    assert (run.best.number, run.improved_rounds, run.trainings) == (0, 0, 2)  # equal is not lower


def test_a_round_that_is_wrong_more_often_than_round_zero_is_the_last():
    wrong = {3.0: 0.4, 2.0: 0.2, 1.0: 0.3, 0.5: 0.5}
    run = iterate_pseudo_labels(
        _scripted(list(wrong))[0], KNOWN, judge=lambda model: Judgement((model.val_loss,), wrong[model.val_loss])
    )
    # 0.3 is more than the 0.2 of the best before it, and less than the 0.4 of round 0.
    assert [entry.improved for entry in run.rounds] == [True, True, True, False]


def test_pseudo_labels_come_from_the_best_model_so_far():
    guesses = [torch.full((6,), 0), torch.full((6,), 1), torch.full((6,), 2)]
    fit_once, calls = _scripted([3.0, 2.0, 5.0], guesses)
    iterate_pseudo_labels(fit_once, KNOWN)
    assert [known.dense()[3:].tolist() for known, _ in calls[1:]] == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize(("rounds", "trainings"), [(False, 1), (0, 1), (1, 2), (2, 3), (3, 4), (9, 5), (True, 5)])
def test_number_of_rounds(rounds, trainings):
    fit_once, _ = _scripted([5.0, 4.0, 3.0, 2.0, 2.5])
    assert iterate_pseudo_labels(fit_once, KNOWN, rounds).trainings == trainings


def test_truth_is_reported_and_never_used():
    outcomes = []
    for truth in (None, SETS, {"val": (torch.tensor([3]), torch.tensor([2]))}):
        fit_once, calls = _scripted([3.0, 2.0, 2.0])
        run = iterate_pseudo_labels(fit_once, KNOWN, True, truth)
        outcomes.append(([known.dense().tolist() for known, _ in calls], run.best.number))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_earlier_pseudo_labels_are_dropped_before_the_first_round():
    fit_once, calls = _scripted([1.0])
    iterate_pseudo_labels(fit_once, KNOWN.with_pseudo(torch.tensor([3]), torch.tensor([1])), False)
    assert calls[0][0].dense().tolist() == [0, 1, 2, -1, -1, -1]


@pytest.mark.parametrize("rounds", [-1, 1.5, "yes"])
def test_bad_rounds(rounds):
    fit_once, _ = _scripted([1.0])
    with pytest.raises(InputError, match="pseudo_labels must be True, False or a number"):
        iterate_pseudo_labels(fit_once, KNOWN, rounds)
