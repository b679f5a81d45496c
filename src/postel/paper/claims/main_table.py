"""Claims about the main table: what PosteL gains over one-hot labels and over other methods."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from postel.experiments.results import Cell
from postel.experiments.scores import Gain
from postel.paper.claims.evidence import Evidence, above, fair_gain, fair_gains, means
from postel.paper.claims.verdicts import (
    SHARE,
    Claim,
    Finding,
    by_all,
    by_gain,
    by_limit,
    by_mean,
    by_share,
    claim,
    in_words,
    not_run,
)
from postel.paper.names import BACKBONES, DATASETS, HETEROPHILIC, HOMOPHILIC
from postel.paper.published import Published, published_main
from postel.paper.variants import ALS, KD, LS, ONE_HOT, SALS, Variant


def _published(rival: Variant, datasets: Sequence[str] = DATASETS) -> list[tuple[Published, Published]]:
    """The paper's figures for PosteL and another method, in the same order."""
    paper = published_main()
    return [(paper[b, "postel", d], paper[b, rival.method, d]) for b in BACKBONES for d in datasets]


def _paper_wins(rival: Variant, datasets: Sequence[str] = DATASETS) -> list[bool]:
    return [ours.value > other.value for ours, other in _published(rival, datasets)]


def _paper_mean(rival: Variant, dataset: str) -> float:
    """What PosteL gains over another method on one graph in the paper, mean over networks."""
    return fmean(ours.value - other.value for ours, other in _published(rival, (dataset,)))


@claim("PosteL is better than one-hot labels", "Abstract, Node Classification, Table 9", "76 of 80 cells", SHARE)
def _beats_one_hot(evidence: Evidence) -> Finding:
    pairs = _pairs(evidence, ONE_HOT)
    found = above(fair_gains(pairs))
    remark = _by_constant_answers(found, pairs)
    return by_share(found, paper=_paper_wins(ONE_HOT), minimum=10, what="cells", remark=remark)


@claim(
    "PosteL is better than one-hot labels beyond the 95 % interval",
    "Node Classification",
    "41 of 80 cells",
    "intervals that do not overlap, as the paper counts: our share of cells is that of the paper there, less five "
    "points or more; in part: a tenth of the cells",
)
def _beats_one_hot_clearly(evidence: Evidence) -> Finding:
    pairs, found = _pairs(evidence, ONE_HOT), []
    gains = fair_gains(pairs)
    for gain, (ours, plain) in zip(gains, pairs, strict=True):
        sides = ours.accuracy.paper_side + plain.accuracy.paper_side if ours and plain else 0.0
        found.append(None if gain is None else gain.mean > sides)
    theirs = [
        ours.value - plain.value > (ours.side or 0) + (plain.side or 0) for ours, plain in _published(ONE_HOT)
    ]
    clear = sum(gain is not None and gain.reads == "more" for gain in gains)
    remark = f"{clear} clear after the corrections"
    return by_share(found, paper=theirs, minimum=10, part=0.1, what="cells", remark=remark)


@claim(
    "On Cornell with GCN it gains 14.43 points",
    "Node Classification",
    "+14.43",
    "clear, at least half of the paper's gain, and above a constant answer; in part: clear",
)
def _gains_on_cornell(evidence: Evidence) -> Finding:
    ours, plain = evidence.postel("cornell"), evidence.find(ONE_HOT, "cornell")
    gain = fair_gain(ours, plain)
    if ours is None or gain is None:
        return not_run(0, 1)
    remark = f"to {ours.accuracy.mean:.1f}, where a constant answer scores {ours.majority:.1f}"
    wins = not ours.has_collapsed and ours.accuracy.mean > ours.majority
    return by_gain(gain, 14.43, wins=wins, remark=remark)


@claim(
    "PosteL is better than uniform smoothing on average",
    "Table 9",
    "+1.36",
    "above 0 by two standard errors over cells and half of the paper's there; in part: above 0",
)
def _above_uniform_smoothing(evidence: Evidence) -> Finding:
    theirs = [ours.value - other.value for ours, other in _published(LS)]
    return by_mean(means(_over(evidence, LS)), theirs, minimum=10)


def _beats(text: str, rivals: Sequence[Variant], datasets: Sequence[str]) -> Claim:
    """Return the claim that PosteL is above all of some methods in the cells of some graphs."""
    theirs = [all(wins) for wins in zip(*(_paper_wins(rival, datasets) for rival in rivals), strict=True)]

    @claim(text, "Node Classification, Table 9", f"{sum(theirs)} of {len(theirs)} cells", SHARE)
    def judge(evidence: Evidence) -> Finding:
        over = [above(_over(evidence, rival, datasets)) for rival in rivals]
        found = [None if None in wins else all(wins) for wins in zip(*over, strict=True)]
        remark = _by_constant_answers(found, _pairs(evidence, rivals[0], datasets))
        return by_share(found, paper=theirs, minimum=4, what="cells", remark=remark)

    return judge


_beats_distillation = _beats("PosteL is better than KD", (KD,), DATASETS)
_beats_on_homophilic = _beats("PosteL is better than SALS and ALS on homophilic graphs", (SALS, ALS), HOMOPHILIC)
_beats_on_heterophilic = _beats(
    "PosteL is better than SALS and ALS on heterophilic graphs", (SALS, ALS), HETEROPHILIC
)


@claim(
    "It gains more over SALS and ALS on heterophilic graphs",
    "Node Classification",
    "no number",
    "the mean gain over either is larger there; in part: over one of them",
)
def _gains_more_on_heterophilic(evidence: Evidence) -> Finding:
    larger, run, told, others = [], 0, [], []
    for rival in (SALS, ALS):
        kinds = [_pairs(evidence, rival, kind) for kind in (HETEROPHILIC, HOMOPHILIC)]
        gains = [_known_means(pairs) for pairs in kinds]
        run += sum(map(len, gains))
        if min(map(len, gains)) >= 4:
            larger.append(fmean(gains[0]) > fmean(gains[1]))
            told.append(f"{rival.label} {fmean(gains[0]):+z.2f} against {fmean(gains[1]):+z.2f}")
            telling = _known_means([pair for pair in kinds[0] if not (pair[0] and pair[0].has_collapsed)])
            if 0 < len(telling) < len(gains[0]):
                others.append(f"{fmean(telling):+z.2f}")
    of = 2 * len(BACKBONES) * len(DATASETS)
    remark = f"; without models that name one class {' and '.join(others)}" if others else ""
    return by_all(larger, ", ".join(told) + remark, run, of) if len(larger) == 2 else not_run(run, of)


@claim(
    "On Actor it gains less than on PubMed and Cornell",
    "Appendix E, Table 9",
    ", ".join(f"{_paper_mean(ONE_HOT, name):+.2f}" for name in ("actor", "pubmed", "cornell")),
    "mean over networks less than on both; in part: than on one",
)
def _gains_little_on_actor(evidence: Evidence) -> Finding:
    names = ("actor", "pubmed", "cornell")
    by_graph = [means(_over(evidence, ONE_HOT, (name,))) for name in names]
    run = [gains for gains in zip(*by_graph, strict=True) if None not in gains]
    if len(run) < 2:
        return not_run(len(run), len(BACKBONES))
    mean = {name: sum(side) / len(run) for name, side in zip(names, zip(*run, strict=True), strict=True)}
    actor, *others = mean.values()
    return by_all([actor < other for other in others], in_words(mean, "+z.2f"), len(run), len(BACKBONES))


@claim(
    "On Actor it behaves like uniform smoothing",
    "Node Classification",
    f"{_paper_mean(LS, 'actor'):+.2f}",
    "mean difference over networks at most a point; in part: two",
)
def _is_like_smoothing_on_actor(evidence: Evidence) -> Finding:
    gains = [mean for mean in means(_over(evidence, LS, ("actor",))) if mean is not None]
    if len(gains) < 2:
        return not_run(len(gains), len(BACKBONES))
    mean = sum(gains) / len(gains)
    return by_limit(abs(mean), holds=1.0, part=2.0, told=f"{mean:+z.2f}", run=len(gains), of=len(BACKBONES))


def _over(evidence: Evidence, rival: Variant, datasets: Sequence[str] = DATASETS) -> list[Gain | None]:
    """What PosteL gains over another method in each cell of the main table."""
    return fair_gains(_pairs(evidence, rival, datasets))


def _pairs(
    evidence: Evidence, rival: Variant, datasets: Sequence[str] = DATASETS
) -> list[tuple[Cell | None, Cell | None]]:
    """PosteL's cell and another method's, network by network."""
    return [(evidence.postel(d, b), evidence.find(rival, d, b)) for b in BACKBONES for d in datasets]


def _known_means(pairs: Sequence[tuple[Cell | None, Cell | None]]) -> list[float]:
    """The mean gains of the pairs that were run."""
    return [mean for mean in means(fair_gains(pairs)) if mean is not None]


def _by_constant_answers(found: Sequence[bool | None], pairs: Sequence[tuple[Cell | None, Cell | None]]) -> str:
    """How many of the cells that PosteL wins it wins with models that name one class, in words; empty if none."""
    constant = sum(bool(won and ours and ours.has_collapsed) for won, (ours, _) in zip(found, pairs, strict=True))
    return f"{constant} of them by models that name one class" if constant else ""
