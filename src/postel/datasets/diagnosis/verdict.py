"""One sentence on what posterior smoothing can do on a graph, and why."""

from __future__ import annotations

from postel.exponents import LARGEST, Exponents

# Below this mean distance between the classes' neighbor distributions no posterior leaves the prior: Actor has
# 0.03 and Squirrel 0.05, the graphs where neighbors do tell classes have 0.4 and more.
NEARLY_EQUAL = 0.1
# Right answers, beyond those of one constant answer, from which neighbors count as telling: Chameleon has 0.13.
TELLING = 0.2
MOSTLY = 0.5
# Exponents of the sum of log-likelihoods: independent neighbors have 1, and only their mean counts at 0.
INDEPENDENT = 0.8
DEPENDENT = 0.1


def verdict(
    contrast: float,
    homophily: float,
    *,
    score: float | None = None,
    constant_score: float = 0.0,
    without_neighbor: float = 0.0,
) -> str:
    """Say in one sentence what to expect of posterior smoothing, and why.

    Args:
        contrast: Mean distance between the rows of the conditional.
        homophily: Edge homophily.
        score: How often the posterior's best class is right on training nodes with labelled neighbors; None
            without a split.
        constant_score: What the largest training class alone would score.
        without_neighbor: Share of training nodes without a labelled neighbor.

    Returns:
        The sentence.

    Example:
        >>> print(verdict(0.026, 0.22, score=0.219, constant_score=0.203, without_neighbor=0.23))
        Expect posterior smoothing to act like uniform smoothing: the classes' neighbor distributions are nearly
        equal (total variation 0.03 on average), so neighbors hardly tell classes apart and the posterior stays
        near the prior.
    """
    if without_neighbor > MOSTLY:
        return (
            f"Expect little until pseudo-labels come in: {without_neighbor:.0%} of the training nodes have no "
            "labelled neighbor, so their posterior is the prior."
        )
    if contrast < NEARLY_EQUAL:
        return (
            "Expect posterior smoothing to act like uniform smoothing: the classes' neighbor distributions are "
            f"nearly equal (total variation {contrast:.2f} on average), so neighbors hardly tell classes apart "
            "and the posterior stays near the prior."
        )
    if score is None:
        return f"Neighbors can tell a node's class (total variation {contrast:.2f} on average), {_how(homophily)}."
    right = f"the posterior's best class is right for {score:.0%} of them"
    figures = f"{right}, one constant answer for {constant_score:.0%}"
    if score - constant_score < TELLING:
        return (
            "Expect a small effect of posterior smoothing: labelled neighbors tell the class of training nodes "
            f"only weakly ({figures}), so much of what it does uniform smoothing does too."
        )
    return (
        f"Expect informative soft labels: labelled neighbors tell the class of training nodes ({figures}), "
        f"{_how(homophily)}."
    )


def _how(homophily: float) -> str:
    if homophily > MOSTLY:
        return "mostly by sharing it"
    return (
        "though most neighbors are of another class, so that averaging their labels misleads where the posterior "
        "does not"
    )


def what_exponents_say(exponents: Exponents, with_neighbors: bool = True) -> str:
    """Say in one sentence how much neighbors tell, by the exponents that calibrate the posterior.

    Args:
        exponents: Fitted on the training labels, with each node's own label left out.
        with_neighbors: Whether any training node has a labelled neighbor.

    Returns:
        The sentence.

    Example:
        >>> print(what_exponents_say(Exponents(0.0, 0.945, 0.017)))
        Calibrated (prior^0 sum^0.945 mean^0.017): neighbors count almost as if they were independent.
        >>> print(what_exponents_say(Exponents(0.0, 0.042, 1.2)))
        Calibrated (prior^0 sum^0.042 mean^1.2): many neighbors tell hardly more than a few, so the plain posterior
        of a node with many is far too sure.
        >>> print(what_exponents_say(Exponents(0.0, 0.0, 0.0)))
        Calibrated (prior^0 sum^0 mean^0): neighbors tell nothing that the training labels confirm.
    """
    head = f"Calibrated ({exponents}): "
    if not with_neighbors:
        return head + "no training node has a labelled neighbor, so nothing is known of what neighbors tell."
    if not exponents.neighbors_count:
        return head + "neighbors tell nothing that the training labels confirm."
    if exponents.total >= LARGEST[1] or exponents.mean >= LARGEST[2]:
        return head + "neighbors tell training labels apart perfectly, and the exponents stop at their bound."
    if exponents.total > INDEPENDENT:
        return head + "neighbors count almost as if they were independent."
    if exponents.total < DEPENDENT:
        return (
            head + "many neighbors tell hardly more than a few, so the plain posterior of a node with many is far "
            "too sure."
        )
    return head + "neighbors repeat each other in part, so the plain posterior is surer than it is right."
