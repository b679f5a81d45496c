"""Each check returns a good value and answers a bad one with a sentence that names it."""

from __future__ import annotations

import math

import pytest

from postel.checks import check_choice, check_count, check_number, check_positive, check_rate
from postel.errors import InputError


def test_good_values_come_back():
    assert check_number("a", 3, 0, 3) == 3
    assert check_positive("a", 2) == 2.0
    assert check_rate("a", 0) == 0.0
    assert check_rate("a", 1, closed=True) == 1.0
    assert check_count("a", 0, 0) == 0
    assert check_choice("a", "x", ("x", "y")) == "x"


@pytest.mark.parametrize(
    ("check", "arguments", "sentence"),
    [
        (check_number, (True, 0, 1), "a must be a number, got True"),
        (check_number, ("1", 0, 1), "a must be a number, got '1'"),
        (check_number, (2, 0, 1), "a must lie in [0, 1], got 2"),
        (check_number, (math.nan,), "a must be a number of at least 0, got nan"),
        (check_number, (math.inf,), "a must be a number of at least 0, got inf"),
        (check_positive, (0,), "a must be a number above 0, got 0"),
        (check_positive, (math.nan,), "a must be a number above 0, got nan"),
        (check_positive, (None,), "a must be a number above 0, got None"),
        (check_rate, (1,), "a must lie in [0, 1), got 1"),
        (check_rate, (False,), "a must lie in [0, 1), got False"),
        (check_count, (0,), "a must be a whole number above 0, got 0"),
        (check_count, (1.0,), "a must be a whole number above 0, got 1.0"),
        (check_count, (1, 2), "a must be a whole number of at least 2, got 1"),
        (check_choice, ("z", ("x", "y")), "a must be one of 'x', 'y', got 'z'"),
    ],
)
def test_bad_values_are_one_sentence(check, arguments, sentence):
    with pytest.raises(InputError) as caught:
        check("a", *arguments)
    assert str(caught.value) == sentence
