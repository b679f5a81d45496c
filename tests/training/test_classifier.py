"""NodeClassifier: scikit-learn's manners, what hidden labels may change, saving, one sentence for bad input."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from postel.errors import InputError
from postel.labels import KnownLabels
from postel.smoothers import ALS, SALS, Distillation, OneHot, PosteL, UniformSmoothing, evidence
from postel.training import NodeClassifier

NODES = 60


def _data(seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(NODES) % 3
    x = torch.rand(NODES, 8, generator=generator) * 2 + F.one_hot(y, 8)
    pairs = torch.randint(0, NODES, (2, 500), generator=generator)
    same = (y[pairs[0]] == y[pairs[1]]) | (torch.rand(500, generator=generator) < 0.1)
    edges = pairs[:, same]
    place = torch.randperm(NODES, generator=generator)
    masks = {
        f"{name}_mask": torch.zeros(NODES, dtype=torch.bool).index_fill(0, nodes, True)
        for name, nodes in (("train", place[:25]), ("val", place[25:40]), ("test", place[40:55]))
    }
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1), y=y, **masks)


def _quick(**changes) -> NodeClassifier:
    return NodeClassifier(**{"backbone": "gcn", "max_epochs": 25, "pseudo_labels": False, **changes})


class Own(nn.Module):
    def __init__(self, inputs, outputs, width=4):
        super().__init__()
        self.first, self.last = GCNConv(inputs, width), GCNConv(width, outputs)

    def forward(self, x, edge_index):
        return self.last(F.dropout(self.first(x, edge_index).relu(), 0.5, self.training), edge_index)


def test_arguments_are_stored_unchanged_and_can_be_changed():
    smoother, arguments = PosteL(alpha=0.3), {"hidden": 8}
    model = NodeClassifier(
        "gcn", smoother=smoother, backbone_args=arguments, lr=-5
    )  # nothing is checked before fit
    assert model.smoother is smoother and model.backbone_args is arguments and model.lr == -5
    assert NodeClassifier(**model.get_params(deep=False)).get_params() == model.get_params()
    assert model.set_params(lr=0.1) is model and model.lr == 0.1
    with pytest.raises(InputError, match="NodeClassifier has no argument 'rate'; it takes backbone, smoother"):
        model.set_params(rate=1)
    assert repr(NodeClassifier("gcn", lr=0.05)) == "NodeClassifier(lr=0.05)"


def test_fit_returns_itself_and_a_second_fit_forgets_the_first():
    data, model = _data(), _quick()
    assert model.fit(data) is model
    first = model.predict_proba(data)
    model.fit(_data(seed=1))
    model.fit(data)
    assert torch.equal(model.predict_proba(data), first)
    assert len(model.history_) == 1 and model.epochs_ == 25


def test_predictions_fit_together():
    data = _data()
    model = _quick(seed=3).fit(data)
    probabilities = model.predict_proba(data)
    assert torch.allclose(probabilities.sum(1), torch.ones(NODES))
    assert torch.equal(probabilities.argmax(1), model.predict(data))
    assert torch.allclose(model.decision_function(data), model.logits_, atol=1e-6)
    share = (model.predict(data) == data.y)[data.test_mask].double().mean().item()
    assert model.score(data) == model.score(data, data.test_mask) == share == model.result_.test.accuracy
    assert model.evaluate(data, data.val_mask) == model.result_.val
    assert model.result_.val_loss == pytest.approx(model.result_.val.nll, abs=1e-5)
    curves = model.history_[0].curves
    assert set(curves.loss) == {"train", "val", "test"} and len(curves.loss["val"]) == 25


@pytest.mark.parametrize(
    "smoother", [None, OneHot(), UniformSmoothing(), PosteL(), SALS(), ALS(), Distillation()], ids=repr
)
def test_every_method_trains_and_repeats_itself(smoother):
    data = _data()
    first, again, other = (_quick(smoother=smoother, seed=seed).fit(data) for seed in (0, 0, 1))
    assert torch.equal(first.logits_, again.logits_) and not torch.equal(first.logits_, other.logits_)
    assert first.result_.trainings == (2 if isinstance(smoother, Distillation) else 1)
    assert first.epochs_ == 25 * first.result_.trainings


def test_a_round_counts_the_edges_once_and_reports_what_it_counted(monkeypatch):
    data, counted = _data(), []
    count = evidence.count_edges

    def counting(edge_index, known, **options):
        counted.append(options["rows"].numel())
        return count(edge_index, known, **options)

    monkeypatch.setattr(evidence, "count_edges", counting)
    model = _quick(smoother=PosteL(), pseudo_labels=2, max_epochs=5).fit(data)
    train = int(data.train_mask.sum())
    assert counted == [train] * len(model.history_) and len(counted) >= 2
    known = KnownLabels.from_mask(data.y, data.train_mask, 3)
    prior, conditional = PosteL().statistics(data.edge_index, known)
    first = model.history_[0]
    assert torch.equal(first.statistics["prior"], prior) and torch.equal(first.conditional, conditional)
    assert _quick(smoother=UniformSmoothing(), max_epochs=2).fit(data).history_[0].conditional is None


def test_hidden_labels_change_no_weight():
    data = _data()
    hidden = ~(data.train_mask | data.val_mask)
    other = data.clone()
    other.y[hidden] = other.y[hidden].flip(0)
    assert not torch.equal(other.y, data.y)
    settings = {"smoother": PosteL(), "pseudo_labels": True}
    plain, changed = _quick(**settings).fit(data), _quick(**settings).fit(other)
    assert torch.equal(plain.logits_, changed.logits_)
    assert plain.result_.val == changed.result_.val and plain.result_.test != changed.result_.test
    keep = ("best_epoch", "best_round", "improved_rounds", "trainings", "epochs", "val_loss")
    assert all(getattr(plain.result_, name) == getattr(changed.result_, name) for name in keep)


def test_a_test_label_never_decides_the_number_of_classes():
    data = _data()
    del data.num_classes
    other = data.clone()
    other.y[other.test_mask.nonzero()[0]] = 3
    with pytest.raises(InputError, match=r"lie in \[0, 2\], got 3: no training or validation node has it"):
        _quick().fit(other)
    del other.test_mask
    assert _quick().fit(other).num_classes_ == 3
    assert _quick(num_classes=4).fit(data).num_classes_ == 4


def test_pseudo_labels_are_kept_round_by_round():
    data = _data()
    model = _quick(smoother=PosteL(), pseudo_labels=3, lr=0.05).fit(data)
    assert 2 <= len(model.history_) <= 4
    assert model.result_.trainings == len(model.history_)
    assert model.result_.improved_rounds == sum(entry.improved for entry in model.history_) - 1
    assert model.epochs_ == sum(entry.epochs for entry in model.history_)
    first, second = model.history_[:2]
    assert first.agreement == {} and set(second.agreement) == {"val", "test"}
    assert first.conditional.shape == (3, 3) and not torch.equal(first.conditional, second.conditional)
    assert model.result_.val_loss == min(entry.val_loss for entry in model.history_)
    assert _quick(smoother=UniformSmoothing(), pseudo_labels=True).fit(data).result_.trainings == 1


def test_a_users_own_module():
    data = _data()
    model = _quick(backbone=Own, backbone_args={"width": 6}, seed=1).fit(data)
    assert model.backbone_.module.first.out_channels == 6
    assert torch.equal(model.logits_, _quick(backbone=Own, backbone_args={"width": 6}, seed=1).fit(data).logits_)


@pytest.mark.parametrize("name", ["gcn", "bernnet", "ordered_gnn"])
def test_saved_and_loaded_model_predicts_the_same(name, tmp_path):
    data = _data()
    model = _quick(backbone=name, smoother=PosteL(alpha=0.3), pseudo_labels=1).fit(data)
    model.save(tmp_path / "deep" / "model")
    loaded = NodeClassifier.load(tmp_path / "deep" / "model")
    assert torch.equal(loaded.predict_proba(data), model.predict_proba(data))
    assert repr(loaded) == repr(model) and loaded.epochs_ == model.epochs_
    assert loaded.result_ == model.result_
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "model.json").read_text() == (
        tmp_path / "deep" / "model" / "model.json"
    ).read_text()
    assert {path.name for path in (tmp_path / "again").iterdir()} == {"model.json", "weights.safetensors"}


def test_saving_a_users_own_module_needs_its_function_to_load(tmp_path):
    data = _data()
    model = _quick(backbone=Own).fit(data)
    model.save(tmp_path)
    with pytest.raises(InputError, match="pass its function"):
        NodeClassifier.load(tmp_path)
    assert torch.equal(NodeClassifier.load(tmp_path, backbone=Own).predict_proba(data), model.predict_proba(data))


def _damage(folder, how):
    card = folder / "model.json"
    value = json.loads(card.read_text())
    if how == "no card":
        card.unlink()
    elif how == "no weights":
        (folder / "weights.safetensors").unlink()
    elif how == "cut card":
        card.write_text(card.read_text()[:40])
    elif how == "cut weights":
        weights = folder / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:-20])
    elif how == "garbage weights":
        (folder / "weights.safetensors").write_bytes(b"\x00garbage" * 9)
    else:
        changes = {
            "foreign": {"format": "something-else"},
            "newer": {"version": 99},
            "list": None,
            "other sizes": {"num_features": 9},
            "no params": {"params": None},
            "bad backbone": {"params": {**value["params"], "backbone": "os.system"}},
            "bad argument": {"params": {**value["params"], "nonsense": 1}},
            "bad smoother": {"params": {**value["params"], "smoother": {"class": "Path", "params": {}}}},
            "bad result": {"result": {"val": 3}},
        }[how]
        card.write_text(json.dumps([] if changes is None else {**value, **changes}))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("no card", "is no model folder"),
        ("no weights", "is no model folder"),
        ("cut card", "is damaged: it is not JSON"),
        ("cut weights", "is damaged or does not fit"),
        ("garbage weights", "is damaged or does not fit"),
        ("foreign", "was not written by NodeClassifier.save"),
        ("list", "was not written by NodeClassifier.save"),
        ("newer", "has version 99"),
        ("other sizes", "is damaged or does not fit"),
        ("no params", "params is missing or of the wrong kind"),
        ("bad backbone", "names an unknown backbone, 'os.system'"),
        ("bad argument", "is damaged or does not fit"),
        ("bad smoother", "names a soft-label method that is not known here"),
        ("bad result", "is damaged or does not fit"),
    ],
)
def test_a_damaged_or_foreign_folder_is_one_sentence(how, sentence, tmp_path):
    _quick(max_epochs=2, smoother=PosteL()).fit(_data()).save(tmp_path)
    _damage(tmp_path, how)
    with pytest.raises(InputError, match=sentence) as caught:
        NodeClassifier.load(tmp_path)
    assert "\n" not in str(caught.value)


def _with(**changes):
    data = _data()
    for name, value in changes.items():
        setattr(data, name, value)
    return data


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"x": torch.full((NODES, 8), float("nan"))}, "data.x must be finite"),
        ({"x": torch.rand(NODES - 1, 8)}, "has 59 rows but data.y has 60"),
        ({"y": None}, "data.y must be an integer tensor"),
        ({"y": torch.rand(NODES)}, "data.y must be an integer tensor"),
        ({"y": -torch.ones(NODES, dtype=torch.int64)}, "must not be negative"),
        ({"train_mask": None}, "data.train_mask must be a boolean tensor"),
        ({"val_mask": None}, "data.val_mask must be a boolean tensor"),
        ({"val_mask": torch.zeros(NODES, dtype=torch.bool)}, "data.val_mask selects no node"),
        ({"train_mask": torch.ones(NODES, dtype=torch.bool)}, "must not share nodes"),
        (
            {"train_mask": torch.ones(NODES, 10, dtype=torch.bool)},
            r"choose a split, as in data.train_mask\[:, 0\]",
        ),
        ({"test_mask": torch.ones(3, dtype=torch.bool)}, "data.test_mask must be a boolean tensor"),
    ],
)
def test_bad_data_is_one_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        _quick().fit(_with(**changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"backbone": "gnc"}, "unknown backbone 'gnc'; did you mean gcn"),
        ({"backbone": 3}, "backbone must be a name, a class, a function or a torch module, got int"),
        ({"backbone_args": {"width": 3}}, "gcn has no argument 'width'"),
        ({"lr": 0.0}, "lr must be a number above 0"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"num_classes": 2}, r"labels must lie in \[0, 1\], got 2"),
        ({"pseudo_labels": -2, "smoother": PosteL()}, "pseudo_labels must be True, False or a number"),
        ({"device": "abacus"}, "device must be a torch device such as 'cpu' or 'cuda', got 'abacus'"),
        ({"smoother": "postel"}, "smoother must be a soft-label method"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        _quick(**arguments).fit(_data())


def test_unfitted_and_misfitting_models_say_so(tmp_path):
    data, model = _data(), _quick()
    for call in (lambda: model.predict(data), lambda: model.save(tmp_path)):
        with pytest.raises(InputError, match="not fitted yet"):
            call()
    model.fit(data)
    with pytest.raises(InputError, match=r"fitted on 8 features, but data\.x has 3"):
        model.predict(_with(x=torch.rand(NODES, 3)))


def test_a_model_without_test_nodes_and_more_classes_than_labels():
    data = _with(test_mask=None)
    model = _quick(num_classes=5, progress=True).fit(data)
    assert model.result_.test is None and model.predict_proba(data).shape == (NODES, 5)
    data.num_classes = 4
    assert _quick().fit(data).predict_proba(data).shape == (NODES, 4)
    json.dumps(model.result_.as_dict())
    assert replace(model.result_, test=None) == model.result_ and "val" in asdict(model.result_)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the sentence is for machines without a GPU")
def test_a_gpu_that_is_not_there_is_one_sentence():
    with pytest.raises(InputError, match="torch finds no GPU here; use device='cpu'"):
        _quick(device="cuda").fit(_data())
