"""Claims about accuracy: the main table, few labels, sweeps, likelihoods, the ablation and ogbn-products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from postel.experiments.results import Cell
from postel.paper.claims.evidence import Evidence, fair_gain, fair_gains, means
from postel.paper.claims.verdicts import Finding, by_gain, by_mean, by_share, graded, not_run
from postel.paper.names import BACKBONES, DATASETS, EIGHT_DATASETS, HETEROPHILIC, HOMOPHILIC, dataset_label
from postel.paper.published import published_main
from postel.paper.variants import ALS, LS, ONE_HOT, POSTEL, POSTEL_ONE_ROUND, POSTEL_WITHOUT_IPL, SALS, Variant

PLACES = tuple((backbone, dataset) for backbone in BACKBONES for dataset in DATASETS)
LIMITED = ("cora", "citeseer", "texas", "cornell")
LOCAL = tuple(
    Variant(f"postel-local-{hops}", f"local-{hops}", "postel", {"likelihood": "local", "hops": hops}, True)
    for hops in (1, 2)
)
NORMALIZED = Variant("postel-normalized", "normalized", "postel", {"likelihood": "normalized"}, True)
PS = Variant("postel-without-noise-ipl", "PS", "postel", {"beta": 0.0})
PS_IPL = Variant("postel-without-noise", "PS + IPL", "postel", {"beta": 0.0}, True)
PARTS = (ONE_HOT, PS, LS, PS_IPL, POSTEL_WITHOUT_IPL, POSTEL_ONE_ROUND)


def beats_one_hot(evidence: Evidence) -> Finding:
    """Count the cells of the main table in which PosteL is above one-hot labels.

    Args:
        evidence: The cells.
    """
    return by_share(_above(_over(evidence, ONE_HOT)), paper=76 / 80, minimum=10, what="cells")


def beats_one_hot_clearly(evidence: Evidence) -> Finding:
    """Count the cells of the main table in which PosteL is clearly above one-hot labels.

    Args:
        evidence: The cells.
    """
    found = [None if gain is None else gain.reads == "more" for gain in _over(evidence, ONE_HOT)]
    return by_share(found, paper=41 / 80, minimum=10, part=0.1, what="cells")


def cornell_headline(evidence: Evidence) -> Finding:
    """Judge the gain on Cornell with GCN; models that name one class for every node gain nothing.

    Args:
        evidence: The cells.
    """
    ours, plain = evidence.postel("cornell"), evidence.find(ONE_HOT, "cornell")
    gain = fair_gain(ours, plain)
    if ours is None or gain is None:
        return not_run(0, 1)
    remark = f"to {ours.accuracy.mean:.1f}, where a constant answer scores {ours.majority:.1f}"
    wins = not ours.has_collapsed and ours.accuracy.mean > ours.majority
    return by_gain(gain, 14.43, wins=wins, remark=remark)


def above_uniform_smoothing(evidence: Evidence) -> Finding:
    """Average what PosteL gains over uniform smoothing.

    Args:
        evidence: The cells.
    """
    paper = published_main()
    theirs = [paper[b, "postel", d].value - paper[b, "uniform", d].value for b, d in PLACES]
    return by_mean(means(_over(evidence, LS)), theirs, minimum=10)


def beats_graph_smoothing(datasets: Sequence[str]) -> Callable[[Evidence], Finding]:
    """Return a rule that counts cells in which PosteL is above both SALS and ALS.

    Args:
        datasets: The graphs.
    """

    def judge(evidence: Evidence) -> Finding:
        places = [place for place in PLACES if place[1] in datasets]
        over = [_above(_over(evidence, rival, places)) for rival in (SALS, ALS)]
        found = [None if None in pair else all(pair) for pair in zip(*over, strict=True)]
        return by_share(found, paper=paper_share(places), minimum=4, what="cells")

    return judge


def gains_more_on_heterophilic(evidence: Evidence) -> Finding:
    """Compare the mean gains over SALS and ALS on the two kinds of graphs.

    Args:
        evidence: The cells.
    """
    places = {kind: [place for place in PLACES if place[1] in kind] for kind in (HETEROPHILIC, HOMOPHILIC)}
    found, run, told = [], 0, []
    for rival in (SALS, ALS):
        gains = [[m for m in means(_over(evidence, rival, where)) if m is not None] for where in places.values()]
        run += sum(map(len, gains))
        if min(map(len, gains)) >= 4:
            there, here = (sum(side) / len(side) for side in gains)
            found.append(there > here)
            told.append(f"{rival.label} {there:+z.2f} against {here:+z.2f}")
    if len(found) < 2:
        return not_run(run, 2 * len(PLACES))
    return Finding(graded(all(found), any(found)), ", ".join(told), run, 2 * len(PLACES))


def actor_gains_little(evidence: Evidence) -> Finding:
    """Compare GCN's gain on Actor with those on PubMed and Cornell.

    Args:
        evidence: The cells.
    """
    names = ("actor", "pubmed", "cornell")
    found = means([fair_gain(evidence.postel(name), evidence.find(ONE_HOT, name)) for name in names])
    run = [mean for mean in found if mean is not None]
    if len(run) < len(names):
        return not_run(len(run), len(names))
    told = ", ".join(f"{dataset_label(name)} {mean:+z.2f}" for name, mean in zip(names, run, strict=True))
    below = [run[0] < other for other in run[1:]]
    return Finding(graded(all(below), any(below)), told, 3, 3)


def beats_one_hot_with_few_labels(evidence: Evidence) -> Finding:
    """Count graphs on which PosteL is above one-hot labels with a tenth of the labels.

    Args:
        evidence: The cells.
    """
    pairs = [
        (evidence.postel(name, protocol="limited"), evidence.find(ONE_HOT, name, protocol="limited"))
        for name in LIMITED
    ]
    return by_share(_above(fair_gains(pairs)), paper=1.0, minimum=3, what="graphs")


def rounds_help_with_few_labels(evidence: Evidence) -> Finding:
    """Count graphs on which pseudo-labels add to PosteL with a tenth of the labels.

    Args:
        evidence: The cells.
    """
    return by_share(_above(_rounds_with_few_labels(evidence)), paper=1.0, minimum=3, what="graphs")


def rounds_help_small_graphs_most(evidence: Evidence) -> Finding:
    """Compare what pseudo-labels add on Texas and Cornell with Cora and CiteSeer, with a tenth of the labels.

    Args:
        evidence: The cells.
    """
    found = dict(zip(LIMITED, means(_rounds_with_few_labels(evidence)), strict=True))
    run = {name: mean for name, mean in found.items() if mean is not None}
    if len(run) < len(LIMITED):
        return not_run(len(run), len(LIMITED))
    told = ", ".join(f"{dataset_label(name)} {mean:+z.1f}" for name, mean in run.items())
    large = max(run["cora"], run["citeseer"])
    above = [run[name] > large for name in ("texas", "cornell")]
    return Finding(graded(all(above), any(above)), told, len(run), len(LIMITED))


def any_alpha_and_beta(evidence: Evidence) -> Finding:
    """Count points of the sweeps over alpha and beta that are above one-hot labels.

    Args:
        evidence: The cells, and the points at the settings of PosteL's.
    """
    found: list[bool | None] = []
    for name in LIMITED:
        plain, points = evidence.sweep(name)
        above = _above([fair_gain(cell, plain) for _, _, cell in points])
        found += [*above, *[None] * (20 - len(above))]
    return by_share(found, paper=1.0, minimum=20, what="points")


def large_alpha_harms(evidence: Evidence) -> Finding:
    """Count graphs on which accuracy is lower with alpha above 0.8 than below.

    Args:
        evidence: The points at the settings of PosteL's cells.
    """
    found: list[bool | None] = []
    for name in LIMITED:
        points = [(value, cell.accuracy.mean) for what, value, cell in evidence.sweep(name)[1] if what == "alpha"]
        high, low = ([mean for value, mean in points if (value > 0.8) == above] for above in (True, False))
        found.append(sum(high) / len(high) < sum(low) / len(low) if len(points) == 10 else None)
    return by_share(found, paper=1.0, minimum=2, what="graphs")


def global_likelihoods_win(evidence: Evidence) -> Finding:
    """Count graphs on which the two global likelihoods have a higher mean than the two local ones.

    Args:
        evidence: The cells.
    """
    found: list[bool | None] = []
    for name in EIGHT_DATASETS:
        cells = [evidence.find(variant, name) for variant in (POSTEL, NORMALIZED, *LOCAL)]
        scores = _fair_means(cells)
        found.append(None if scores is None else scores[0] + scores[1] > scores[2] + scores[3])
    return by_share(found, paper=1.0, minimum=4, what="graphs")


def normalized_is_alike(evidence: Evidence) -> Finding:
    """Count graphs on which the normalized likelihood is within a point of the paper's own.

    Args:
        evidence: The cells.
    """
    gains = means([fair_gain(evidence.find(NORMALIZED, n), evidence.find(POSTEL, n)) for n in EIGHT_DATASETS])
    found = [None if mean is None else abs(mean) <= 1.0 for mean in gains]
    return by_share(found, paper=1.0, minimum=4, what="graphs")


def local_fails_on_cornell(evidence: Evidence) -> Finding:
    """Judge the gap between PosteL and the better of the local likelihoods on Cornell.

    Args:
        evidence: The cells.
    """
    local = [cell for cell in (evidence.find(variant, "cornell") for variant in LOCAL) if cell]
    best = max(local, key=lambda cell: cell.accuracy.mean) if len(local) == len(LOCAL) else None
    return by_gain(fair_gain(evidence.find(POSTEL, "cornell"), best), 80.33 - 73.28)


def all_parts_are_best(evidence: Evidence) -> Finding:
    """Count graphs on which PosteL with all its parts is as high as with any part left out.

    Args:
        evidence: The cells.
    """
    found: list[bool | None] = []
    for name in EIGHT_DATASETS:
        scores = _fair_means([evidence.find(variant, name) for variant in (POSTEL, *PARTS)])
        found.append(None if scores is None else scores[0] >= max(scores[1:]))
    return by_share(found, paper=6 / 8, minimum=4, what="graphs")


def part_helps(whole: Variant, less: Variant, paper: float) -> Callable[[Evidence], Finding]:
    """Return a rule that counts graphs of the ablation on which one variant is above another.

    Args:
        whole: The variant with the part.
        less: The one without it.
        paper: The share of graphs on which it is so in the paper.
    """

    def judge(evidence: Evidence) -> Finding:
        gains = [fair_gain(evidence.find(whole, name), evidence.find(less, name)) for name in EIGHT_DATASETS]
        return by_share(_above(gains), paper=paper, minimum=4, what="graphs")

    return judge


def rounds_help_cornell_most(evidence: Evidence) -> Finding:
    """Compare what pseudo-labels add on Cornell with the other graphs of the ablation.

    Args:
        evidence: The cells.
    """
    gains = means(
        [fair_gain(evidence.find(POSTEL, n), evidence.find(POSTEL_WITHOUT_IPL, n)) for n in EIGHT_DATASETS]
    )
    found = {name: mean for name, mean in zip(EIGHT_DATASETS, gains, strict=True) if mean is not None}
    if len(found) < 4 or "cornell" not in found:
        return not_run(len(found), len(EIGHT_DATASETS))
    cornell, rest = found.pop("cornell"), max(found.values())
    told = f"{cornell:+z.1f}, elsewhere at most {rest:+z.1f}"
    return Finding(graded(cornell > max(rest, 0.0), cornell > 0), told, 1 + len(found), len(EIGHT_DATASETS))


def best_on_products(evidence: Evidence) -> Finding:
    """Compare the mean accuracies on ogbn-products over three seeds.

    Args:
        evidence: The measurements of ``table-products``.
    """
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


def _over(evidence: Evidence, rival: Variant, places: Sequence[tuple[str, str]] = PLACES) -> list[Any]:
    """What PosteL gains over another method at each place of the main table."""
    return fair_gains((evidence.postel(d, b), evidence.find(rival, d, b)) for b, d in places)


def _above(gains: Sequence[Any]) -> list[bool | None]:
    return [None if gain is None else gain.mean > 0 for gain in gains]


def paper_share(places: Sequence[tuple[str, str]]) -> float:
    """Return the share of cells in which the paper has PosteL above both SALS and ALS.

    Args:
        places: Network and dataset of each cell.
    """
    paper = published_main()
    wins = [
        all(paper[b, "postel", d].value > paper[b, rival, d].value for rival in ("sals", "als")) for b, d in places
    ]
    return sum(wins) / len(wins)


def _fair_means(cells: Sequence[Cell | None]) -> list[float] | None:
    found = [cell for cell in cells if cell is not None]
    if len(found) < len(cells) or len({cell.allowance for cell in found}) > 1:
        return None
    return [cell.accuracy.mean for cell in found]


def _rounds_with_few_labels(evidence: Evidence) -> list[Any]:
    variants = (POSTEL, POSTEL_WITHOUT_IPL)
    return [fair_gain(*(evidence.find(v, name, protocol="limited") for v in variants)) for name in LIMITED]
