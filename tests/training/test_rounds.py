"""Rounds that start from the one-hot model: what is evidence, what is accepted, and what no label may touch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from postel import CalibratedPosteL, KnownLabels, NodeClassifier, OneHot, PosteL
from postel.datasets import load_dataset
from postel.smoothers import calibrated_soft_labels
from postel.smoothers.base import TrainTargets
from postel.training.temperature import fit_temperature, scaled_loss

SETTINGS: dict[str, Any] = {"lr": 0.05, "max_epochs": 60, "seed": 3}


@pytest.fixture(scope="module")
def data() -> Data:
    return load_dataset("csbm-homophilic", split=0, protocol="limited")


class Recording(CalibratedPosteL):
    """The method, and what it was asked."""

    asked: list[KnownLabels]

    def _train_targets(self, edge_index: torch.Tensor, known: KnownLabels, dtype: torch.dtype) -> TrainTargets:
        self.asked.append(known)
        return super()._train_targets(edge_index, known, dtype)


def fitted(data: Data, smoother: Any, pseudo_labels: bool | int = True) -> NodeClassifier:
    return NodeClassifier("gcn", smoother=smoother, pseudo_labels=pseudo_labels, **SETTINGS).fit(data)


def test_round_zero_is_the_one_hot_model_and_the_history_tells_all(data: Data) -> None:
    plain = fitted(data, OneHot())
    model = fitted(data, CalibratedPosteL(accept="always"))
    first, second = model.history_
    assert first.curves.as_dict() == plain.history_[0].curves.as_dict()
    assert first.statistics == {} and second.statistics["exponents"].total >= 0
    assert (first.improved, second.improved) == (True, True)
    assert model.result_.improved_rounds == 1 and model.result_.trainings == 2
    index = data.val_mask.nonzero().view(-1)
    logits, classes = model.logits_[index], data.y[index]
    assert second.temperature == fit_temperature(logits, classes)
    assert second.val_loss_scaled == scaled_loss(logits, classes, second.temperature)
    assert set(second.agreement) == {"val", "test"}


def test_evidence_is_the_best_models_scaled_probabilities_and_nothing_of_validation(data: Data) -> None:
    smoother = Recording()
    smoother.asked = []
    model = fitted(data, smoother, 1)
    (known,) = smoother.asked
    train = data.train_mask.nonzero().view(-1)
    assert torch.equal(known.index, train) and bool(known.is_train.all())
    plain = fitted(data, OneHot())
    expected = torch.softmax(plain.logits_ / model.history_[0].temperature, dim=1)
    assert known.evidence is not None
    assert torch.equal(known.evidence[~data.train_mask], expected[~data.train_mask])
    assert torch.equal(known.evidence[train].argmax(1), data.y[train])
    again = calibrated_soft_labels(data.edge_index, known, rows=train)
    assert torch.allclose(again, smoother.train_targets(data.edge_index, known).rows, atol=1e-12)


def test_the_model_is_fitted_to_every_target(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other nodes told the opposite of their class: the model believes it, where training nodes are few."""
    true = CalibratedPosteL._train_targets

    def turned(self: Any, edge_index: Any, known: KnownLabels, dtype: torch.dtype) -> TrainTargets:
        made = true(self, edge_index, known, dtype)
        assert made.other_nodes is not None
        assert torch.equal(made.other_nodes, (~data.train_mask).nonzero().view(-1))
        wrong = torch.nn.functional.one_hot((data.y[made.other_nodes] + 1) % 5, 5).to(dtype)
        return TrainTargets(made.rows, made.statistics, made.other_nodes, wrong)

    monkeypatch.setattr(CalibratedPosteL, "_train_targets", turned)
    assert fitted(data, CalibratedPosteL(accept="always")).score(data) < 0.3


@pytest.mark.parametrize(
    "smoother", [CalibratedPosteL(), CalibratedPosteL(evidence="hard"), PosteL(accept="scaled")]
)
def test_test_labels_change_no_bit(data: Data, smoother: Any) -> None:
    twin = data.clone()
    hidden = twin.test_mask.nonzero().view(-1)
    twin.y[hidden] = twin.y[hidden.flip(0)]
    one, two = fitted(data, smoother), fitted(twin, smoother)
    assert torch.equal(one.logits_, two.logits_)
    assert [entry.val_loss_scaled for entry in one.history_] == [entry.val_loss_scaled for entry in two.history_]


@pytest.mark.parametrize("accept", ["both", "scaled", "accuracy"])
def test_a_refused_round_leaves_the_one_hot_model(accept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels turned upside down are refused."""
    data = load_dataset("csbm-heterophilic", split=0)

    def wrong(self: Any, edge_index: Any, known: KnownLabels, dtype: torch.dtype) -> TrainTargets:
        rows = 1 - known.train_only().one_hot()
        return TrainTargets((rows / rows.sum(1, keepdim=True)).to(dtype))

    monkeypatch.setattr(CalibratedPosteL, "_train_targets", wrong)
    plain = fitted(data, OneHot())
    model = fitted(data, CalibratedPosteL(accept=accept))
    assert [entry.improved for entry in model.history_] == [True, False]
    assert torch.equal(model.logits_, plain.logits_)
    assert model.result_.test == plain.result_.test and model.result_.best_round == 0


def test_accepted_rounds_have_ever_lower_scaled_losses(data: Data) -> None:
    model = fitted(data, CalibratedPosteL(accept="scaled"))  # the last of "both" may be refused for its accuracy
    losses = [entry.val_loss_scaled for entry in model.history_ if entry.improved]
    assert losses == sorted(losses, reverse=True) and len(set(losses)) == len(losses)
    if not model.history_[-1].improved:
        assert model.history_[-1].val_loss_scaled >= losses[-1]


def test_no_kept_round_is_less_accurate_on_validation_nodes_than_the_one_hot_model() -> None:
    """Where neighbors tell nothing, a lower loss alone takes models that are right less often."""

    def rounds(accept: Any) -> list[tuple[bool, bool, float | None]]:
        """Whether each round was kept and is right less often than round 0, and its loss."""
        model = fitted(data, CalibratedPosteL(accept=accept))
        accuracies = [entry.curves.accuracy["val"][entry.best_epoch - 1] for entry in model.history_]
        assert model.result_.val.accuracy == pytest.approx(accuracies[model.result_.best_round], abs=1e-6)
        return [
            (entry.improved, accuracy < accuracies[0], entry.val_loss_scaled)
            for entry, accuracy in zip(model.history_, accuracies, strict=True)
        ]

    harmed = 0
    for split in range(3):
        data = load_dataset("csbm-no-signal", split=split)
        by_loss, by_both = rounds("scaled"), rounds("both")
        assert not any(kept and harms for kept, harms, _ in by_both)
        # The same rounds, up to the first that harms.
        first = next((i for i, (kept, harms, _) in enumerate(by_loss) if kept and harms), len(by_loss))
        assert [loss for *_, loss in by_both] == [loss for *_, loss in by_loss[: first + 1]]
        harmed += first < len(by_loss)
    assert harmed


def test_without_pseudo_labels_there_is_one_round_on_training_labels(data: Data) -> None:
    for smoother, rounds in ((CalibratedPosteL(), False), (CalibratedPosteL(evidence="none"), True)):
        recording = Recording(evidence=smoother.evidence)
        recording.asked = []
        model = fitted(data, recording, rounds)
        assert len(model.history_) == 2
        assert all(known.evidence is None and bool(known.is_train.all()) for known in recording.asked)


def test_postel_measured_against_one_hot_labels(data: Data) -> None:
    plain, paper = fitted(data, OneHot()), fitted(data, PosteL())
    model = fitted(data, PosteL(accept="scaled"))
    assert model.history_[0].curves.as_dict() == plain.history_[0].curves.as_dict()
    assert model.history_[1].statistics["conditional"] is not None
    assert paper.history_[0].curves.as_dict() != plain.history_[0].curves.as_dict()
    assert model.result_.val_loss_scaled <= plain.result_.val_loss_scaled


def test_the_same_seed_gives_the_same_bytes_and_models_are_saved(data: Data, tmp_path: Any) -> None:
    one, two = fitted(data, CalibratedPosteL()), fitted(data, CalibratedPosteL())
    assert torch.equal(one.logits_, two.logits_)
    one.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert repr(loaded.smoother) == repr(CalibratedPosteL())
    assert torch.equal(loaded.predict(data), one.predict(data))
