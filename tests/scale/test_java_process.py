"""What is used of PySpark's private names is in one file, and is there."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import postel
from postel.scale.java_process import PRIVATE_NAMES

SOURCE = Path(postel.__file__).parent


def test_private_names_of_pyspark_stand_in_one_file() -> None:
    found = {path.name for path in SOURCE.rglob("*.py") if re.search(r"\._(gateway|jvm|jsc)\b", path.read_text())}
    assert found == {"java_process.py"}


def test_this_pyspark_has_them() -> None:
    pytest.importorskip("pyspark")
    for name, names in PRIVATE_NAMES.items():
        module, _, owner = f"pyspark.{name}".rpartition(".")
        found = getattr(importlib.import_module(module), owner)
        text = inspect.getsource(found)
        assert all(hasattr(found, private) or f"self.{private} " in text for private in names), name
