"""Expected counts and leave-one-out by their definitions: labels as rows, plain loops, exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

Rows = list[list[Fraction]]


def counts(entries: list[tuple[int, int]], rows: Rows, is_center: list[bool]) -> tuple[list[Fraction], Rows, Rows]:
    """Classes [K], pairs [K][K] and every node's histogram [N][K] of labels that are distributions."""
    k = len(rows[0])
    classes = [sum((row[m] for row in rows), Fraction(0)) for m in range(k)]
    pairs = [[Fraction(0)] * k for _ in range(k)]
    histograms = [[Fraction(0)] * k for _ in rows]
    for u, v in entries:
        if u == v:
            continue
        for m in range(k):
            histograms[u][m] += rows[v][m]
            for n in range(k):
                pairs[n][m] += rows[u][n] * rows[v][m] if is_center[u] else 0
    return classes, pairs, histograms


def log_parts(
    entries: list[tuple[int, int]], rows: Rows, is_center: list[bool], i: int, leave_out: bool
) -> tuple[list[float], list[float], float]:
    """Log prior and summed log-likelihood of every class of node i, and its number of neighbors.

    With ``leave_out`` all is counted again on a graph in which node i has no label.
    """
    k = len(rows[0])
    if leave_out:
        rows = [[Fraction(0)] * k if u == i else row for u, row in enumerate(rows)]
    classes, pairs, histograms = counts(entries, rows, is_center)
    total = sum(classes) + 1
    log_prior = [math.log((count + Fraction(1, k)) / total) for count in classes]
    sums = []
    for row in pairs:
        logs = [math.log((count + Fraction(1, k)) / (sum(row) + 1)) for count in row]
        sums.append(sum(float(h) * log for h, log in zip(histograms[i], logs, strict=True)))
    return log_prior, sums, float(sum(histograms[i]))
