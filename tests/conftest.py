"""Fixtures of the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from support import lacking

torch.set_num_threads(1)
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of real graph files that ``POSTEL_DATA`` names."""
    named = os.environ.get("POSTEL_DATA", "")
    if not named or not Path(named).is_dir():
        lacking("data", "POSTEL_DATA names no folder of graph files")
    return Path(named)
