"""The methods of the paper's tables, with their fixed hyper-parameters and their use of pseudo-labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from postel.experiments.results import Question
from postel.experiments.spec import MethodSpec


@dataclass(frozen=True)
class Variant:
    """A method as a line of a table.

    Args:
        slug: Its name in files.
        label: Its name in print.
        method: The method's name.
        params: Hyper-parameters that are fixed; the others are searched.
        pseudo_labels: Whether, or for how many rounds, it uses pseudo-labels.
    """

    slug: str
    label: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    pseudo_labels: bool | int = False

    def __post_init__(self) -> None:
        self.spec.make()

    @property
    def spec(self) -> MethodSpec:
        """The method with its fixed hyper-parameters."""
        return MethodSpec(name=self.method, params=self.params)

    @property
    def text(self) -> str:
        """The method as it is written in commands."""
        return self.spec.text


ONE_HOT = Variant("one_hot", "one-hot", "one_hot")
LS = Variant("uniform", "LS", "uniform")
KD = Variant("distillation", "KD", "distillation")
SALS = Variant("sals", "SALS", "sals")
ALS = Variant("als", "ALS", "als")
POSTEL = Variant("postel", "PosteL", "postel", pseudo_labels=True)
POSTEL_AS_RELEASED = Variant("postel_as_released", "PosteL as released", "postel_as_released", pseudo_labels=True)
CALIBRATED = Variant("calibrated", "calibrated", "calibrated", pseudo_labels=True)
POSTEL_WITHOUT_IPL = Variant("postel-without-ipl", "PosteL without IPL", "postel")
POSTEL_ONE_ROUND = Variant("postel-one-round", "PosteL, one round", "postel", pseudo_labels=1)
POSTEL_WITHOUT_NOISE = Variant("postel-without-noise", "PS + IPL", "postel", {"beta": 0.0}, True)
POSTEL_WITHOUT_NOISE_IPL = Variant("postel-without-noise-ipl", "PS", "postel", {"beta": 0.0})
POSTEL_NORMALIZED = Variant("postel-normalized", "PosteL (norm.)", "postel", {"likelihood": "normalized"}, True)
#: PosteL with the likelihood of each node's own ego graph, of one and of two hops.
POSTEL_LOCAL = tuple(
    Variant(
        f"postel-local-{hops}", f"PosteL (local-{hops})", "postel", {"likelihood": "local", "hops": hops}, True
    )
    for hops in (1, 2)
)

#: The six methods of the main table, in its order.
SIX = (ONE_HOT, LS, KD, SALS, ALS, POSTEL)


#: These six, PosteL as its authors' code has it, and the calibrated posterior, which is not in the paper.
EIGHT = (*SIX, POSTEL_AS_RELEASED, CALIBRATED)


def parse_variant(text: str) -> Variant:
    """Return the variant that a value of ``--method`` names.

    Args:
        text: A method as commands write it.

    Returns:
        One of the eight methods, or a variant with fixed hyper-parameters.

    Raises:
        InputError: If there is no such method.

    Example:
        >>> parse_variant("ls").label, parse_variant("postel").pseudo_labels
        ('LS', True)
        >>> parse_variant("postel:likelihood=normalized").slug
        'postel likelihood=normalized'
    """
    method = MethodSpec.parse(text)
    for known in EIGHT:
        if method == known.spec:
            return known
    return Variant(
        method.label, method.label, method.name, method.params, pseudo_labels=method.make().uses_pseudo_labels
    )


#: The method that every other one is measured against.
BASELINE = ONE_HOT.method
#: How methods are called in tables, the paper's way and in its order.
METHOD_TITLES = {variant.method: variant.label for variant in EIGHT}


def deviations(question: Question) -> str:
    """Return how a method differs from its plain form: the hyper-parameters that were fixed at no default.

    Args:
        question: The question.

    Returns:
        The differences in words; empty for the plain method.

    Example:
        >>> deviations(Question("cora", "gcn", MethodSpec.parse("postel:beta=0.1"), pseudo_labels=1))
        'beta=0.1, 1 round of pseudo-labels'
    """
    method = question.method.make()
    plain = MethodSpec(name=question.method.name).make().params()
    parts = [f"{name}={value}" for name, value in question.method.params.items() if value != plain[name]]
    if method.uses_pseudo_labels and question.pseudo_labels is not True:
        parts.append(pseudo_labels_in_words(question.pseudo_labels))
    return ", ".join(parts)


def variant_of(question: Question) -> Variant:
    """Return the method of a question as pages call it: by its title, with what differs from its plain form.

    Args:
        question: The question.

    Example:
        >>> variant_of(Question("cora", "gcn", MethodSpec.parse("ls:epsilon=0.3"))).label
        'LS (epsilon=0.3)'
    """
    method, differs = question.method, deviations(question)
    title = METHOD_TITLES.get(method.name, method.name)
    label = f"{title} ({differs})" if differs else title
    return Variant(label, label, method.name, method.params, question.pseudo_labels)


def pseudo_labels_in_words(rounds: bool | int) -> str:
    """Return how pseudo-labels are used, in words.

    Args:
        rounds: Whether, or for how many rounds, they are used.

    Returns:
        A phrase.

    Example:
        >>> [pseudo_labels_in_words(rounds) for rounds in (True, 1, False)]
        ['pseudo-labels until the validation loss stops falling', '1 round of pseudo-labels', 'no pseudo-labels']
    """
    if rounds is True:
        return "pseudo-labels until the validation loss stops falling"
    if not rounds:
        return "no pseudo-labels"
    return f"{rounds} round{'s' if rounds != 1 else ''} of pseudo-labels"
