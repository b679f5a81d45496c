"""Claims of the appendix: sweeps over alpha and beta, likelihoods, the ablation, embeddings and ogbn-products."""

from __future__ import annotations

from collections.abc import Sequence

from postel.experiments.scores import Gain
from postel.paper.claims.evidence import Evidence, above, fair_gain, means
from postel.paper.claims.verdicts import (
    CLEAR,
    GRAPHS,
    SHARE,
    Claim,
    Finding,
    by_gain,
    by_share,
    claim,
    graded,
    not_run,
)
from postel.paper.names import EIGHT_DATASETS, FOUR_DATASETS
from postel.paper.published import published
from postel.paper.variants import (
    LS,
    ONE_HOT,
    POSTEL,
    POSTEL_LOCAL,
    POSTEL_NORMALIZED,
    POSTEL_ONE_ROUND,
    POSTEL_WITHOUT_IPL,
    POSTEL_WITHOUT_NOISE,
    POSTEL_WITHOUT_NOISE_IPL,
    SALS,
    Variant,
)

POINTS = "nearly all points (95 %) whose alpha and beta are among the paper's; in part: at least half"


@claim("Any alpha and beta beat one-hot labels", "Appendix G, Figure 7", "all points", POINTS)
def _any_alpha_and_beta(evidence: Evidence) -> Finding:
    found: list[bool | None] = []
    for name in FOUR_DATASETS:
        plain, points = evidence.sweep(name)
        higher = above([fair_gain(cell, plain) for _, _, cell in points])
        found += [*higher, *[None] * (20 - len(higher))]
    return by_share(found, minimum=20, what="points")


@claim("Alpha above 0.8 may harm", "Appendix G, Figure 7", "no number", GRAPHS)
def _large_alpha_harms(evidence: Evidence) -> Finding:
    """Count graphs on which accuracy is lower with alpha above 0.8 than below."""
    found: list[bool | None] = []
    for name in FOUR_DATASETS:
        points = [(value, cell.accuracy.mean) for what, value, cell in evidence.sweep(name)[1] if what == "alpha"]
        high, low = ([mean for value, mean in points if (value > 0.8) == large] for large in (True, False))
        found.append(sum(high) / len(high) < sum(low) / len(low) if len(points) == 10 else None)
    return by_share(found, minimum=2, what="graphs")


@claim("Global likelihoods are better than local ones", "Appendix G, Table 7", "8 of 8 graphs", GRAPHS)
def _global_likelihoods_win(evidence: Evidence) -> Finding:
    """Count graphs on which the two global likelihoods have a higher mean than the two local ones."""
    every = _fair_means(evidence, (POSTEL, POSTEL_NORMALIZED, *POSTEL_LOCAL))
    found = [None if means is None else means[0] + means[1] > means[2] + means[3] for means in every]
    return by_share(found, minimum=4, what="graphs")


@claim("Global likelihoods are far better on Cornell", "Appendix G, Table 7", "+7.05", CLEAR)
def _local_fails_on_cornell(evidence: Evidence) -> Finding:
    """Judge the gap between PosteL and the better of the local likelihoods."""
    local = [cell for cell in (evidence.find(variant, "cornell") for variant in POSTEL_LOCAL) if cell]
    best = max(local, key=lambda cell: cell.accuracy.mean) if len(local) == len(POSTEL_LOCAL) else None
    return by_gain(fair_gain(evidence.find(POSTEL, "cornell"), best), 80.33 - 73.28)


@claim(
    "The normalized likelihood does about the same",
    "Appendix G, Table 7",
    "within 0.5 points",
    f"within a point, {GRAPHS}",
)
def _normalized_is_alike(evidence: Evidence) -> Finding:
    gains = means(_gains(evidence, POSTEL_NORMALIZED, POSTEL))
    found = [None if mean is None else abs(mean) <= 1.0 for mean in gains]
    return by_share(found, minimum=4, what="graphs")


@claim("All parts together are best", "Appendix G, Table 8", "6 of 8 graphs", SHARE)
def _all_parts_are_best(evidence: Evidence) -> Finding:
    less = (POSTEL_WITHOUT_NOISE_IPL, LS, POSTEL_WITHOUT_NOISE, POSTEL_WITHOUT_IPL, POSTEL_ONE_ROUND)
    every = _fair_means(evidence, (POSTEL, ONE_HOT, *less))
    found = [None if means is None else means[0] >= max(means[1:]) for means in every]
    higher = [_paper_wins(one, POSTEL) for one in (ONE_HOT, *less)]
    theirs = [not any(better) for better in zip(*higher, strict=True)]
    return by_share(found, paper=theirs, minimum=4, what="graphs")


def _part_helps(text: str, whole: Variant, less: Variant) -> Claim:
    """Return the claim that one variant of the ablation is above another, as on so many graphs in the paper."""
    theirs = _paper_wins(whole, less)

    @claim(text, "Appendix G, Table 8", f"{sum(theirs)} of {len(theirs)} graphs", SHARE)
    def judge(evidence: Evidence) -> Finding:
        return by_share(above(_gains(evidence, whole, less)), paper=theirs, minimum=4, what="graphs")

    return judge


def _paper_wins(whole: Variant, less: Variant) -> list[bool]:
    """Whether the paper's figure for one variant of the ablation is above another's, graph by graph."""
    paper = published("ablation")
    return [paper[whole.slug, name].value > paper[less.slug, name].value for name in EIGHT_DATASETS]


_rounds_help = _part_helps("Pseudo-labels add to it", POSTEL, POSTEL_WITHOUT_IPL)


@claim(
    "Pseudo-labels add most on Cornell",
    "Appendix G, Table 8",
    "+8.4",
    "more than on any other graph, and at least half of the paper's gain; in part: above 0",
)
def _rounds_help_cornell_most(evidence: Evidence) -> Finding:
    gains = means(_gains(evidence, POSTEL, POSTEL_WITHOUT_IPL))
    found = {name: mean for name, mean in zip(EIGHT_DATASETS, gains, strict=True) if mean is not None}
    if len(found) < 4 or "cornell" not in found:
        return not_run(len(found), len(EIGHT_DATASETS))
    cornell, rest = found.pop("cornell"), max(found.values())
    told = f"{cornell:+z.1f}, elsewhere at most {rest:+z.1f}"
    most = cornell > rest and cornell >= 8.4 / 2
    return Finding(graded(most, cornell > 0), told, 1 + len(found), len(EIGHT_DATASETS))


_noise_helps = _part_helps("Uniform noise adds to it", POSTEL, POSTEL_WITHOUT_NOISE)
_beats_noise = _part_helps("It is better than noise alone", POSTEL, LS)
_beats_one_hot_without_rounds = _part_helps(
    "Without pseudo-labels it is still better than one-hot labels", POSTEL_WITHOUT_IPL, ONE_HOT
)
_posterior_beats_one_hot = _part_helps(
    "The posterior alone is better than one-hot labels", POSTEL_WITHOUT_NOISE_IPL, ONE_HOT
)


@claim("Embeddings form tighter clusters", "Appendix G, Figure 8", "2 of 2 graphs", GRAPHS)
def _clusters_are_tighter(evidence: Evidence) -> Finding:
    """Count graphs on which the silhouette of the last layer is higher with PosteL's labels."""
    found: list[bool | None] = []
    for name in ("chameleon", "squirrel"):
        rows = evidence.at_one_setting(name)
        plain, ours = (evidence.measured("figure-tsne", row.key) if row else None for row in rows)
        found.append(ours["silhouette"] > plain["silhouette"] if plain and ours else None)
    return by_share(found, minimum=2, what="graphs")


@claim(
    "On ogbn-products it is the best",
    "Appendix G, Table 6",
    "81.20",
    "highest of one-hot labels, LS, SALS and PosteL; in part: above one-hot labels",
)
def _best_on_products(evidence: Evidence) -> Finding:
    scores = {}
    for variant in (ONE_HOT, LS, SALS, POSTEL):
        keys = [f"gcn {variant.slug} seed={seed} epochs=100" for seed in range(3)]
        runs = [run for run in (evidence.measured("table-products", key) for key in keys) if run is not None]
        if len(runs) == len(keys):
            scores[variant.label] = 100 * sum(run["accuracy"] for run in runs) / len(runs)
    if len(scores) < 4:
        return not_run(len(scores), 4)
    told = ", ".join(f"{label} {score:.2f}" for label, score in scores.items())
    ours = scores.pop(POSTEL.label)
    return Finding(graded(ours > max(scores.values()), ours > scores[ONE_HOT.label]), told, 4, 4)


def _gains(evidence: Evidence, one: Variant, other: Variant) -> list[Gain | None]:
    """What one variant gains over another on each of eight graphs."""
    return [fair_gain(evidence.find(one, name), evidence.find(other, name)) for name in EIGHT_DATASETS]


def _fair_means(evidence: Evidence, variants: Sequence[Variant]) -> list[list[float] | None]:
    """The accuracies of variants on each of eight graphs; None if one is missing or budgets or splits differ."""
    found: list[list[float] | None] = []
    for name in EIGHT_DATASETS:
        cells = [cell for cell in (evidence.find(variant, name) for variant in variants) if cell is not None]
        conditions = {(cell.allowance, tuple(cell.accuracy.by_split)) for cell in cells}
        fair = len(cells) == len(variants) and len(conditions) == 1
        found.append([cell.accuracy.mean for cell in cells] if fair else None)
    return found
