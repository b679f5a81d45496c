"""Ratios of class shares against a count by hand."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postel.errors import InputError
from postel.training import class_weights

LABELS = st.lists(st.integers(0, 3), max_size=30)


@given(known=LABELS, wanted=LABELS)
def test_weights_are_ratios_of_shares(known: list[int], wanted: list[int]) -> None:
    found = class_weights(*(torch.tensor(classes, dtype=torch.int64) for classes in (known, wanted)), 4)
    for label in range(4):
        share = (Counter(wanted)[label] + 1) / (len(wanted) + 4)
        before = (Counter(known)[label] + 1) / (len(known) + 4)
        assert found[label].item() == pytest.approx(share / before)


@pytest.mark.parametrize("wrong", [[0, 4], [-1, 2]])
def test_a_class_that_is_none_is_refused(wrong: list[int]) -> None:
    with pytest.raises(InputError, match="classes must lie in 0 to 3, got"):
        class_weights(torch.tensor([0, 1]), torch.tensor(wrong), 4)
