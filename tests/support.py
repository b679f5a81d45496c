"""What tests share: the rule for what a machine may lack, scripts of results/, and small random graphs."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from postel.labels import KnownLabels


def lacking(what: str, reason: str) -> NoReturn:
    """Skip this test because the machine lacks ``what``, or fail it where ``POSTEL_REQUIRE`` names it."""
    if what in os.environ.get("POSTEL_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required here: {reason}")
    pytest.skip(reason)


def results_script(name: str) -> ModuleType:
    """Import a script of results/, which is no package."""
    script = Path(__file__).resolve().parents[1] / "results" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, script)
    assert spec is not None and spec.loader is not None
    # Its dataclasses look their module up by name.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class SmallGraph:
    """A graph small enough for brute force: entries, the class of every node, and who is labelled how."""

    num_nodes: int
    num_classes: int
    entries: list[tuple[int, int]]
    classes: list[int]
    train: list[int]
    pseudo: list[int] = field(default_factory=list)

    @property
    def edge_index(self) -> Tensor:
        return torch.tensor(self.entries, dtype=torch.int64).reshape(-1, 2).T.contiguous()

    @property
    def known(self) -> KnownLabels:
        y = torch.tensor(self.classes)
        train = torch.tensor(self.train)
        known = KnownLabels.from_index(train, y[train], num_nodes=self.num_nodes, num_classes=self.num_classes)
        pseudo = torch.tensor(self.pseudo, dtype=torch.int64)
        return known.with_pseudo(pseudo, y[pseudo])


@st.composite
def small_graphs(draw: st.DrawFn, max_nodes: int = 9, pseudo: bool = True) -> SmallGraph:
    """Directed or not, with self-loops, repeated entries, isolated nodes and classes that never occur."""
    n = draw(st.integers(1, max_nodes))
    k = draw(st.integers(2, 12))
    used = draw(st.integers(1, k))
    node = st.integers(0, n - 1)
    entries = draw(st.lists(st.tuples(node, node), max_size=4 * n))
    if draw(st.booleans()):
        entries = entries + [(j, i) for i, j in entries]
    classes = draw(st.lists(st.integers(0, used - 1), min_size=n, max_size=n))
    order = draw(st.permutations(range(n)))
    cut = draw(st.integers(1, n))
    end = draw(st.integers(cut, n)) if pseudo else cut
    return SmallGraph(n, k, entries, classes, sorted(order[:cut]), sorted(order[cut:end]))
