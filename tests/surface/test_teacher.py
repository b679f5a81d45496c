"""Distillation as a transform: from a model, from probabilities, and a plain error without a teacher."""

from __future__ import annotations

import pytest
import torch
from sklearn.base import clone
from torch_geometric.data import Data

from postel import Distillation, NodeClassifier, load_dataset
from postel.errors import InputError
from postel.training.tracking import TrainingOutcome


@pytest.fixture(scope="module")
def karate() -> Data:
    return load_dataset("karate")


@pytest.fixture(scope="module")
def teacher(karate: Data) -> NodeClassifier:
    return NodeClassifier("gcn", max_epochs=5).fit(karate)


def test_a_fitted_model_is_a_teacher(karate: Data, teacher: NodeClassifier) -> None:
    soft = Distillation(weight=0.5, teacher=teacher)(karate).soft_y
    expected = teacher.predict_proba(karate)
    own = torch.nn.functional.one_hot(karate.y, 4)
    expected[karate.train_mask] = 0.5 * expected[karate.train_mask] + 0.5 * own[karate.train_mask]
    torch.testing.assert_close(soft, expected)
    by_rows = Distillation(weight=0.5, teacher=teacher.predict_proba(karate))
    torch.testing.assert_close(by_rows(karate).soft_y, expected)
    assert "teacher=Tensor([34, 4])" in repr(by_rows)


def test_a_student_of_a_given_teacher_trains_no_other(karate: Data, teacher: NodeClassifier) -> None:
    settings = {"max_epochs": 5, "seed": 3}
    usual = NodeClassifier("gcn", smoother=Distillation(), **settings).fit(karate)
    given = NodeClassifier("gcn", smoother=Distillation(teacher=teacher), **settings).fit(karate)
    again = NodeClassifier("gcn", smoother=Distillation(teacher=teacher), **settings).fit(karate)
    assert usual.result_.trainings == 2 and given.result_.trainings == 1
    assert torch.equal(given.logits_, again.logits_) and not torch.equal(given.logits_, usual.logits_)


def test_students_that_differ_in_their_method_only_share_a_teacher_and_count_it_each(karate: Data) -> None:
    kept: list[TrainingOutcome] = []
    for temperature in (1.0, 4.0):
        student = NodeClassifier("gcn", smoother=Distillation(temperature=temperature), max_epochs=20, seed=3)
        usual = clone(student).fit(karate)
        taught = student.fit_taught(karate, kept)
        assert torch.equal(taught.logits_, usual.logits_)
        assert (taught.epochs_, taught.result_.trainings) == (usual.epochs_, usual.result_.trainings) == (40, 2)
        (teacher,) = kept
        assert taught.result_.seconds > teacher.seconds
    plain = NodeClassifier("gcn", max_epochs=20, seed=3).fit_taught(karate, kept)
    assert plain.result_.trainings == 1, "a method without a teacher counts none"


@pytest.mark.parametrize(
    ("teacher", "says"),
    [
        (None, r"Distillation learns from a teacher: give it one, as in Distillation\(teacher=model\)"),
        (torch.ones(3, 4), r"teacher must have shape \[34, 4\], got \[3, 4\]"),
        (torch.ones(34, 4), "teacher must hold class probabilities, rows that sum to 1"),
        ("gcn", r"teacher must be a fitted model with logits_ or class probabilities \[N, K\], got str"),
    ],
    ids=["none", "shape", "logits", "name"],
)
def test_what_is_no_teacher_is_told(karate: Data, teacher: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Distillation(teacher=teacher)(karate)
