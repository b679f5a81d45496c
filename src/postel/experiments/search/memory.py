"""Runs on a graph in memory: no file, no store, and the network may be a user's own model."""

from __future__ import annotations

import functools
import hashlib
import inspect
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from postel.backbones import ModelFn
from postel.errors import InputError, require_extra
from postel.experiments.rows import Failure, Row
from postel.experiments.running.execute import alone_on_one_thread, classifier_of, row_of, trained
from postel.experiments.spec import RunSpec
from postel.graph_input import check_graph, edges_of, node_index
from postel.owners import temporary_folder
from postel.smoothers import Smoother
from postel.training.node_sets import labelled_sets

MaskedData = Any


@dataclass(frozen=True)
class GraphInMemory:
    """A graph with one or more splits, and the model to train on it if it is a user's own.

    Args:
        splits: The graph with the masks of one split each.
        fingerprint: A hash of everything in it that decides results.
        model_fn: The user's function, None for a network of this package.
    """

    splits: list[MaskedData]
    fingerprint: str
    model_fn: ModelFn | None = None

    @classmethod
    def of(
        cls, data: MaskedData, model_fn: ModelFn | None = None, methods: Sequence[Smoother] = ()
    ) -> GraphInMemory:
        """Split a graph by its masks.

        Args:
            data: A graph with ``x``, ``edge_index`` or ``adj_t``, ``y`` and masks: boolean [N], or [N, S] for S
                splits.
            model_fn: The user's function, None for a network of this package.
            methods: Methods to be trained on it; weights of edges are a part of the graph if one counts by them.

        Returns:
            The graph with one or more splits.

        Raises:
            InputError: If something is missing or does not fit, as a mask that selects no validation node.
        """
        check_graph(data)
        edges = edges_of(data)
        for name, value in (
            ("x", getattr(data, "x", None)),
            ("edge_index", edges),
            ("y", getattr(data, "y", None)),
        ):
            if not isinstance(value, Tensor):
                raise InputError(f"data.{name} must be a tensor; a graph needs x, edge_index, y and masks")
        named = {name: getattr(data, name, None) for name in ("train_mask", "val_mask", "test_mask")}
        masks: dict[str, Tensor] = {name: mask for name, mask in named.items() if mask is not None}
        counts = {mask.shape[1] for mask in masks.values() if isinstance(mask, Tensor) and mask.dim() == 2}
        if len(counts) > 1:
            raise InputError(f"the masks have different numbers of splits: {', '.join(map(str, sorted(counts)))}")
        splits = []
        for number in range(max(counts, default=1)):
            one = data.clone() if not counts else _with_split(data, masks, number)
            labelled_sets(one, None, torch.device("cpu"))
            splits.append(one)
        weights = [found for method in methods if (found := method.weights_in(data)) is not None]
        return cls(splits, _fingerprint(data.x, edges, data.y, *masks.values(), *weights), model_fn)

    @property
    def nodes(self) -> int:
        """Validation nodes of the smallest split."""
        return min(int(node_index("val_mask", one.val_mask, one.num_nodes).numel()) for one in self.splits)

    def run(self, spec: RunSpec) -> Row | Failure:
        """Run a spec; nothing is raised but an interruption.

        Args:
            spec: What to run.

        Returns:
            The row, or the failure.
        """
        try:
            with alone_on_one_thread():
                return _row(spec, self.splits[spec.split], self.model_fn)
        except Exception as error:
            lines = traceback.format_exception_only(error)
            return Failure(spec, lines[-1].strip())


@dataclass
class MemoryRuns:
    """Where the runs are made: here, or in processes that read the graph once from a folder of their own.

    Args:
        graph: The graph.
        workers: How many processes; one is this one.
    """

    graph: GraphInMemory
    workers: int = 1
    _folder: tempfile.TemporaryDirectory[str] | None = field(default=None, init=False)

    def __enter__(self) -> MemoryRuns:
        if self.workers > 1:
            self._folder = temporary_folder("postel")
            torch.save(self.graph.splits, Path(self._folder.name) / "splits.pt")
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def __call__(self, specs: Sequence[RunSpec]) -> Iterator[Row | Failure]:
        """Yield the outcomes of ``specs`` in the order in which they finish."""
        if self._folder is None or len(specs) == 1:
            yield from map(self.graph.run, specs)
            return
        joblib = require_extra("joblib", "experiments")
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            pool = joblib.Parallel(
                n_jobs=self.workers, return_as="generator_unordered", batch_size=1, max_nbytes=None
            )
            run = joblib.delayed(_run_in_worker)
            yield from pool(
                run(self._folder.name, self.graph.fingerprint, self.graph.model_fn, spec) for spec in specs
            )


def name_of_model(model_fn: ModelFn) -> str:
    """Return the name of a user's own model in specs: that of its function, and a hash of the source.

    Args:
        model_fn: The user's function.

    Returns:
        The name.

    Example:
        >>> def small(in_channels, out_channels): ...
        >>> name_of_model(small).startswith("own:small:")
        True
    """
    try:
        source = inspect.getsource(model_fn)
    except (OSError, TypeError):
        code = getattr(model_fn, "__code__", None)
        source = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(type(model_fn))
    name = getattr(model_fn, "__qualname__", type(model_fn).__name__)
    return f"own:{name}:{hashlib.sha256(source.encode()).hexdigest()[:12]}"


@functools.lru_cache(maxsize=1)
def _graph_in_worker(folder: str, fingerprint: str) -> list[MaskedData]:
    return torch.load(Path(folder) / "splits.pt", weights_only=False)


def _run_in_worker(folder: str, fingerprint: str, model_fn: ModelFn | None, spec: RunSpec) -> Row | Failure:
    return GraphInMemory(_graph_in_worker(folder, fingerprint), fingerprint, model_fn).run(spec)


def _row(spec: RunSpec, data: MaskedData, model_fn: ModelFn | None) -> Row:
    model = trained(classifier_of(spec, model_fn), data)
    hits = model.logits_.argmax(1).cpu()[data.val_mask] == data.y.view(-1)[data.val_mask]
    # Which validation nodes are right, so that differences between methods can be paired node by node.
    digits = "".join("1" if hit else "0" for hit in hits.tolist())
    return replace(row_of(spec, model, data), rounds=None, hits=digits)


def _with_split(data: MaskedData, masks: dict[str, Tensor], number: int) -> MaskedData:
    one = data.clone()
    for name, mask in masks.items():
        if isinstance(mask, Tensor) and mask.dim() == 2:
            setattr(one, name, mask[:, number].contiguous())
    return one


def _fingerprint(*tensors: Tensor) -> str:
    digest = hashlib.sha256()
    for tensor in tensors:
        dense = tensor.detach().cpu()
        dense = (dense.to_dense() if dense.layout != torch.strided else dense).contiguous()
        digest.update(repr((dense.dtype, tuple(dense.shape))).encode())
        digest.update(dense.numpy().tobytes())
    return digest.hexdigest()[:16]
