"""Objective, stop rules, Adam, metrics and seeds, each against an independent computation."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from postel.errors import InputError
from postel.training import Objective, SoftTargets, Watch, derive_seed, evaluate, seeded
from postel.training.adam import Adam
from postel.training.stopping import patience, window_mean


@pytest.mark.parametrize("classes", [2, 7, 40])
def test_soft_targets_equal_torchs_cross_entropy(classes):
    logits = (torch.randn(30, classes) * 5).requires_grad_()
    index = torch.randperm(30)[:11]
    targets = torch.rand(11, classes, dtype=torch.float64).softmax(1)
    loss = SoftTargets(index, targets).loss(logits, 1)
    expected = F.cross_entropy(logits[index], targets.float())
    assert torch.allclose(loss, expected, rtol=1e-5)
    (mine,) = torch.autograd.grad(loss * 3, logits)
    (theirs,) = torch.autograd.grad(expected * 3, logits)
    assert torch.allclose(mine, theirs, atol=1e-6)


def test_targets_that_do_not_sum_to_one_have_the_right_gradient_too():
    logits, targets = torch.randn(3, 4, requires_grad=True), torch.rand(3, 4)
    loss = SoftTargets(torch.arange(3), targets).loss(logits, 1)
    expected = -(targets * logits.log_softmax(1)).sum(1).mean()
    grads = [torch.autograd.grad(value, logits)[0] for value in (loss, expected)]
    assert torch.allclose(loss, expected) and torch.allclose(*grads, atol=1e-6)


def test_soft_targets_stand_huge_logits():
    logits = torch.tensor([[1e4, -1e4]], requires_grad=True)
    loss = SoftTargets(torch.tensor([0]), torch.tensor([[1.0, 0.0]])).loss(logits, 1)
    loss.backward()
    assert loss.item() == 0 and bool(torch.isfinite(logits.grad).all())


def test_soft_targets_refuse_what_cannot_be_fitted():
    assert isinstance(SoftTargets(torch.tensor([0]), torch.ones(1, 2)), Objective)
    for index, targets, sentence in [
        (torch.tensor([0, 1]), torch.ones(1, 2), "one row for each"),
        (torch.empty(0, dtype=torch.int64), torch.ones(0, 2), "targets are empty"),
        (torch.tensor([0]), torch.tensor([[float("nan"), 1.0]]), "must be finite"),
    ]:
        with pytest.raises(InputError, match=sentence):
            SoftTargets(index, targets)


LOSSES = st.lists(st.floats(0, 10), min_size=1, max_size=30)


@given(LOSSES, st.integers(1, 10))
def test_window_mean_equals_its_definition(losses, window):
    epoch = len(losses) - 1  # from 0, as the field's loops count
    expected = epoch > window and losses[-1] > math.fsum(losses[-1 - window : -1]) / window + 1e-12
    if abs(losses[-1] - math.fsum(losses[-1 - window : -1]) / window) > 1e-9:
        assert window_mean(losses, window) == expected


@given(LOSSES, st.integers(1, 10))
def test_patience_equals_its_definition(losses, window):
    best = losses.index(min(losses))
    assert patience(losses, window) == (len(losses) - 1 - best >= window)


def test_adam_equals_torchs_with_groups_and_missing_gradients():
    start = [torch.randn(3, 2), torch.randn(4), torch.randn(2)]
    mine = [torch.nn.Parameter(value.clone()) for value in start]
    theirs = [torch.nn.Parameter(value.clone()) for value in start]

    def groups(values):
        return [
            {"params": values[:2], "lr": 0.1, "weight_decay": 0.3},
            {"params": values[2:], "lr": 0.01, "weight_decay": 0.0},
        ]

    ours, reference = Adam(groups(mine)), torch.optim.Adam(groups(theirs))
    for step in range(6):
        grads = [torch.randn_like(value) for value in start]
        for values in (mine, theirs):
            for place, (value, grad) in enumerate(zip(values, grads, strict=True)):
                value.grad = None if (place == 1 and step in (0, 3)) else grad.clone()
        ours.step()
        reference.step()
        assert all(value.grad is None for value in mine)
    for a, b in zip(mine, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_watch_equals_torchs_cross_entropy_and_accuracy():
    logits = torch.randn(50, 6)
    sets = {
        name: (torch.randperm(50)[:size], torch.randint(0, 6, (size,))) for name, size in (("a", 20), ("b", 7))
    }
    losses, accuracies = Watch(sets, 50)(logits)
    for name, (index, classes) in sets.items():
        assert losses[name] == pytest.approx(F.cross_entropy(logits[index], classes).item(), abs=1e-5)
        assert accuracies[name] == pytest.approx((logits[index].argmax(1) == classes).double().mean().item())


def test_scores_equal_brute_force():
    torch.manual_seed(0)
    logits, index = torch.randn(200, 4) * 2, torch.randperm(200)[:150]
    classes = torch.randint(0, 3, (150,))  # class 3 is in no truth
    scores = evaluate(logits, index, classes)
    guess, sure = logits[index].softmax(1).argmax(1), logits[index].softmax(1).amax(1)
    recalls, f1 = [], []
    for c in range(4):
        true, said = classes == c, guess == c
        both = int((true & said).sum())
        if true.any():
            recalls.append(both / int(true.sum()))
        f1.append(2 * both / max(int(true.sum() + said.sum()), 1))
    ece = 0.0
    for bin_ in range(15):
        inside = (sure > bin_ / 15) & (sure <= (bin_ + 1) / 15)
        if inside.any():
            gap = (guess[inside] == classes[inside]).double().mean() - sure[inside].double().mean()
            ece += inside.double().mean().item() * abs(gap.item())
    assert scores.accuracy == pytest.approx((guess == classes).double().mean().item())
    assert scores.balanced_accuracy == pytest.approx(sum(recalls) / 3)
    assert scores.macro_f1 == pytest.approx(sum(f1) / 3, abs=1e-6)
    assert scores.nll == pytest.approx(F.cross_entropy(logits[index], classes).item(), abs=1e-5)
    assert scores.ece == pytest.approx(ece, abs=1e-5)
    assert scores.majority == pytest.approx(int(torch.bincount(classes).max()) / 150) and scores.count == 150
    with pytest.raises(InputError, match="no node to score"):
        evaluate(logits, index[:0], classes[:0])


@pytest.mark.parametrize("scale", [0.5, 5.0, 500.0])  # the last is certain of nearly everything
def test_scores_equal_torchmetrics(scale):
    functional = pytest.importorskip("torchmetrics.functional.classification")
    torch.manual_seed(1)
    logits, classes = (torch.randn(400, 5) * scale).double(), torch.randint(0, 5, (400,))
    scores = evaluate(logits, torch.arange(400), classes)
    ece = functional.multiclass_calibration_error(logits.softmax(1), classes, 5, n_bins=15)
    f1 = functional.multiclass_f1_score(logits.argmax(1), classes, 5, average="macro")
    recall = functional.multiclass_accuracy(logits.argmax(1), classes, 5, average="macro")
    assert scores.ece == pytest.approx(float(ece), abs=1e-6)
    assert scores.macro_f1 == pytest.approx(float(f1), abs=1e-6)
    assert scores.balanced_accuracy == pytest.approx(float(recall), abs=1e-6)


def test_seeds_are_scoped_and_derived():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    with seeded(9):
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), state)
    assert len({derive_seed(seed, number) for seed in range(20) for number in range(20)}) == 400
    for bad in (-1, 1.5, True, "a"):
        with pytest.raises(InputError, match="seed must be a whole number"):
            derive_seed(bad)
