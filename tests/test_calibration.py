"""The fit of the exponents against brute force, and inputs on which an unguarded fit would run away."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from postel.calibration import calibrated_posterior, fit_exponents, minimize_in_box
from postel.expected_statistics import LogEvidence, expected_counts, log_evidence
from postel.exponents import LARGEST, Exponents
from postel.labels import KnownLabels
from support import SmallGraph, small_graphs


def random_evidence(seed: int, size: int = 25, k: int = 4, told: float = 1.0) -> tuple[LogEvidence, torch.Tensor]:
    """Nodes of different degrees whose neighbors tell something of their class, and those classes."""
    g = torch.Generator().manual_seed(seed)
    classes = torch.randint(k, (size,), generator=g)
    number = torch.randint(0, 9, (size,), generator=g).double()
    sums = torch.randn(size, k, generator=g, dtype=torch.float64)
    sums[torch.arange(size), classes] += told
    sums = sums * number.unsqueeze(1)
    prior = torch.rand(k, generator=g, dtype=torch.float64).log().expand(k + 1, k)
    return LogEvidence(sums, number, prior, classes), classes


def loss(evidence: LogEvidence, classes: torch.Tensor, x: np.ndarray) -> float:
    """The definition: mean of -log q at the node's own class, and the pull."""
    exponents = Exponents(*(float(value) for value in x))
    total = 0.0
    for i, own in enumerate(classes.tolist()):
        place = slice(i, i + 1)
        logits = exponents.prior * evidence.log_prior(place)[0] + exponents.total * evidence.sums[i]
        if evidence.neighbors[i] > 0:
            logits = logits + exponents.mean * evidence.sums[i] / evidence.neighbors[i]
        logits = logits.numpy()
        top = logits.max()
        total += top + np.log(np.exp(logits - top).sum()) - logits[own]
    pull = sum(((a - b) / c) ** 2 for a, b, c in zip(x, (1, 1, 0), LARGEST, strict=True))
    return total / len(classes) + 1e-6 * pull


@settings(max_examples=10)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0, 3.0]))
def test_exponents_are_the_brute_force_optimum(seed: int, told: float) -> None:
    evidence, classes = random_evidence(seed, told=told)
    fitted = fit_exponents(evidence, classes)
    ours = loss(evidence, classes, np.array([fitted.prior, fitted.total, fitted.mean]))
    bounds = [(0, top) for top in LARGEST]
    others = [
        minimize(lambda x: loss(evidence, classes, x), start, bounds=bounds, method="L-BFGS-B", tol=1e-12).fun
        for start in ([1, 1, 0], [0, 0, 0], [3, 0.1, 5])
    ]
    assert ours <= min(others) + 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_one_temperature_is_the_best_of_a_fine_grid(seed: int) -> None:
    evidence, classes = random_evidence(seed)
    fitted = fit_exponents(evidence, classes, "temperature")
    assert fitted.prior == fitted.total and fitted.mean == 0
    both = evidence.prior_logs[0] + evidence.sums

    def value(t: float) -> float:
        own = both[torch.arange(len(classes)), classes]
        return float((torch.logsumexp(t * both, 1) - t * own).mean())

    assert value(fitted.total) <= min(value(t) for t in np.linspace(0, 10, 2001)) + 1e-7


@given(small_graphs())
def test_every_graph_has_a_fit_within_bounds_and_distributions(graph: SmallGraph) -> None:
    known = graph.known
    train = known.train_only()
    counts = expected_counts(graph.edge_index, known, rows=train.index)
    evidence = log_evidence(counts, train.classes)
    for kind in ("exponents", "temperature", "none"):
        fitted = fit_exponents(evidence, train.classes, kind)  # type: ignore[arg-type]
        for value, top in zip((fitted.prior, fitted.total, fitted.mean), LARGEST, strict=True):
            assert 0 <= value <= top
        rows = calibrated_posterior(evidence, fitted)
        assert torch.isfinite(rows).all()
        assert torch.allclose(rows.sum(1), torch.ones(len(rows), dtype=torch.float64))
        assert fitted == fit_exponents(evidence, train.classes, kind)  # type: ignore[arg-type]


def fitted_on(edges: torch.Tensor, classes: torch.Tensor) -> tuple[Exponents, torch.Tensor]:
    known = KnownLabels.from_index(torch.arange(len(classes)), classes, num_nodes=len(classes))
    evidence = log_evidence(expected_counts(edges, known), classes)
    fitted = fit_exponents(evidence, classes)
    return fitted, calibrated_posterior(evidence, fitted)


def test_isolated_nodes_leave_the_neighbors_exponents_where_they_were() -> None:
    fitted, rows = fitted_on(torch.empty(2, 0, dtype=torch.int64), torch.tensor([0] * 30 + [1] * 10))
    assert (fitted.total, fitted.mean) == (1.0, 0.0)
    assert rows[0, 0].item() == pytest.approx(0.75, abs=0.04)


def test_perfectly_separable_labels_do_not_run_away() -> None:
    pairs = torch.arange(40).view(20, 2)
    edges = torch.cat([pairs, pairs.flip(1)]).T
    classes = torch.arange(20).repeat_interleave(2) % 2  # the one neighbor is of the node's own class
    fitted, rows = fitted_on(edges, classes)
    assert 0 <= fitted.total <= LARGEST[1] and 0 <= fitted.mean <= LARGEST[2]
    assert fitted.total + fitted.mean > 2  # the plain posterior has 1
    assert rows[torch.arange(40), classes].min() > 0.999


def test_neighbors_that_say_nothing_are_not_listened_to() -> None:
    g = torch.Generator().manual_seed(0)
    half = torch.randint(400, (2, 4000), generator=g)
    classes = (torch.rand(400, generator=g) < 0.5).long()
    edges = torch.cat([half, half.flip(0)], dim=1)
    rows = fitted_on(edges, classes)[1]
    plain = calibrated_posterior(
        log_evidence(
            expected_counts(edges, KnownLabels.from_index(torch.arange(400), classes, num_nodes=400)), classes
        ),
        Exponents(),
    )
    assert rows.max() < 0.54 < plain.max()  # the plain posterior is surer of what it does not know


def test_overconfident_neighbors_are_tempered() -> None:
    """Every neighbor counted ten times says no more than once: the exponent of the sum is a tenth."""
    evidence, classes = random_evidence(3, size=400, told=0.3)
    loud = LogEvidence(10 * evidence.sums, 10 * evidence.neighbors, evidence.prior_logs, evidence.prior_rows)
    quiet, tempered = fit_exponents(evidence, classes), fit_exponents(loud, classes)
    assert tempered.total == pytest.approx(quiet.total / 10, rel=1e-3)
    assert tempered.mean == pytest.approx(quiet.mean, rel=1e-3, abs=1e-3)


def test_very_many_labels_are_represented_by_some() -> None:
    evidence, classes = random_evidence(5, size=40_000, told=0.2)
    some = fit_exponents(evidence, classes)
    chosen = torch.arange(1 << 14) * 40_000 // (1 << 14)
    part = LogEvidence(
        evidence.sums[chosen], evidence.neighbors[chosen], evidence.prior_logs, evidence.prior_rows[chosen]
    )
    assert some == fit_exponents(part, classes[chosen])


def test_huge_and_tiny_contrasts_converge() -> None:
    g = torch.Generator().manual_seed(2)
    for size in (1e-9, 1e9):
        parts = [torch.randn(50, 3, generator=g, dtype=torch.float64) * size for _ in range(3)]
        parts = [part - part[:, :1] for part in parts]
        x = np.array(minimize_in_box(parts, (1.0, 1.0, 0.0), LARGEST))
        assert np.isfinite(x).all() and (x >= 0).all() and (x <= LARGEST).all()


def test_exponents_read_in_one_line() -> None:
    assert str(Exponents(1, 0.125, 3)) == "prior^1 sum^0.125 mean^3"
    assert Exponents(1, 0, 0).neighbors_count is False and Exponents(0, 0, 1).neighbors_count is True
