"""NodeClassifier as scikit-learn's users know an estimator."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from sklearn.base import clone
from torch_geometric.data import Data

from postel import NodeClassifier, PosteL, load_dataset
from postel.errors import InputError


@pytest.fixture(scope="module")
def karate() -> Data:
    return load_dataset("karate")


def test_arguments_of_the_method_are_arguments_of_the_model() -> None:
    shared = PosteL(alpha=0.8, beta=0.1)
    model, other = NodeClassifier("gcn", smoother=shared), NodeClassifier("gat", smoother=shared)
    assert model.get_params()["smoother__beta"] == 0.1
    assert "smoother__beta" not in model.get_params(deep=False)
    assert model.set_params(smoother__alpha=0.3, lr=0.05) is model
    assert model.smoother == PosteL(alpha=0.3, beta=0.1) and model.lr == 0.05
    assert other.smoother is shared and shared.alpha == 0.8  # a method is replaced, never changed
    model.set_params(smoother=PosteL(beta=0.7), smoother__alpha=0.2)
    assert model.smoother == PosteL(alpha=0.2, beta=0.7)


@pytest.mark.parametrize(
    ("model", "change", "says"),
    [
        (
            NodeClassifier(smoother=PosteL()),
            {"smoother__alfa": 1},
            "no argument 'alfa'; did you mean alpha",
        ),
        (NodeClassifier(smoother=PosteL()), {"smoother__alpha": 2}, r"alpha must lie in \[0, 1\], got 2"),
        (NodeClassifier(), {"smoother__alpha": 0.5}, "smoother is None, which has no argument 'alpha'"),
        (
            NodeClassifier(),
            {"max_epoch": 5},
            "no argument 'max_epoch'; did you mean max_epochs",
        ),
    ],
)
def test_what_cannot_be_set_is_one_sentence_and_changes_nothing(
    model: NodeClassifier, change: dict[str, object], says: str
) -> None:
    before = repr(model)
    with pytest.raises(InputError, match=says):
        model.set_params(lr=0.5, **change)
    assert repr(model) == before


def test_clone_makes_an_unfitted_copy(karate: Data) -> None:
    model = NodeClassifier("gcn", smoother=PosteL(alpha=0.3), max_epochs=3, pseudo_labels=1).fit(karate)
    copy = clone(model)
    assert copy is not model and copy.smoother is not model.smoother and not hasattr(copy, "result_")
    assert copy.get_params() == model.get_params()
    assert torch.equal(copy.fit(karate).logits_, model.logits_)


def test_a_fitted_model_tells_classes_and_features(karate: Data, tmp_path: Path) -> None:
    model = NodeClassifier("gcn", max_epochs=3).fit(karate)
    model.save(tmp_path / "model")
    for fitted in (model, NodeClassifier.load(tmp_path / "model")):
        assert fitted.classes_.tolist() == [0, 1, 2, 3] and fitted.n_features_in_ == 34


def test_pseudo_labels_have_one_default_in_python_and_in_commands() -> None:
    from postel import tune
    from postel.cli.compare import compare
    from postel.cli.options import pseudo_label_rounds
    from postel.cli.train import train
    from postel.cli.tune import tune as tune_command

    for function in (NodeClassifier, tune):
        assert inspect.signature(function).parameters["pseudo_labels"].default is True
    for command in (train, compare, tune_command):
        assert pseudo_label_rounds(inspect.signature(command).parameters["pseudo_labels"].default) is True
