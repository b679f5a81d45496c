"""A cell of a table beside the paper's figure and the cell that it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from postel.experiments.results import Cell, Question
from postel.experiments.scores import Gain, corrected_gains
from postel.grouping import grouped
from postel.paper.published import Published, published_main
from postel.paper.table import NOT_RUN, NOTHING
from postel.paper.variants import BASELINE, Variant, deviations, variant_of

#: What a comparison of unequal budgets reads.
UNEQUAL = "unequal search"
COLLAPSED = "†"
COLLAPSE_NOTE = f"{COLLAPSED} most of its models predict one class for every test node."


@dataclass(frozen=True)
class ComparedCell:
    """A question of a table or page with our answer, the paper's figure, and what both are compared with.

    Args:
        question: What was asked.
        variant: The method as the table or page calls it.
        answer: Our cell with its rows; None if it was not run.
        paper: The paper's figure; None if it has none.
        baseline: What it is compared with, such as one-hot labels at the same place; None if there is nothing.
        gain: What our cell gains over the baseline's on the splits that both have; None if one was not run.
        number: Its place among all cells of a page.
    """

    question: Question
    variant: Variant
    answer: Cell | None
    paper: Published | None = None
    baseline: ComparedCell | None = None
    gain: Gain | None = None
    number: int = 0

    @property
    def cell(self) -> Cell:
        """Our cell, of a question that is known to be answered."""
        assert self.answer is not None
        return self.answer

    @property
    def place(self) -> tuple[str, str]:
        """Network and dataset: where methods are compared."""
        return self.question.backbone, self.question.dataset

    @property
    def study(self) -> tuple[str, str, str]:
        """Target, protocol and recipe: what a page shows as one table."""
        return self.cell.target, self.question.protocol, self.question.recipe

    @property
    def state(self) -> str:
        """Whether it was run, and whether most of its models predict one class."""
        if self.answer is None:
            return NOT_RUN
        return "one class" if self.answer.has_collapsed else "run"

    @property
    def text(self) -> str:
        """Ours: mean ± larger side, with the mark of a collapse."""
        if self.answer is None:
            return NOT_RUN
        score, mark = self.answer.accuracy, COLLAPSED if self.answer.has_collapsed else ""
        return f"{score.interval.mean:.2f}{'' if score.interval.single else f' ±{score.paper_side:.2f}'}{mark}"

    @property
    def paper_text(self) -> str:
        """The paper's figure as it prints it."""
        return NOTHING if self.paper is None else str(self.paper)

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, in points."""
        return self.answer.accuracy.interval.mean - self.paper.value if self.answer and self.paper else None

    @property
    def paper_gain(self) -> float | None:
        """What the paper's figure gains over its figure for the baseline; None if it lacks one."""
        base = self.baseline.paper if self.baseline else None
        return self.paper.value - base.value if self.paper and base else None

    @property
    def reads(self) -> str:
        """``more``, ``less`` or ``open``; ``not searched`` where a search compared no settings of one of them.

        ``unequal search`` where their budgets differ.
        """
        cells = (self.answer, self.baseline.answer if self.baseline else None)
        searched = all(cell is not None and cell.is_evidence for cell in cells)
        if self.gain is None or not searched:
            return "not searched"
        return UNEQUAL if self.is_unequal else self.gain.reads

    @property
    def is_unequal(self) -> bool:
        """Whether the two were searched with different budgets, which makes no fair comparison."""
        base = self.baseline.answer if self.baseline else None
        return self.answer is not None and base is not None and self.answer.allowance != base.allowance

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` than the baseline where the difference is clear, else nothing.

        A search that compared no settings of the method, or counted trials as version 0.1 did, gets no verdict.
        """
        cells = (self.answer, self.baseline.answer if self.baseline else None)
        if any(cell is not None and cell.was_searched and not cell.is_evidence for cell in cells):
            return ""
        return {"more": "better", "less": "worse"}.get(self.gain.reads, "") if self.gain else ""

    @property
    def beats_majority(self) -> bool:
        """Whether our cell is right more often than a constant answer."""
        return self.cell.accuracy.mean > self.cell.majority

    @property
    def paper_is_majority(self) -> bool:
        """Whether the paper's figure is that of a constant answer."""
        cell = self.cell
        return self.paper is not None and self.paper.is_majority(cell.majority, cell.accuracy.splits)

    def against(self, baseline: ComparedCell | None) -> ComparedCell:
        """Return the same cell compared with another one.

        Args:
            baseline: The other cell; None, or the cell itself, to compare it with nothing.
        """
        if baseline is None or baseline is self:
            return self
        ours, theirs = self.answer, baseline.answer
        gain = ours.accuracy.gain_over(theirs.accuracy) if ours and theirs else None
        return replace(self, baseline=baseline, gain=gain)


def corrected(compared: Sequence[ComparedCell]) -> list[ComparedCell]:
    """Return the cells of one table with the p-values of their gains corrected for its number of lines.

    Lines of unequal budgets are no comparison, and do not count.

    Args:
        compared: One cell per line.
    """
    gains = corrected_gains([None if one.is_unequal else one.gain for one in compared])
    return [one if gain is None else replace(one, gain=gain) for one, gain in zip(compared, gains, strict=True)]


def compare_cells(cells: Sequence[Cell]) -> list[ComparedCell]:
    """Compare every cell with one-hot labels and with the paper's main table; they are numbered from 0.

    Args:
        cells: Cells with their rows. P-values of gains are corrected for the number of lines of a study: those of
            one target, protocol and recipe, which a page shows as one table.
    """
    alone = [
        ComparedCell(cell.question, variant_of(cell.question), cell, _published(cell.question), number=number)
        for number, cell in enumerate(cells)
    ]
    studies = grouped((one.against(_baseline(one, alone)) for one in alone), lambda one: one.study)
    return sorted((one for study in studies.values() for one in corrected(study)), key=lambda one: one.number)


def _published(question: Question) -> Published | None:
    """The main table's figure for the same splits, the same graph and the plain method."""
    if (question.protocol, question.recipe) != ("paper", "paper") or deviations(question):
        return None
    return published_main().get((question.backbone, question.method.name, question.dataset))


def _baseline(one: ComparedCell, others: Sequence[ComparedCell]) -> ComparedCell | None:
    """The one-hot cell of the same study, graph, backbone and budget that shares most splits."""
    if one.question.method.name == BASELINE:
        return None

    def terms(of: ComparedCell) -> tuple[object, ...]:
        asked, cell = of.question, of.cell
        # Where nothing was searched, only the same settings are a fair comparison.
        settings = cell.chosen.training() if asked.budget is not None and not cell.was_searched else None
        return (of.study, of.place, cell.allowance, settings)

    def shared(other: ComparedCell) -> int:
        return len(one.cell.accuracy.by_split.keys() & other.cell.accuracy.by_split.keys())

    fair = [other for other in others if other.question.method.name == BASELINE and terms(other) == terms(one)]
    best = max(fair, key=shared, default=None)
    return best if best is not None and shared(best) else None
