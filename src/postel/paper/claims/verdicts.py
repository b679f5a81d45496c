"""Claims, and the rules by which cells decide them: functions of what was found, with a minimum of evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from postel.experiments.scores import Gain
from postel.paper.claims.evidence import Evidence
from postel.paper.names import dataset_label

Verdict = Literal["holds", "holds in part", "does not hold", "not run"]

#: A share of cells may be this far below the paper's and still be as good.
SLACK = 0.05

# Rules of several claims, in words.
SHARE = "our share of cells is that of the paper there, less five points or more; in part: at least half of them"
GRAPHS = "so on nearly all graphs run (95 %); in part: on at least half"
CLEAR = "clear and at least half of the paper's gain; in part: clear"


@dataclass(frozen=True)
class Finding:
    """What cells say of a claim.

    Args:
        verdict: Whether it holds.
        ours: Our number, in words.
        run: How many of the cells, or graphs, that it is about were run.
        of: How many there are.
    """

    verdict: Verdict
    ours: str
    run: int
    of: int


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Args:
        text: The claim.
        where: Where it stands in the paper.
        paper: The paper's number.
        rule: When it holds, and when in part.
        judge: What our cells say of it.
    """

    text: str
    where: str
    paper: str
    rule: str
    judge: Callable[[Evidence], Finding]


def claim(text: str, where: str, paper: str, rule: str) -> Callable[[Callable[[Evidence], Finding]], Claim]:
    """Return a decorator that makes a claim of the function by which it is judged.

    Args:
        text: The claim.
        where: Where it stands in the paper.
        paper: The paper's number.
        rule: When it holds, and when in part.
    """
    return partial(Claim, text, where, paper, rule)


def not_run(run: int, of: int) -> Finding:
    """Return that there is too little to say anything.

    Args:
        run: How many cells were run.
        of: How many there are.
    """
    return Finding("not run", "–", run, of)


def graded(holds: bool, in_part: bool) -> Verdict:
    """Return a verdict.

    Args:
        holds: Whether the claim holds.
        in_part: Whether it holds at least in part.

    Example:
        >>> graded(False, True)
        'holds in part'
    """
    return "holds" if holds else "holds in part" if in_part else "does not hold"


def by_share(
    found: Sequence[bool | None],
    *,
    paper: Sequence[bool] | None = None,
    minimum: int,
    part: float = 0.5,
    what: str = "",
    remark: str = "",
) -> Finding:
    """Judge a claim about how many cells show something.

    It holds if our share is the paper's in the same cells less five points or more, and in part from the share
    ``part`` on.

    Args:
        found: Whether each cell shows it; None for a cell that was not run.
        paper: Whether each of the paper's cells shows it; None if all of them do.
        minimum: How many cells must have been run.
        part: The share from which on it holds in part.
        what: What is counted, for the text.
        remark: What a reader must know beside it.

    Example:
        >>> by_share([True, True, False, None], minimum=3, what="graphs")
        Finding(verdict='holds in part', ours='2 of 3 graphs', run=3, of=4)
        >>> by_share([True, False, None], paper=[True, False, True], minimum=2)
        Finding(verdict='holds', ours='1 of 2 (the paper there: 1)', run=2, of=3)
    """
    pairs = zip(found, [True] * len(found) if paper is None else paper, strict=True)
    run = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    if len(run) < minimum:
        return not_run(len(run), len(found))
    ours, theirs = (sum(side) for side in zip(*run, strict=True))
    told = " ".join(
        filter(None, [f"{ours} of {len(run)}", what, f"(the paper there: {theirs})" * (paper is not None)])
    )
    told += f", {remark}" if remark else ""
    holds = ours / len(run) >= theirs / len(run) - SLACK
    return Finding(graded(holds, ours / len(run) >= part), told, len(run), len(found))


def by_mean(found: Sequence[float | None], paper: Sequence[float], *, minimum: int) -> Finding:
    """Judge a claim about a mean gain over cells.

    It holds if the mean is above 0 by more than two standard errors over cells and at least half of the paper's on
    the same cells; in part if it is above 0; otherwise it does not.

    Args:
        found: The gain of each cell in points; None for a cell that was not run.
        paper: The paper's gain of each cell.
        minimum: How many cells must have been run, at least two.

    Example:
        >>> by_mean([1.0, 1.2, 1.1, None], [1.0, 2.0, 1.5, 9.0], minimum=3)
        Finding(verdict='holds', ours='+1.10 (the paper there: +1.50)', run=3, of=4)
    """
    run = [(ours, theirs) for ours, theirs in zip(found, paper, strict=True) if ours is not None]
    if len(run) < max(minimum, 2):
        return not_run(len(run), len(found))
    mean, theirs = (sum(pair[side] for pair in run) / len(run) for side in (0, 1))
    spread = sum((ours - mean) ** 2 for ours, _ in run) / (len(run) - 1)
    sure = mean > 2 * math.sqrt(spread / len(run))
    told = f"{mean:+z.2f} (the paper there: {theirs:+z.2f})"
    return Finding(graded(sure and mean >= theirs / 2, mean > 0), told, len(run), len(found))


def by_gain(gain: Gain | None, paper: float, *, wins: bool = True, remark: str = "") -> Finding:
    """Judge a claim about the gain of one cell.

    It holds if the gain is clear and at least half of the paper's, and ``wins``; in part if it is clear.

    Args:
        gain: Our gain; None if it was not run.
        paper: The paper's, in points.
        wins: What else must be so for it to hold.
        remark: What a reader must know beside it.
    """
    if gain is None:
        return not_run(0, 1)
    clear = gain.reads == "more"
    told = f"{gain.mean:+z.2f}{f', {remark}' if remark else ''}"
    return Finding(graded(clear and wins and gain.mean >= paper / 2, clear), told, 1, 1)


def by_limit(value: float | None, *, holds: float, part: float, told: str, run: int, of: int) -> Finding:
    """Judge a claim that something is small.

    Args:
        value: The measured value; None if too little was run.
        holds: Up to here the claim holds.
        part: Up to here it holds in part.
        told: Our number, in words.
        run: How many cells were run.
        of: How many there are.

    Example:
        >>> by_limit(5.0, holds=4.0, part=6.0, told="5.0 times", run=2, of=2).verdict
        'holds in part'
    """
    if value is None:
        return not_run(run, of)
    return Finding(graded(value <= holds, value <= part), told, run, of)


def by_all(found: Sequence[bool], told: str, run: int, of: int) -> Finding:
    """Judge a claim that is made of several: it holds if all of them are so, in part if one is.

    Args:
        found: Whether each of them is so.
        told: Our numbers, in words.
        run: How many cells were run.
        of: How many there are.

    Example:
        >>> by_all([True, False], "+2.0, -1.0", 2, 2).verdict
        'holds in part'
    """
    return Finding(graded(all(found), any(found)), told, run, of)


def in_words(values: Mapping[str, float], form: str) -> str:
    """Return the values of several graphs in words.

    Args:
        values: The values by dataset.
        form: How a value is written, as in ``.2f``.

    Example:
        >>> in_words({"cora": 1.234, "pubmed": -0.5}, "+.1f")
        'Cora +1.2, PubMed -0.5'
    """
    return ", ".join(f"{dataset_label(name)} {value:{form}}" for name, value in values.items())
