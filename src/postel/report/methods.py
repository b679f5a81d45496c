"""A short text for every soft-label method: what it does, its formula, its origin, and what is not known of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MethodPage:
    """One method in words, for the section "Methods" of a page.

    Args:
        name: The method's name.
        title: Its title.
        what: What it does.
        formula: Its formula, as HTML.
        legend: What the letters of the formula mean.
        origin: Where it comes from, and what is not known of it.
        rebuilt: Whether it is re-implemented here from descriptions alone.
    """

    name: str
    title: str
    what: str
    formula: str
    legend: str
    origin: str
    rebuilt: bool = False


_REBUILT = "Re-implemented here from descriptions: "

METHOD_PAGES = (
    MethodPage(
        "one_hot",
        "One-hot",
        "The label as it is: all of the target on the node's own class. Every other method is measured against "
        "it, with the same search for both.",
        "<var>ỹ</var><sub>i</sub> = <var>e</var><sub>i</sub>",
        "eᵢ is the one-hot label of node i.",
        "The paper's rows without a soft label (GT) are, by its caption, those of the BernNet paper of 2021 and "
        "not of its own search. A gain over them is partly that of another search, so ours are run anew.",
    ),
    MethodPage(
        "uniform",
        "LS, uniform label smoothing",
        "A share of the label is spread evenly over all classes. It knows nothing of the graph.",
        "<var>ỹ</var><sub>i</sub> = (1 − <var>ε</var>) <var>e</var><sub>i</sub> + <var>ε</var> / <var>K</var>",
        "K is the number of classes, ε the share.",
        "Szegedy et al. 2016, as PyTorch has it. The paper's code spreads over the K − 1 other classes instead "
        "(spread=others), and the paper does not say which shares it searched.",
    ),
    MethodPage(
        "distillation",
        "KD, knowledge distillation",
        "A teacher of the same kind is trained on one-hot labels; a fresh student learns from the teacher's "
        "probabilities and the labels.",
        "<var>L</var> = (1 − <var>λ</var>) CE(<var>e</var>, <var>s</var>) + <var>λ</var> <var>T</var><sup>2</sup> "
        "KL(<var>t</var><sub>T</sub> ‖ <var>s</var><sub>T</sub>)",
        "t and s are the teacher's and student's class probabilities, at temperature T where marked; λ is the "
        "teacher's share.",
        _REBUILT + "the paper gives neither teacher, temperature, mixing weight nor nodes, and its published code "
        "holds no distillation. Differences to its figures say little about either side.",
        rebuilt=True,
    ),
    MethodPage(
        "sals",
        "SALS, structure-aware label smoothing",
        "The label mixed with the average label of the node's labelled neighbors. On a graph where unlike nodes "
        "link, that average points away from the node's own class.",
        "<var>ỹ</var><sub>i</sub> = (1 − <var>λ</var>) <var>e</var><sub>i</sub> + <var>λ</var> "
        "mean<sub>j ∈ N(i)</sub> <var>e</var><sub>j</sub>",
        "N(i) are the labelled neighbors of i; a node without any keeps its label.",
        _REBUILT
        + "no code of SALS (Wang et al. 2021) could be found, nor its formula in full. Weights, treatment "
        "of isolated nodes and search are our choices, each an argument.",
        rebuilt=True,
    ),
    MethodPage(
        "als",
        "ALS, adaptive label smoothing",
        "Labels are propagated over the graph once; a small matrix, learned with the network, refines them; their "
        "share in the target grows over the first epochs.",
        "<var>ỹ</var><sub>i</sub>(<var>t</var>) = (1 − <var>λ</var><sub>t</sub>) <var>e</var><sub>i</sub> + "
        "<var>λ</var><sub>t</sub> softmax(<var>p</var><sub>i</sub> <var>W</var>)",
        "pᵢ is the propagated label, W the learned K × K matrix, λₜ the share in epoch t.",
        _REBUILT + "no code of ALS (Zhou et al. 2023) could be found, nor its formulas. The form of the "
        "refinement, its loss and its pace are our reading of the abstract.",
        rebuilt=True,
    ),
    MethodPage(
        "postel",
        "PosteL, posterior label smoothing",
        "The label mixed with the posterior of the node's class given its neighbors' labels. Which neighbors a "
        "class keeps is counted on the graph, so that it works where unlike nodes link too. With pseudo-labels, "
        "predictions on other nodes join the counts and the network is trained again, while the validation loss "
        "falls.",
        "P(<var>k</var> | N(i)) ∝ P(<var>k</var>) ∏<sub>j ∈ N(i)</sub> P(<var>y</var><sub>j</sub> | <var>k</var>)"
        "<br><var>ỹ</var><sub>i</sub> = <var>α</var> (P + <var>β</var> / <var>K</var>) / (1 + <var>β</var>) + "
        "(1 − <var>α</var>) <var>e</var><sub>i</sub>",
        "P(m | k) is how often a labelled neighbor of a node of class k has class m: the conditional matrix of "
        "the details. α is the posterior's share, β the uniform noise in it.",
        "Written from the paper's equations. The paper's published code differs from its text (noise on the other "
        "classes only, isolated nodes keep their label, self-loops count, training nodes alone as centers); "
        "postel_as_released follows the code.",
    ),
)
