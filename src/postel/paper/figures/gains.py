"""Not a figure of the paper: what each kind of labels gains over one-hot labels, beside what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from postel.errors import require_extra
from postel.experiments.store.reader import Reader
from postel.grouping import grouped
from postel.paper.compared import UNEQUAL, ComparedCell
from postel.paper.figures._drawing import mark_not_run
from postel.paper.names import backbone_label, dataset_label
from postel.paper.rendering import Rendering
from postel.paper.table import span
from postel.paper.tables.gains import TableGains, state_of_pair
from postel.paper.variants import CALIBRATED, LS, ONE_HOT, POSTEL, POSTEL_AS_RELEASED, Variant
from postel.pictures import method_color, new_figure, write_caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METHODS = (LS, POSTEL, POSTEL_AS_RELEASED, CALIBRATED)
_WIDEST = 5
#: How much of a color is left in a mark that is not clear.
_PALE = 0.38


class FigureGains(TableGains):
    """One panel per graph with the paired gain of each method over one-hot labels, and the paper's gain.

    Only cells whose method was searched are drawn.
    """

    title = "What soft labels gain over one-hot labels, ours and the paper's"
    backbones = ("gcn",)
    variants = (ONE_HOT, *_METHODS)
    compared: ClassVar[tuple[tuple[Variant, Variant], ...]] = tuple((variant, ONE_HOT) for variant in _METHODS)

    def make(self, reader: Reader) -> Rendering:
        """Return the picture, and a line for each mark.

        Args:
            reader: The store's reader.
        """
        evidence = reader.evidence
        return replace(super().make(evidence), figures={"": gains_figure(self.pairs(evidence))})


def fair_pairs(pairs: Sequence[ComparedCell]) -> list[ComparedCell]:
    """Return the pairs that were run and searched with equal budgets.

    Args:
        pairs: Methods against one-hot labels.
    """
    return [pair for pair in pairs if state_of_pair(pair) in ("run", "one class")]


def budgets_by_graph(pairs: Sequence[ComparedCell]) -> str:
    """Return the budget that most graphs have, and those of other graphs with their names.

    Args:
        pairs: Methods against one-hot labels, each pair searched with one budget.
    """
    places = {pair.question.dataset: pair.cell.allowance_in_words for pair in pairs}
    usual, *others = sorted(grouped(places, places.__getitem__).items(), key=lambda found: -len(found[1]))
    named = (f"on {' and '.join(map(dataset_label, graphs))} {budget}" for budget, graphs in others)
    return "; ".join([usual[0], *named])


def gains_figure(pairs: Sequence[ComparedCell]) -> Figure:
    """Draw a panel per graph that has a fair comparison; the caption says what is left out.

    Args:
        pairs: Methods against one-hot labels, with p-values corrected for their number.
    """
    fair = fair_pairs(pairs)
    panels = grouped(fair, lambda pair: pair.place)
    methods = [variant for variant in _METHODS if any(pair.variant == variant for pair in fair)]
    if not panels:
        figure = new_figure(7.0, 2.6)
        mark_not_run(figure.add_subplot())
        write_caption(figure, _caption(pairs, fair))
        return figure
    columns = _columns(len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(max(7.2, 1.5 + 2.2 * columns), 1.75 + (0.75 + 0.36 * len(methods)) * rows)
    grid: Any = figure.subplots(rows, columns, squeeze=False, sharey=True)
    several = len({backbone for backbone, _ in panels}) > 1
    for axes, (place, found) in zip(grid.flat, panels.items(), strict=False):
        _draw(axes, found, methods)
        _name(axes, place, found[0], several)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    for axes in grid[:, 0]:
        axes.set_yticks(range(len(methods)), [variant.label for variant in methods])
        for label, variant in zip(axes.get_yticklabels(), methods, strict=True):
            label.set(color=_ink(variant), fontweight="bold", fontsize=10)
    _legend(figure)
    write_caption(figure, _caption(pairs, fair))
    return figure


def _columns(panels: int) -> int:
    """As the paper groups its ten graphs: five to a row; fewer are spread evenly."""
    return panels if panels <= _WIDEST else min(_WIDEST, -(-panels // 2))


def _draw(axes: Any, pairs: Sequence[ComparedCell], methods: Sequence[Variant]) -> None:
    halo = require_extra("matplotlib.patheffects", "plots").withStroke(linewidth=2.2, foreground="white")
    axes.axvline(0, color=method_color("one_hot"), linewidth=1.2, zorder=1)
    for pair in pairs:
        variant, gain = pair.variant, pair.gain
        if gain is None:
            continue
        place, color, span = methods.index(variant), _ink(variant), gain.resampled
        alpha, width = (1.0, 3.2) if gain.is_clear else (_PALE, 2.0)
        axes.plot([span.low, span.high], [place, place], color=color, alpha=alpha, linewidth=width, zorder=2)
        axes.plot(gain.mean, place, "o", color=color, markersize=8 if gain.is_clear else 6.5, zorder=4)
        mark = "†" if state_of_pair(pair) == "one class" else ""
        axes.annotate(
            f"{gain.mean:+z.1f}{mark}".replace("-", "−"),
            (gain.mean, place),
            (0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
            color=color,
            fontweight="bold" if gain.is_clear else "normal",
            path_effects=[halo],
            zorder=5,
        )
        if pair.paper_gain is not None:
            # A little below ours, so that neither hides the other where they agree.
            axes.plot(
                pair.paper_gain, place + 0.27, "D", color=color, markerfacecolor="white", markersize=6, zorder=3
            )
    axes.set_ylim(len(methods) - 0.5, -0.75)
    axes.margins(x=0.09)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=9)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)


def _name(axes: Any, place: tuple[str, str], pair: ComparedCell, several: bool) -> None:
    """Write the graph above a panel, and where one-hot labels stand: gains begin there."""
    title = dataset_label(place[1]) + (f", {backbone_label(place[0])}" if several else "")
    axes.set_title(title, fontsize=11.5, fontweight="bold", loc="left", pad=19)
    plain = pair.baseline
    cell, paper = (plain.answer, plain.paper) if plain else (None, None)
    ours = "" if cell is None else f"one-hot {cell.accuracy.mean:.1f}"
    theirs = "" if paper is None else f" (paper {paper.value:.1f})"
    axes.text(0, 1.06, ours + theirs, transform=axes.transAxes, fontsize=9, color="#555555")


def _ink(variant: Variant) -> str:
    return method_color(variant.method)


def _legend(figure: Figure) -> None:
    lines = require_extra("matplotlib.lines", "plots")
    grey = "#444444"
    handles = [
        lines.Line2D([], [], color=color, marker=marker, linewidth=width, label=label, **style)
        for label, color, marker, width, style in (
            ("ours, clear", grey, "o", 3.2, {"markersize": 8}),
            ("ours, open", "#BBBBBB", "o", 2.0, {"markersize": 6.5, "markerfacecolor": grey, "mec": grey}),
            ("the paper's", grey, "D", 0.0, {"markersize": 6, "markerfacecolor": "white"}),
        )
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False, fontsize=9.5)
    figure.suptitle("Gain over one-hot labels, points", x=0.012, ha="left", fontsize=13)


def _caption(pairs: Sequence[ComparedCell], fair: Sequence[ComparedCell]) -> str:
    said = []
    if fair:
        questions = [pair.question for pair in fair]
        networks = ", ".join(dict.fromkeys(backbone_label(question.backbone) for question in questions))
        protocols = ", ".join(dict.fromkeys(question.protocol for question in questions))
        splits = f"n = {span(pair.gain.splits for pair in fair if pair.gain)}"
        said += [
            f"Test accuracy of {networks}, {protocols} protocol, {splits} splits; tuned: every method, one-hot "
            f"labels too, was searched with the same budget ({budgets_by_graph(fair)}) on validation nodes.",
            "Filled: mean paired difference to our one-hot labels over the same splits; bar: its 95 % interval by "
            f"the corrected resampled t, which allows for nodes that splits share; dark: clear after Holm's "
            f"correction for {len(fair)} lines, pale: open.",
        ]
        if any(pair.paper_gain is not None for pair in fair):
            said.append(
                "Hollow: the paper's difference to its one-hot figures, which it copied from settings that were "
                "not searched; it has none for the released form and the calibrated posterior, which is ours."
            )
        if len({pair.place for pair in fair}) > 1:
            said.append("Each panel has its own scale.")
        if any(state_of_pair(pair) == "one class" for pair in fair):
            said.append("†: most of its models, or of one-hot's, predict one class for every test node.")
    unequal = [pair for pair in pairs if state_of_pair(pair) == UNEQUAL]
    missing = [pair for pair in pairs if pair not in fair and pair not in unequal]
    for left_out, why in (
        (missing, "Not run with a search"),
        (unequal, "Left out, searched with unequal budgets"),
    ):
        if left_out:
            said.append(f"{why}: {_listed(left_out, pairs)}.")
    return " ".join(said)


def _listed(some: Sequence[ComparedCell], pairs: Sequence[ComparedCell]) -> str:
    """Name graphs, with the methods where only some of the graph's are meant."""
    named = []
    for backbone, dataset in dict.fromkeys(pair.place for pair in some):
        here = [pair for pair in some if pair.place == (backbone, dataset)]
        every = [pair for pair in pairs if pair.place == (backbone, dataset)]
        methods = ", ".join(pair.variant.label for pair in here)
        named.append(dataset_label(dataset) + ("" if len(here) == len(every) else f" ({methods})"))
    return ", ".join(dict.fromkeys(named))
