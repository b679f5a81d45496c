"""A cell beside what it is compared with: one-hot labels on the same splits, and the paper's figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postel.experiments.results import Cell
from postel.experiments.scores import Gain, Score, corrected_gains
from postel.paper.published import Published, published_main
from postel.paper.variants import BASELINE, title_of, variant_of


@dataclass(frozen=True)
class Line:
    """One line of a table of cells.

    Args:
        number: Its place among all lines of a page.
        cell: The cell with its rows.
        baseline: The one-hot cell that it is fairly compared with; None if there is none.
        paper: The figure of the paper's main table for it; None if there is none.
        gain: What it gains over the baseline, corrected for the lines of its study; None without a baseline.
    """

    number: int
    cell: Cell
    baseline: Cell | None = None
    paper: Published | None = None
    gain: Gain | None = None

    @property
    def title(self) -> str:
        """The method's title with what makes it a variant."""
        return title_of(self.cell.question)

    @property
    def score(self) -> Score:
        """The test accuracy over splits."""
        return self.cell.accuracy

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` than one-hot where the difference is clear, else nothing."""
        return {"more": "better", "less": "worse"}.get(self.gain.reads, "") if self.gain else ""

    @property
    def beats_majority(self) -> bool:
        """Whether it is right more often than a constant answer."""
        return self.score.mean > self.cell.majority

    @property
    def paper_gap(self) -> float | None:
        """Ours minus the paper's, in points."""
        return None if self.paper is None else self.score.mean - self.paper.value

    @property
    def paper_is_majority(self) -> bool:
        """Whether the paper's figure is that of a constant answer."""
        return self.paper is not None and self.paper.is_majority(self.cell.majority, self.score.splits)


def lines_of(cells: Sequence[Cell]) -> list[Line]:
    """Return a line for every cell, numbered from 0.

    Args:
        cells: Cells with their rows. P-values of gains are corrected for the number of lines of a study: those of
            one target, protocol and recipe, which a page shows as one table.
    """
    baselines = [_baseline(cell, cells) for cell in cells]
    gains = [
        None if base is None else cell.accuracy.gain_over(base.accuracy)
        for cell, base in zip(cells, baselines, strict=True)
    ]
    studies: dict[tuple[str, ...], list[int]] = {}
    for number, cell in enumerate(cells):
        studies.setdefault((cell.target, cell.question.protocol, cell.question.recipe), []).append(number)
    for numbers in studies.values():
        for number, gain in zip(numbers, corrected_gains([gains[number] for number in numbers]), strict=True):
            gains[number] = gain
    return [
        Line(number, cell, base, _published(cell), gain)
        for number, (cell, base, gain) in enumerate(zip(cells, baselines, gains, strict=True))
    ]


def _published(cell: Cell) -> Published | None:
    """The main table's figure for the same splits, the same graph and the plain method."""
    asked = cell.question
    if (asked.protocol, asked.recipe) != ("paper", "paper") or variant_of(asked):
        return None
    return published_main().get((asked.backbone, asked.method.name, asked.dataset))


def _baseline(cell: Cell, cells: Sequence[Cell]) -> Cell | None:
    """The one-hot cell of the same study, graph, backbone and budget that shares most splits."""
    if cell.question.method.name == BASELINE:
        return None

    def place(of: Cell) -> tuple[object, ...]:
        asked, fixed = of.question, of.question.budget is not None and of.question.budget.kind == "fixed"
        # Where nothing was searched, only the same settings are a fair comparison.
        settings = of.chosen.training() if fixed else None
        where = (of.target, asked.protocol, asked.recipe, asked.dataset, asked.backbone)
        return (*where, of.allowance, settings)

    def shared(other: Cell) -> int:
        return len(cell.accuracy.by_split.keys() & other.accuracy.by_split.keys())

    fair = [other for other in cells if other.question.method.name == BASELINE and place(other) == place(cell)]
    best = max(fair, key=shared, default=None)
    return best if best is not None and shared(best) else None
