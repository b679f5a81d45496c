"""Ways to damage files: bytes, cells of tables, and values of JSON, drawn by hypothesis."""

from __future__ import annotations

import copy
import csv
import io
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

#: The same cases in every run: a case that fails is found again, and a suite that passed passes.
BOUNDED = {"derandomize": True, "database": None, "deadline": None}
GIGABYTE = 1 << 30

WORDS: tuple[str, ...] = (
    *("", " ", "0", "1", "01", "1.0", "1e0", "+1", "-1", "nan", "inf", "NA", "null", "true", "é", "a b", "[/x]"),
    *("99999999999999999999", "0x1F", "1_0", "train", "b'x'", '"', ",", "\t", "\n", "x" * 2000, "\ufeff", "=1+1"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 7, 2**31 - 2, 2**31, 2**63, 10**30, -1.5, 0.5, 1e308, "", "x", "a" * 500, "[/x]"),
    *([], [1], {}, {"a": 1}, [[0.5]], ["x"], [None]),
)


def bounded(examples: int) -> settings:
    """Settings of a test with so many examples."""
    return settings(max_examples=examples, **BOUNDED)


@contextmanager
def one_gigabyte() -> Iterator[None]:
    """Room for a gigabyte more than is taken now: who asks for more gets a MemoryError, which no test expects."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + GIGABYTE, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """``content`` with bits flipped, parts cut out, doubled, moved or overwritten; never the same."""
    out = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, max(len(out) - 1, 0)))
        length = draw(st.sampled_from((1, 2, 4, 8, 64)))
        kind = draw(st.sampled_from(("flip", "cut", "drop", "double", "fill", "grow", "swap")))
        if kind == "flip" and out:
            out[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del out[place:]
        elif kind == "drop":
            del out[place : place + length]
        elif kind == "double":
            out[place:place] = out[place : place + length]
        elif kind == "fill":
            out[place : place + length] = bytes([draw(st.sampled_from((0, 1, 0x7F, 0xFF)))]) * length
        elif kind == "grow":
            out[place:place] = draw(st.binary(min_size=1, max_size=16))
        elif kind == "swap" and out:
            other = draw(st.integers(0, len(out) - 1))
            out[place], out[other] = out[other], out[place]
    if bytes(out) == content:
        out += b"\0"
    return bytes(out)


@st.composite
def changed_cells(draw: st.DrawFn, table: list[list[str]]) -> list[list[str]]:
    """A table with some cells, rows or columns changed."""
    rows = copy.deepcopy(table)
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.integers(0, len(rows) - 1))
        if not rows[row]:
            continue
        column = draw(st.integers(0, len(rows[row]) - 1))
        kind = draw(st.sampled_from(("word", "word", "word", "swap", "row", "double", "cell", "header")))
        if kind == "word":
            rows[row][column] = draw(st.sampled_from(WORDS))
        elif kind == "swap":
            other = draw(st.integers(0, len(rows) - 1))
            rows[row], rows[other] = rows[other], rows[row]
        elif kind == "row" and len(rows) > 1:
            del rows[row]
        elif kind == "double":
            rows.insert(row, list(rows[row]))
        elif kind == "cell":
            del rows[row][column]
        elif kind == "header":
            rows[0][draw(st.integers(0, len(rows[0]) - 1))] = draw(st.sampled_from([*WORDS, *rows[0]]))
    return rows


def as_csv(rows: list[list[str]]) -> bytes:
    """Rows as CSV."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


@st.composite
def changed_values(draw: st.DrawFn, value: Any) -> Any:
    """Plain values of JSON with some replaced, removed or swapped."""
    out = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 2))):
        places = list(_places(out))
        if not places:
            return out
        parent, name = places[draw(st.integers(0, len(places) - 1))]
        kind = draw(st.sampled_from(("value", "value", "remove", "swap")))
        if kind == "value":
            parent[name] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif kind == "remove":
            del parent[name]
        else:
            other, at = places[draw(st.integers(0, len(places) - 1))]
            parent[name], other[at] = copy.deepcopy(other[at]), copy.deepcopy(parent[name])
    return out


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    names = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for name in names:
        yield value, name
        # A long list is as good as its beginning.
        if not isinstance(name, int) or name < 3:
            yield from _places(value[name])
