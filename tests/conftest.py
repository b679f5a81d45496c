"""Fixtures of the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postel.instructions import use_common_instructions

use_common_instructions()  # before torch is used: numbers that tests expect are the same on every CPU

import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from support import lacking  # noqa: E402

torch.set_num_threads(1)
# Fifty examples find what a hundred find but for rare luck, in half of the time.
settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


#: What starts other programs, trains for long, or needs a browser or Java, by folder or file: ``make check``
#: leaves it out.
SLOW = (
    *("cli", "docs", "examples", "experiments", "faults", "fuzz", "paper", "report", "scale", "surface"),
    *("datasets/diagnosis", "datasets/sources", "smoothers/test_calibrated.py", "smoothers/test_methods.py"),
    *("training/test_accuracy.py", "training/test_soft_label_methods.py", "training/test_rounds.py"),
    *("test_calibration.py", "test_package.py", "test_results.py", "test_verify.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow."""
    here = Path(__file__).parent
    places = [here / name for name in SLOW]
    for item in items:
        if any(item.path.is_relative_to(place) for place in places):
            item.add_marker(pytest.mark.slow)


def pytest_runtest_setup() -> None:
    """Give every test one thread, whatever another library left behind: bits of sums depend on the number."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of real graph files that ``POSTEL_DATA`` names."""
    named = os.environ.get("POSTEL_DATA", "")
    if not named or not Path(named).is_dir():
        lacking("data", "POSTEL_DATA names no folder of graph files")
    return Path(named)
