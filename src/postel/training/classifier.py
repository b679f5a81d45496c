"""``NodeClassifier``: graph in, fitted model out, in scikit-learn's manner."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from postel.backbones import Backbone, ModelFn, backbone_class, make_backbone
from postel.errors import InputError
from postel.graph import Graph, LabelledGraph, LargeGraph, prepare
from postel.graph_input import check_graph, edges_of
from postel.labels import KnownLabels
from postel.smoothers import OneHot, Smoother
from postel.training.fitting import check_device, history_of, objective_of
from postel.training.loop import train
from postel.training.metrics import Scores, Watch, evaluate
from postel.training.minibatch import BatchedGraph, layerwise_logits
from postel.training.names import check_names, names_of
from postel.training.node_sets import labelled_sets, scored_nodes
from postel.training.objective import Objective, SoftTargets
from postel.training.parameters import Parameters
from postel.training.pseudo_labels import iterate_pseudo_labels
from postel.training.result import Result
from postel.training.rounds import plan_rounds
from postel.training.seeding import derive_seed
from postel.training.settings import Settings
from postel.training.tracking import TrainingOutcome


class NodeClassifier(Parameters):
    """A backbone trained on soft labels, in the manner of a scikit-learn estimator.

    A method that measures itself against one-hot labels (``accept``, see :class:`~postel.CalibratedPosteL`) is
    trained on these first.

    Args:
        backbone: A name (``postel.backbones.BACKBONES``), or your own network: a class such as
            ``torch_geometric.nn.GCN``, a function ``model_fn(in_channels, out_channels)`` that returns a module,
            or an instance, which is copied and reset for every training. Modules are called as
            ``module(x, edge_index)``.
        smoother: A soft-label method; one-hot labels if None.
        pseudo_labels: True (until the validation loss stops falling), False or a number of rounds. A method whose
            soft labels do not depend on pseudo-labels is trained once whatever it is.
        lr: Learning rate.
        weight_decay: Weight decay.
        max_epochs: Epochs at most.
        stopping: The stop rule, ``"window-mean"`` or ``"patience"``.
        window: Epochs that the stop rule looks back.
        backbone_args: Further arguments of the backbone, as ``{"hidden": 32}``.
        num_classes: Number of classes, where the graph does not say it and the last ones have neither a training
            nor a validation node.
        batch_size: For graphs too large for full-batch steps: how many training nodes a step sees, with
            ``num_neighbors`` sampled sources of them at each hop. Evaluation is then layer by layer, on the CPU.
        num_neighbors: How many sources are sampled at each hop; -1 for all.
        device: The torch device.
        seed: Seed of weights, dropout and sampling.
        progress: Whether to show a bar of epochs.

    Attributes:
        result_: The scores of the fitted model on validation and test nodes, and what it took.
        history_: The curves and statistics of every round.
        epochs_: Epochs run in all.
        logits_: Logits of the graph it was fitted on, [N, K].
        classes_: The classes, an array [K].
        n_features_in_: Number of features.
        names_: ``class_names`` and ``feature_names`` of the graph it was fitted on, None where that has none.

    Example:
        >>> from torch_geometric.data import Data
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
        >>> mask = torch.tensor([True, False, True, False])
        >>> y = torch.tensor([0, 0, 1, 1])
        >>> data = Data(x=torch.eye(4), edge_index=edges, y=y, train_mask=mask, val_mask=~mask)
        >>> model = NodeClassifier("gcn", max_epochs=50).fit(data)
        >>> model.predict(data).tolist(), model.score(data, data.val_mask)
        ([0, 0, 1, 1], 1.0)
    """

    def __init__(
        self,
        backbone: str | ModelFn | nn.Module = "gcn",
        *,
        smoother: Smoother | None = None,
        pseudo_labels: bool | int = True,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        max_epochs: int = 1000,
        stopping: str = "window-mean",
        window: int = 200,
        backbone_args: dict[str, Any] | None = None,
        num_classes: int | None = None,
        batch_size: int | None = None,
        num_neighbors: Sequence[int] = (15, 10),
        device: str = "cpu",
        seed: int = 0,
        progress: bool = False,
    ) -> None:
        self.backbone = backbone
        self.smoother = smoother
        self.pseudo_labels = pseudo_labels
        self.lr = lr
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.stopping = stopping
        self.window = window
        self.backbone_args = backbone_args
        self.num_classes = num_classes
        self.batch_size = batch_size
        self.num_neighbors = num_neighbors
        self.device = device
        self.seed = seed
        self.progress = progress

    def fit(self, data: Any) -> NodeClassifier:
        """Train on a graph.

        Args:
            data: A ``Data`` with ``x``, ``edge_index``, ``y``, ``train_mask`` and ``val_mask``, or a
                :class:`~postel.graph.LabelledGraph`, which is prepared before and shared by many fits.
                ``test_mask`` is optional; its labels give the reported test scores and nothing else.

        Returns:
            The same object, fitted.

        Raises:
            InputError: If something of ``data`` is missing or does not fit, or a setting is out of its range.
        """
        return self.fit_taught(data, [])

    def fit_taught(self, data: Any, kept: list[TrainingOutcome]) -> NodeClassifier:
        """Train on a graph as :meth:`fit` does, with the teacher of an earlier fit where the method wants one.

        Args:
            data: The graph, as in :meth:`fit`.
            kept: The teacher of an earlier fit that had this graph, split, backbone, training and seed (the method
                may differ); or nothing, and a teacher that is trained is put in. The result is that of
                :meth:`fit`: trainings, epochs and seconds include the teacher's.

        Returns:
            The same object, fitted.

        Raises:
            InputError: As :meth:`fit`.
        """
        settings = Settings(self.lr, self.weight_decay, self.max_epochs, self.stopping, self.window)
        smoother = OneHot() if self.smoother is None else self.smoother
        if not isinstance(smoother, Smoother):
            raise InputError(f"smoother must be a soft-label method such as PosteL(), got {smoother!r}")
        graph, fit_objective = self._prepared(data)
        sets, num_classes = labelled_sets(data, self.num_classes, graph.device)
        index, classes = sets["train"]
        known = KnownLabels.from_index(index, classes, num_nodes=graph.num_nodes, num_classes=num_classes)
        watch = Watch(sets, graph.num_nodes)
        make = self._maker(graph.num_features, num_classes)
        weights = smoother.weights_in(data)
        edge_index = smoother.oriented(
            edges_of(data).to(graph.device), graph.num_nodes, weighted=weights is not None
        )
        teachers: list[TrainingOutcome] = []
        statistics: dict[int, Mapping[str, Any]] = {}

        def run(objective: Objective, *path: int) -> TrainingOutcome:
            seed = derive_seed(self.seed, *path)
            return fit_objective(make, objective, watch, settings, seed=seed, progress=self.progress)

        def teacher_logits() -> Tensor:
            if not kept:
                kept.append(run(SoftTargets(known.index, known.one_hot()), 0, 1))
            teachers[:] = kept
            return kept[0].logits

        plan = plan_rounds(smoother, self.pseudo_labels, sets["val"])

        def fit_once(labels: KnownLabels, number: int) -> TrainingOutcome:
            method = OneHot() if plan.one_hot_first and number == 0 else smoother
            objective, statistics[number] = objective_of(method, edge_index, labels, teacher_logits, weights)
            return run(objective, number)

        truth = {name: pair for name, pair in sets.items() if name != "train"}
        earlier = list(kept)
        started = time.perf_counter()
        labelling = iterate_pseudo_labels(
            fit_once, known, plan.rounds, truth, judge=plan.judge, relabel=plan.relabel
        )
        seconds = time.perf_counter() - started  # making the soft labels counts too
        if earlier and teachers:
            seconds += earlier[0].seconds
        best = labelling.best.outcome
        self.backbone_ = best.backbone
        self.names_ = names_of(data)
        self._remember_sizes(graph.num_features, num_classes)
        self.logits_ = best.logits
        self.history_ = [history_of(entry, statistics[entry.number]) for entry in labelling.rounds]
        trained = [*teachers, *(entry.outcome for entry in labelling.rounds)]
        self.epochs_ = sum(outcome.epochs for outcome in trained)
        val_logits = best.logits[sets["val"][0]]
        self.result_ = Result(
            val=evaluate(best.logits, *sets["val"]),
            test=evaluate(best.logits, *sets["test"]) if "test" in sets else None,
            val_loss=best.val_loss,
            best_epoch=best.best_epoch,
            best_round=labelling.best.number,
            improved_rounds=labelling.improved_rounds,
            trainings=labelling.trainings + len(teachers),
            epochs=self.epochs_,
            seconds=seconds,
            val_loss_scaled=labelling.best.judgement.scaled_loss,
            one_class_val=val_logits.argmax(1).unique().numel() == 1,
        )
        return self

    def decision_function(self, data: Any) -> Tensor:
        """Compute the logits of every node.

        Args:
            data: A ``Data``, a labelled graph or a prepared graph (:func:`postel.graph.prepare`).

        Returns:
            Logits [N, K] in evaluation mode.

        Raises:
            InputError: If the model is not fitted, or was fitted on another number of features, or on a graph that
                numbers classes or features otherwise.
        """
        backbone = self._fitted()
        check_names(self, data)
        graph, _ = self._prepared(data)
        if graph.num_features != self.num_features_:
            raise InputError(
                f"the model was fitted on {self.num_features_} features, but data.x has {graph.num_features}"
            )
        if isinstance(graph, LargeGraph):
            return layerwise_logits(backbone, graph)
        with torch.no_grad():
            return backbone.eval()(graph)

    def predict_proba(self, data: Any) -> Tensor:
        """Compute class probabilities.

        Args:
            data: The graph, as in :meth:`decision_function`.

        Returns:
            One distribution per node, [N, K].
        """
        return torch.softmax(self.decision_function(data), 1)

    def predict(self, data: Any) -> Tensor:
        """Predict the most probable class of every node.

        Args:
            data: The graph, as in :meth:`decision_function`.

        Returns:
            The classes, int64 [N].
        """
        return self.decision_function(data).argmax(1)

    def score(self, data: Any, mask: Tensor | None = None) -> float:
        """Compute the accuracy on some nodes.

        Args:
            data: A graph with labels ``y``.
            mask: The nodes, a boolean mask [N] or their ids; those of ``data.test_mask`` without it.

        Returns:
            The accuracy, in [0, 1].
        """
        if mask is None:
            mask = getattr(data, "test_mask", None)
        return self.evaluate(data, mask).accuracy

    def evaluate(self, data: Any, mask: Any) -> Scores:
        """Compute all metrics on some nodes.

        Args:
            data: A graph with labels ``y``.
            mask: The nodes: a boolean mask [N], or their ids.

        Returns:
            The scores.

        Raises:
            InputError: If ``mask`` is neither or selects no node, one of them has no label that the model knows,
                or the model does not fit the graph.
        """
        check_graph(data)
        index, classes = scored_nodes(data, mask, self._fitted().out_channels)
        return evaluate(self.decision_function(data).cpu(), index, classes)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder: weights as safetensors, the rest as JSON.

        Args:
            path: The folder; an earlier model there is replaced, other files are not.
        """
        from postel.training.model_folder import save_model

        self._fitted()
        save_model(self, Path(path))

    @classmethod
    def load(
        cls, path: str | Path, *, backbone: ModelFn | nn.Module | None = None, device: str = "cpu"
    ) -> NodeClassifier:
        """Read the model that :meth:`save` wrote.

        Args:
            path: The folder.
            backbone: The class, function or instance of a user's own network, which a folder does not hold.
            device: Where the model goes.

        Returns:
            The fitted model.

        Raises:
            InputError: If the folder holds no model, is damaged or does not fit this version.
        """
        from postel.training.model_folder import load_model

        return load_model(cls, Path(path), backbone, device)

    def _prepared(self, data: Any) -> tuple[Graph, Callable[..., TrainingOutcome]]:
        """The graph to evaluate on, and the function that trains on it."""
        check_device(self.device)
        check_graph(data)
        ready = data.graph if isinstance(data, LabelledGraph) else data if isinstance(data, Graph) else None
        if self.batch_size is None:
            graph = prepare(data, device=self.device) if ready is None else self._on_device(ready)
            return graph, lambda make, *others, **options: train(make, graph, *others, **options)
        if torch.device(self.device).type != "cpu":
            raise InputError(f"batches are trained on the CPU, got device={self.device!r}; use batch_size=None")
        if ready is not None:
            data = SimpleNamespace(x=ready.features.dense(), edge_index=ready.edge_index)
        batched = BatchedGraph(data, self.num_neighbors, self.batch_size)
        return batched.whole, batched.train

    def _on_device(self, graph: Graph) -> Graph:
        wanted, there = torch.device(self.device), graph.device
        if wanted.type != there.type or wanted.index not in (None, there.index):
            raise InputError(f"the graph was prepared on {there}, but device={self.device!r}; prepare it there")
        return graph

    def _maker(self, in_channels: int, out_channels: int) -> Callable[[], Backbone]:
        if isinstance(self.backbone, str):
            backbone_class(self.backbone)
        elif not callable(self.backbone):
            got = type(self.backbone).__name__
            raise InputError(f"backbone must be a name, a class, a function or a torch module, got {got}")
        return lambda: make_backbone(self.backbone, in_channels, out_channels, **(self.backbone_args or {}))

    def _remember_sizes(self, num_features: int, num_classes: int) -> None:
        self.num_features_ = self.n_features_in_ = num_features
        self.num_classes_ = num_classes
        self.classes_ = np.arange(num_classes)

    def _fitted(self) -> Backbone:
        if not hasattr(self, "backbone_"):
            raise InputError("this NodeClassifier is not fitted yet; call fit(data) first")
        return self.backbone_
