"""Every claim of the paper: where it stands, its number, and the rule by which our cells decide it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from postel.paper.claims import accuracy, behavior
from postel.paper.claims.evidence import Evidence
from postel.paper.claims.verdicts import Finding
from postel.paper.names import HETEROPHILIC, HOMOPHILIC
from postel.paper.variants import LS, ONE_HOT, POSTEL, POSTEL_WITHOUT_IPL


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


_SHARE = "our share of cells is the paper's less five points or more; in part: at least half of them"
_GRAPHS = "so on nearly all graphs run (95 %); in part: on at least half"
_CLEAR = "clear and at least half of the paper's gain; in part: clear"

CLAIMS = (
    Claim(
        "PosteL is better than one-hot labels",
        "Abstract, Node Classification, Table 9",
        "76 of 80 cells",
        _SHARE,
        accuracy.beats_one_hot,
    ),
    Claim(
        "PosteL is better than one-hot labels beyond the 95 % interval",
        "Node Classification",
        "41 of 80 cells",
        "our share of clear gains is the paper's less five points or more; in part: a tenth of the cells",
        accuracy.beats_one_hot_clearly,
    ),
    Claim(
        "On Cornell with GCN it gains 14.43 points",
        "Node Classification",
        "+14.43",
        f"{_CLEAR}; above a constant answer",
        accuracy.cornell_headline,
    ),
    Claim(
        "PosteL is better than uniform smoothing on average",
        "Table 9",
        "+1.36",
        "above 0 by two standard errors over cells and half of the paper's there; in part: above 0",
        accuracy.above_uniform_smoothing,
    ),
    Claim(
        "PosteL is better than SALS and ALS on homophilic graphs",
        "Node Classification, Table 9",
        f"{40 * accuracy.paper_share([p for p in accuracy.PLACES if p[1] in HOMOPHILIC]):.0f} of 40 cells",
        _SHARE,
        accuracy.beats_graph_smoothing(HOMOPHILIC),
    ),
    Claim(
        "PosteL is better than SALS and ALS on heterophilic graphs",
        "Node Classification, Table 9",
        f"{40 * accuracy.paper_share([p for p in accuracy.PLACES if p[1] in HETEROPHILIC]):.0f} of 40 cells",
        _SHARE,
        accuracy.beats_graph_smoothing(HETEROPHILIC),
    ),
    Claim(
        "It gains more over SALS and ALS on heterophilic graphs",
        "Node Classification",
        "no number",
        "the mean gain over either is larger there; in part: over one of them",
        accuracy.gains_more_on_heterophilic,
    ),
    Claim(
        "On Actor it gains less than on PubMed and Cornell (GCN)",
        "Node Classification, Appendix E",
        "+1.93, +1.26, +14.43",
        "less than on both; in part: than on one",
        accuracy.actor_gains_little,
    ),
    Claim(
        "On Actor neighbors hardly differ from class to class",
        "Appendix E",
        "Figure 6",
        "contrast below half of PubMed's and Cornell's; in part: below",
        behavior.actor_neighbors_tell_little,
    ),
    Claim(
        "Neighbors' labels are independent given the node's",
        "Empirical Analysis, Figure 3",
        "closely",
        "total variation from the product at most 0.1; in part: 0.2",
        behavior.neighbors_are_independent,
    ),
    Claim(
        "On Squirrel one-hot labels overfit after 50 epochs, PosteL is stable through 200",
        "Empirical Analysis, Figure 4a",
        "50, 200",
        "one-hot's validation loss is lowest by epoch 100 and 5 % above that by 200, PosteL's is not; in part: it "
        "rises less",
        behavior.squirrel_overfits,
    ),
    Claim(
        "On all graphs the validation loss rises less with PosteL",
        "Empirical Analysis, Figures 9 and 10",
        "10 graphs",
        _GRAPHS,
        behavior.overfits_less_everywhere,
    ),
    Claim(
        "The gap between test and training loss is smaller with PosteL",
        "Empirical Analysis",
        "10 graphs",
        _GRAPHS,
        behavior.gap_is_smaller,
    ),
    Claim(
        "On Cornell the test loss falls with every round",
        "Empirical Analysis, Figure 4b",
        "4 rounds",
        "so in every round that was kept; in part: over all of them",
        behavior.rounds_lower_the_test_loss,
    ),
    Claim(
        "Few rounds of pseudo-labels suffice",
        "Empirical Analysis, Table 4",
        "1.13 rounds",
        "at most half a round more than the paper's there; in part: 1.5",
        behavior.few_rounds_suffice,
    ),
    Claim(
        "PosteL takes about four times as long as one-hot labels",
        "Appendix F, Table 5",
        "4.1 times",
        "at most 6 times; in part: 8",
        behavior.four_times_as_long,
    ),
    Claim(
        "PosteL takes about as long as KD and ALS",
        "Appendix F, Table 5",
        "1.0 and 1.2 times",
        "at most 1.5 times either; in part: one of them",
        behavior.no_slower_than_others,
    ),
    Claim(
        "Without pseudo-labels it takes a third of the time of KD and ALS",
        "Appendix F, Table 5",
        "3.3 and 2.7 times",
        "both take 2.5 times as long; in part: one of them",
        behavior.faster_without_rounds,
    ),
    Claim(
        "With a tenth of the labels it is better than one-hot labels",
        "Limited Labels, Table 2",
        "4 of 4 graphs",
        _GRAPHS,
        accuracy.beats_one_hot_with_few_labels,
    ),
    Claim(
        "With a tenth of the labels pseudo-labels add to it",
        "Limited Labels, Table 2",
        "4 of 4 graphs",
        _GRAPHS,
        accuracy.rounds_help_with_few_labels,
    ),
    Claim(
        "With a tenth of the labels pseudo-labels add most on Texas and Cornell",
        "Limited Labels, Table 2",
        "+1.8, +3.0",
        "more on both than on Cora and CiteSeer; in part: on one",
        accuracy.rounds_help_small_graphs_most,
    ),
    Claim(
        "Pseudo-labels bring the conditionals nearer to the oracle's",
        "Limited Labels, Figure 5",
        "3 of 3 graphs",
        _GRAPHS,
        behavior.pseudo_labels_mend_conditionals,
    ),
    Claim(
        "Any alpha and beta beat one-hot labels",
        "Appendix G, Figure 7",
        "all points",
        _GRAPHS,
        accuracy.any_alpha_and_beta,
    ),
    Claim("Alpha above 0.8 may harm", "Appendix G, Figure 7", "no number", _GRAPHS, accuracy.large_alpha_harms),
    Claim(
        "Global likelihoods are better than local ones",
        "Appendix G, Table 7",
        "8 of 8 graphs",
        _GRAPHS,
        accuracy.global_likelihoods_win,
    ),
    Claim(
        "Global likelihoods are far better on Cornell",
        "Appendix G, Table 7",
        "+7.05",
        _CLEAR,
        accuracy.local_fails_on_cornell,
    ),
    Claim(
        "The normalized likelihood does about the same",
        "Appendix G, Table 7",
        "within 0.5 points",
        f"within a point, {_GRAPHS}",
        accuracy.normalized_is_alike,
    ),
    Claim(
        "All parts together are best", "Appendix G, Table 8", "6 of 8 graphs", _SHARE, accuracy.all_parts_are_best
    ),
    Claim(
        "Pseudo-labels add to it",
        "Appendix G, Table 8",
        "7 of 8 graphs",
        _SHARE,
        accuracy.part_helps(POSTEL, POSTEL_WITHOUT_IPL, 7 / 8),
    ),
    Claim(
        "Pseudo-labels add most on Cornell",
        "Appendix G, Table 8",
        "+8.4",
        "more than on any other graph, and above 0; in part: above 0",
        accuracy.rounds_help_cornell_most,
    ),
    Claim(
        "Uniform noise adds to it",
        "Appendix G, Table 8",
        "6 of 8 graphs",
        _SHARE,
        accuracy.part_helps(POSTEL, accuracy.PS_IPL, 6 / 8),
    ),
    Claim(
        "It is better than noise alone",
        "Appendix G, Table 8",
        "8 of 8 graphs",
        _SHARE,
        accuracy.part_helps(POSTEL, LS, 1.0),
    ),
    Claim(
        "Without pseudo-labels it is still better than one-hot labels",
        "Appendix G, Table 8",
        "8 of 8 graphs",
        _SHARE,
        accuracy.part_helps(POSTEL_WITHOUT_IPL, ONE_HOT, 1.0),
    ),
    Claim(
        "The posterior alone is better than one-hot labels",
        "Appendix G, Table 8",
        "8 of 8 graphs",
        _SHARE,
        accuracy.part_helps(accuracy.PS, ONE_HOT, 1.0),
    ),
    Claim(
        "Embeddings form tighter clusters",
        "Appendix G, Figure 8",
        "2 of 2 graphs",
        _GRAPHS,
        behavior.clusters_are_tighter,
    ),
    Claim(
        "On ogbn-products it is the best",
        "Appendix G, Table 6",
        "81.20",
        "highest of four; in part: above one-hot labels",
        accuracy.best_on_products,
    ),
)
