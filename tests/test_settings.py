"""The settings of the method: one set of names, defaults and checks for every way to use it."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys

import pytest

from postel import PosteL
from postel.cli.smooth import smooth
from postel.errors import InputError
from postel.settings import PosteLSettings

FIELDS = {field.name: field.default for field in dataclasses.fields(PosteLSettings)}


def test_the_transform_takes_exactly_the_settings():
    takes = {name: p.default for name, p in inspect.signature(PosteL).parameters.items()}
    further = {"accept": "loss", "flow": "source_to_target", "edge_weight": False}  # of rounds and whole graphs
    assert takes == {**FIELDS, **further}


def test_the_command_offers_the_settings_that_tables_know_with_the_same_defaults():
    given = {name: p.default for name, p in inspect.signature(smooth).parameters.items() if name in FIELDS}
    offered = {name: getattr(default, "default", default) for name, default in given.items()}
    # Methods have their own alpha, so without one the command leaves it to the method.
    assert offered == {**{name: default for name, default in FIELDS.items() if name != "hops"}, "alpha": None}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"beta": -0.1}, "beta must be a number of at least 0, got -0.1"),
        ({"beta": 1.5, "noise": "off-target"}, r"beta must lie in \[0, 1\], got 1.5"),
        ({"likelihood": "pairs"}, "likelihood must be one of 'edge', 'normalized', 'local', got 'pairs'"),
        ({"isolated": None}, "isolated must be one of"),
        ({"centers": "all"}, "centers must be one of"),
        ({"hops": 0}, "hops must be a whole number above 0, got 0"),
        ({"num_classes": 1}, "num_classes must be a whole number of at least 2, got 1"),
    ],
)
def test_settings_are_checked_when_they_are_made(values, sentence):
    with pytest.raises(InputError, match=sentence):
        PosteLSettings(**values)


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PosteLSettings().alpha = 2.0


def test_neither_settings_nor_engines_need_torch():
    modules = "postel.settings, postel.scale.smooth, postel.scale.memory_engine, postel.scale.duckdb_engine"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_text_to_the_letter_keeps_self_loops_and_nothing_else() -> None:
    assert PosteLSettings.as_published(0.6, 0.2) == PosteLSettings(0.6, 0.2, self_loops=True)
