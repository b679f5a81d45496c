"""One run: the same bytes from the same seed, the right epoch kept, nothing learned from test labels."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.data import Data

from postel.backbones import BACKBONES, make_backbone
from postel.errors import InputError
from postel.graph import bernoulli, prepare
from postel.training import Settings, SoftTargets, Watch, seeded, train

NODES, FEATURES, CLASSES = 60, 10, 3


def _problem(seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (NODES,), generator=generator)
    x = torch.rand(NODES, FEATURES, generator=generator) + F.one_hot(y, FEATURES)
    pairs = torch.randint(0, NODES, (2, 400), generator=generator)
    edge_index = pairs[:, y[pairs[0]] == y[pairs[1]]]
    graph = prepare(Data(x=x, edge_index=torch.cat([edge_index, edge_index.flip(0)], 1)))
    index = torch.randperm(NODES, generator=generator)
    sets = {"train": index[:20], "val": index[20:40], "test": index[40:]}
    return graph, {name: (nodes, y[nodes]) for name, nodes in sets.items()}


def _objective(sets):
    index, classes = sets["train"]
    return SoftTargets(index, F.one_hot(classes, CLASSES).double())


def _run(name="gcn", seed=0, sets=None, network=None, **settings):
    graph, own = _problem()
    sets = sets or own
    values = {"max_epochs": 30, **settings}
    make = lambda: make_backbone(name, FEATURES, CLASSES, **network or {})  # noqa: E731
    return train(make, graph, _objective(sets), Watch(sets, NODES), Settings(**values), seed=seed)


def _digest(outcome) -> str:
    digest = hashlib.sha256()
    for name, tensor in outcome.backbone.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    digest.update(outcome.logits.numpy().tobytes())
    digest.update(repr(outcome.curves.as_dict()).encode())
    return digest.hexdigest()


@pytest.mark.parametrize("name", BACKBONES)
def test_same_seed_same_bytes_other_seed_other_bytes(name):
    first, again, other = _run(name), _run(name), _run(name, seed=1)
    assert _digest(first) == _digest(again) != _digest(other)


@pytest.mark.parametrize("network", [{}, {"num_layers": 3, "dropout": 0.3}])
@pytest.mark.parametrize("name", ["gcn", "chebnet"])
def test_masks_drawn_ahead_are_fewer_draws_and_the_same_bytes(name, network, monkeypatch):
    draws, draw = [], bernoulli._draw
    monkeypatch.setattr(bernoulli, "_draw", lambda *arguments: draws.append(arguments) or draw(*arguments))
    ahead, blocks = _run(name, network=network), len(draws)
    monkeypatch.setattr(type(ahead.backbone), "masks_alike", False)
    single = _run(name, network=network)
    assert _digest(ahead) == _digest(single)
    assert 0 < blocks < single.epochs <= len(draws) - blocks


def test_same_bytes_in_another_process():
    program = (
        "import sys, importlib.util, torch\n"
        "torch.set_num_threads(1); torch.manual_seed(5)\n"
        "spec = importlib.util.spec_from_file_location('here', sys.argv[1])\n"
        "here = importlib.util.module_from_spec(spec); spec.loader.exec_module(here)\n"
        "print(here._digest(here._run()), here._digest(here._run('gat')))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, __file__]
    there = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert there == [_digest(_run()), _digest(_run("gat"))]


def test_the_callers_generator_is_left_alone():
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    _run()
    assert torch.equal(torch.rand(3), expected)


def test_test_labels_change_the_test_curve_and_nothing_else():
    _, sets = _problem()
    index, classes = sets["test"]
    shuffled = {**sets, "test": (index, classes.roll(1))}
    plain, other = _run(), _run(sets=shuffled)
    for curves in (plain.curves, other.curves):
        curves.loss = {**curves.loss}
    assert plain.curves.loss.pop("test") != other.curves.loss.pop("test")
    assert plain.curves.loss == other.curves.loss and plain.curves.objective == other.curves.objective
    assert torch.equal(plain.logits, other.logits)
    assert (plain.best_epoch, plain.epochs, plain.val_loss) == (other.best_epoch, other.epochs, other.val_loss)


def test_best_epoch_is_the_first_minimum_and_its_weights_are_restored():
    graph, sets = _problem()
    outcome = _run(lr=0.5, max_epochs=60)
    losses = outcome.curves.loss["val"]
    assert outcome.best_epoch == losses.index(min(losses)) + 1 < outcome.epochs == 60
    with torch.no_grad():
        again = outcome.backbone(graph)
    assert torch.allclose(again, outcome.logits, atol=1e-6)
    index, classes = sets["val"]
    assert F.cross_entropy(again[index], classes).item() == pytest.approx(outcome.val_loss, abs=1e-5)
    assert not outcome.backbone.training and outcome.seconds > 0


@pytest.mark.parametrize("name", ["gcn", "bernnet", "ordered_gnn"])
def test_loop_equals_the_plain_one_written_with_torch(name):
    """Sharing the first layer and the own Adam change nothing: a loop of whole forwards gives the same weights."""
    graph, sets = _problem()
    objective, epochs = _objective(sets), 12
    index, classes = sets["val"]
    with seeded(0):
        backbone = make_backbone(name, FEATURES, CLASSES)
        optimizer = torch.optim.Adam(backbone.parameter_groups(0.01, 5e-4))
        losses = []
        for epoch in range(epochs):
            backbone.train()
            optimizer.zero_grad()
            objective.loss(backbone(graph), epoch).backward()
            optimizer.step()
            backbone.eval()
            with torch.no_grad():
                losses.append(F.cross_entropy(backbone(graph)[index], classes).item())
    outcome = _run(name, max_epochs=epochs)
    assert outcome.curves.loss["val"] == pytest.approx(losses, abs=2e-4)


@pytest.mark.parametrize("name", BACKBONES)
def test_what_a_run_leaves_behind_can_be_differentiated(name):
    graph, sets = _problem()
    make = lambda: make_backbone(name, FEATURES, CLASSES)  # noqa: E731
    outcome = train(make, graph, _objective(sets), Watch(sets, NODES), Settings(max_epochs=2))
    assert not outcome.logits.is_inference()
    # The graph kept the operators that the run made; the weights are those that the run updated.
    (outcome.backbone(graph) * outcome.logits).sum().backward()
    assert all(parameter.grad is not None for parameter in outcome.backbone.parameters())


def test_logits_of_another_width_than_the_targets_are_refused():
    _, sets = _problem()
    with pytest.raises(InputError, match="3 classes, but logits have 4"):
        _objective(sets).loss(torch.zeros(NODES, 4), epoch=1)


def test_stop_rules_end_the_run():
    assert _run(lr=1.0, window=3, max_epochs=500).epochs < 500
    assert _run(lr=1.0, window=5, stopping="patience", max_epochs=500).epochs < 500


def test_objective_with_its_own_parameters_is_learned_with_its_own_rate():
    graph, sets = _problem()

    class Learned(SoftTargets):
        lr = 0.25

        def __init__(self, base):
            self.__dict__.update(vars(base))
            self.shift = nn.Parameter(torch.zeros(1))
            self.epochs = []

        def parameters(self):
            return [self.shift]

        def loss(self, logits, epoch):
            self.epochs.append(epoch)
            return super().loss(logits, epoch) + self.shift.sum()

    objective = Learned(_objective(sets))
    make = lambda: make_backbone("gcn", FEATURES, CLASSES)  # noqa: E731
    train(make, graph, objective, Watch(sets, NODES), Settings(max_epochs=4))
    assert objective.epochs == [1, 2, 3, 4]
    assert objective.shift.item() == pytest.approx(-1.0, abs=1e-3)  # four Adam steps of 0.25 against a slope of 1


def test_running_statistics_are_restored_with_the_weights():
    class Normed(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.norm, self.out = nn.BatchNorm1d(inputs), nn.Linear(inputs, outputs)

        def forward(self, x, edge_index):
            return self.out(self.norm(x))

    graph, sets = _problem()
    sets["val"] = (sets["val"][0], sets["val"][1].roll(1))  # wrong labels, so that its loss rises again
    make = lambda: make_backbone(Normed, FEATURES, CLASSES)  # noqa: E731
    outcome = train(make, graph, _objective(sets), Watch(sets, NODES), Settings(lr=0.5, max_epochs=40))
    assert outcome.best_epoch < 40
    assert int(outcome.backbone.module.norm.num_batches_tracked) == outcome.best_epoch
    with torch.no_grad():
        assert torch.allclose(outcome.backbone(graph), outcome.logits, atol=1e-5)


def test_divergence_keeps_the_best_epoch_or_says_what_to_do():
    graph, sets = _problem()

    class Diverging(SoftTargets):
        after = 2

        def loss(self, logits, epoch):
            return super().loss(logits, epoch) * (float("nan") if epoch > self.after else 1.0)

    index, classes = sets["train"]
    objective = Diverging(index, F.one_hot(classes, CLASSES).double())
    make = lambda: make_backbone("gcn", FEATURES, CLASSES)  # noqa: E731
    outcome = train(make, graph, objective, Watch(sets, NODES), Settings(max_epochs=9))
    assert (outcome.epochs, outcome.best_epoch) == (3, 2) and bool(torch.isfinite(outcome.logits).all())
    Diverging.after = 0
    with pytest.raises(InputError, match=r"lower lr or check data\.x"):
        train(make, graph, objective, Watch(sets, NODES), Settings(max_epochs=9))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"lr": 0}, "lr must be a number above 0, got 0"),
        ({"lr": float("nan")}, "lr must be a number above 0"),
        ({"lr": "fast"}, "lr must be a number above 0, got 'fast'"),
        ({"weight_decay": -1}, "weight_decay must be a number of at least 0, got -1"),
        ({"max_epochs": 0}, "max_epochs must be a whole number above 0, got 0"),
        ({"window": 1.5}, "window must be a whole number above 0, got 1.5"),
        ({"stopping": "never"}, "unknown stopping rule 'never'; choose one of window-mean, patience"),
    ],
)
def test_settings_out_of_range(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        Settings(**changes)


def test_a_validation_set_is_needed():
    graph, sets = _problem()
    with pytest.raises(InputError, match="a set called 'val' is needed"):
        train(
            lambda: make_backbone("gcn", FEATURES, CLASSES),
            graph,
            _objective(sets),
            Watch({"train": sets["train"]}, NODES),
            Settings(),
        )
