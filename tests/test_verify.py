"""Committed rows can be run again: the same test accuracy, to the digit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import results_script


@pytest.fixture(scope="module")
def verify() -> Any:
    return results_script("verify")


def test_eight_small_rows_come_out_the_same(verify: Any, data_root: Path) -> None:
    rows = verify.draw(8, 0, {"texas", "cornell"})
    assert len(rows) == 8 and len({row.spec.method.name for row in rows}) > 1
    assert verify.differences(rows, workers=1) == []


def test_a_row_that_was_changed_is_found(verify: Any, data_root: Path) -> None:
    (row,) = verify.draw(1, 0, {"texas"})
    test = replace(row.result.test, accuracy=row.result.test.accuracy + 1e-9)
    changed = replace(row, result=replace(row.result, test=test))
    (told,) = verify.differences([changed], workers=1)
    assert row.key in told and "was" in told
