"""ROC-AUC and average precision beside accuracy, as scikit-learn computes them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from postel import NodeClassifier, load_dataset
from postel.training.metrics import Scores, evaluate


@given(st.integers(2, 5), st.integers(2, 40), st.booleans(), st.integers(0, 2**31 - 1))
def test_they_are_those_of_scikit_learn(num_classes: int, size: int, ties: bool, seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(size, num_classes, generator=random, dtype=torch.float64)
    if ties:
        logits = logits.round()
    y = torch.randint(num_classes, (size,), generator=random)
    y[:2] = torch.tensor([0, 1])  # some class is there and some node is of another
    scores = evaluate(logits, torch.arange(size), y)
    p = torch.log_softmax(logits, 1).exp().numpy()  # to the bit those that were ranked: a tie stays a tie
    classes = [1] if num_classes == 2 else [k for k in range(num_classes) if 0 < int((y == k).sum()) < size]
    truth = [(y == k).numpy() for k in classes]
    areas = [roc_auc_score(own, p[:, k]) for k, own in zip(classes, truth, strict=True)]
    precisions = [average_precision_score(own, p[:, k]) for k, own in zip(classes, truth, strict=True)]
    assert scores.roc_auc == pytest.approx(np.mean(areas), abs=1e-12)
    assert scores.average_precision == pytest.approx(np.mean(precisions), abs=1e-12)
    if num_classes > 2 and y.unique().numel() == num_classes:
        assert scores.roc_auc == pytest.approx(roc_auc_score(y, p, multi_class="ovr", average="macro"), abs=1e-12)


def test_nodes_of_one_class_have_neither() -> None:
    scores = evaluate(torch.randn(3, 2), torch.arange(3), torch.zeros(3, dtype=torch.int64))
    assert scores.roc_auc is None and scores.average_precision is None
    assert "roc_auc" not in scores.as_dict() and Scores(**scores.as_dict()) == scores


def test_a_fitted_model_reports_them() -> None:
    data = load_dataset("karate")
    model = NodeClassifier("gcn", max_epochs=5).fit(data)
    assert 0 <= model.evaluate(data, data.test_mask).roc_auc <= 1
    assert model.result_.as_dict()["test"]["average_precision"] == model.result_.test.average_precision
