"""The tables of a page: backbones and methods by dataset, and how each method does against one-hot labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postel.experiments.results import Cell
from postel.grouping import grouped
from postel.paper.compared import ComparedCell
from postel.paper.names import BACKBONES, DATASETS, backbone_label, dataset_label
from postel.paper.published import Published, published_main
from postel.paper.table import span
from postel.paper.target import find_target, target_names
from postel.paper.variants import METHOD_TITLES, SIX

_MAIN = "table-main"
#: Titles of the studies of a store; a study without one is called by its name.
_TITLES = {"": "Comparisons at given settings", _MAIN: "Main table", "tune": "Searches"}


@dataclass(frozen=True)
class Spot:
    """One place of a grid: a backbone and method on a dataset.

    Args:
        line: The line of the cell shown there; None if it was not run.
        paper: The paper's figure; None if it has none.
        best: Whether the line has the highest mean of its backbone and dataset.
        others: How many further cells of the same method there are.
        paper_is_majority: Whether the paper's figure is that of a constant prediction.
    """

    line: ComparedCell | None
    paper: Published | None
    best: bool = False
    others: int = 0
    paper_is_majority: bool = False


@dataclass(frozen=True)
class GridRow:
    """A backbone and method over all datasets of a grid.

    Args:
        backbone: The network's name.
        method: The method's name.
        title: The method's title with its variant.
        order: The position of the row in the grid, from 0.
        spots: One spot per dataset.
    """

    backbone: str
    method: str
    title: str
    order: int
    spots: list[Spot]

    @property
    def backbone_title(self) -> str:
        """The backbone's name as the paper spells it."""
        return backbone_label(self.backbone)


@dataclass(frozen=True)
class Column:
    """A dataset of a grid.

    Args:
        dataset: Its name.
        majority: The share of its majority class in percent; None if nothing was run on it.
        splits: How many splits that share is averaged over.
    """

    dataset: str
    majority: float | None = None
    splits: int = 0

    @property
    def run(self) -> bool:
        """Whether anything was run on it."""
        return self.majority is not None


@dataclass(frozen=True)
class Grid:
    """The cells of one study as a table.

    Args:
        title: What the study is called.
        protocol: How nodes are split.
        recipe: How graphs are prepared.
        has_paper: Whether the paper has a figure for any cell.
        whole: Whether the grid shows all places of the paper's main table, run or not.
        columns: Its datasets.
        rows: Its backbones and methods.
        lines: All lines of the study, including those that share a spot.
    """

    title: str
    protocol: str
    recipe: str
    has_paper: bool
    whole: bool
    columns: list[Column]
    rows: list[GridRow]
    lines: list[ComparedCell]

    @property
    def budgets(self) -> list[str]:
        """The budgets of its numbers, in order of appearance; the page gives each a letter."""
        return list(dict.fromkeys(allowed(line.cell) for line in self.lines))

    @property
    def splits(self) -> str:
        """How many splits its means are averaged over, in words."""
        counts = [line.cell.accuracy.splits for line in self.lines]
        return f"{span(counts)} split{'s' if max(counts) > 1 else ''}"

    @property
    def training(self) -> str:
        """How its networks were trained, in words; what differs between cells is listed in full."""
        names = {"max_epochs": "at most {} epochs", "stopping": "stop rule {}", "window": "window {}"}
        if not any(line.cell.was_searched for line in self.lines):
            names = {"lr": "learning rate {}", "weight_decay": "weight decay {}", **names}
        return ", ".join(
            words.format(" or ".join(dict.fromkeys(f"{getattr(line.cell.chosen, name)}" for line in self.lines)))
            for name, words in names.items()
        )

    @property
    def backbones_run(self) -> set[str]:
        """The backbones that were run."""
        return {line.question.backbone for line in self.lines}

    @property
    def places(self) -> int:
        """How many spots the grid has, run or not."""
        return len(self.columns) * len(self.rows)

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Network and method of every row with a spot that was not run, and the datasets of those, in words."""
        found = []
        for row in self.rows:
            spots = [pair for pair in zip(self.columns, row.spots, strict=True) if self._asks(pair[1])]
            names = [dataset_label(column.dataset) for column, spot in spots if spot.line is None]
            if names:
                where = ", ".join(names) if len(names) < len(spots) else "every dataset"
                found.append((f"{row.backbone_title}, {row.title}", where))
        return found

    def _asks(self, spot: Spot) -> bool:
        """Whether a spot is part of what was set out to be run: of the paper's table, what the paper has."""
        return spot.paper is not None or not self.whole

    @property
    def unrun(self) -> int:
        """How many spots were set out to be run and were not."""
        return sum(self._asks(spot) and spot.line is None for row in self.rows for spot in row.spots)

    @property
    def filled(self) -> int:
        """How many of its spots were run."""
        return sum(spot.line is not None for row in self.rows for spot in row.spots)

    @property
    def extent(self) -> str:
        """How much of it was run, in words; methods and graphs that the paper lacks are no part of its table."""
        if not self.whole:
            return f"{self.filled} of {self.places} cells were run"
        spots = [spot for row in self.rows for spot in row.spots if self._asks(spot)]
        run = len(spots) - self.unrun
        others = f", and {self.filled - run} that it does not have" if self.filled > run else ""
        return f"{run} of the {len(spots)} cells of the paper's table were run{others}"


@dataclass(frozen=True)
class Standing:
    """How one method does against one-hot labels over the cells of a study.

    Args:
        method: The method's name.
        title: Its title with its variant.
        lines: Its lines that are compared with one-hot labels.
    """

    method: str
    title: str
    lines: list[ComparedCell]

    @property
    def gain(self) -> float:
        """The mean gain over its cells, in points."""
        return _mean([line.gain.mean for line in self.lines if line.gain is not None])

    @property
    def paper_gains(self) -> list[float]:
        """The gain of the method over one-hot labels in the paper, where the paper has both."""
        return [line.paper_gain for line in self.lines if line.paper_gain is not None]

    @property
    def paper_gain(self) -> float | None:
        """The mean of the paper's gains."""
        return _mean(self.paper_gains) if self.paper_gains else None

    def count(self, verdict: str) -> int:
        """Return how many of its cells are clearly better or worse than one-hot labels.

        Args:
            verdict: ``"better"`` or ``"worse"``.

        Returns:
            The number of cells.
        """
        return sum(line.verdict == verdict for line in self.lines)

    @property
    def collapsed(self) -> int:
        """How many of its cells predict one class for every test node."""
        return sum(line.cell.has_collapsed for line in self.lines)


def grids_of(lines: Sequence[ComparedCell]) -> list[Grid]:
    """Group lines into grids, one per study.

    Args:
        lines: The lines of a page.

    Returns:
        The grids, the paper's main table first; graphs that it does not have are a grid of their own.
    """
    studies = grouped(lines, lambda line: (*line.study, _is_beyond_the_paper(line)))
    ordered = sorted(studies.items(), key=lambda item: (item[0][0] != _MAIN, not item[0][0], item[0]))
    return [_grid(*study, found) for study, found in ordered]


def standings_of(lines: Iterable[ComparedCell]) -> list[Standing]:
    """Return one standing per method and variant that is compared with one-hot labels somewhere.

    Args:
        lines: The lines of a study.

    Returns:
        The standings, in the paper's order of methods.
    """
    compared = [line for line in lines if line.gain is not None]
    ordered = sorted(compared, key=lambda line: _method_order(line.question.method.name))
    by_title = grouped(ordered, lambda line: line.variant.label)
    return [Standing(found[0].question.method.name, title, found) for title, found in by_title.items()]


def allowed(cell: Cell) -> str:
    """Return the budget that every method of a study was allowed, in words.

    One-hot labels have few settings to try and often try them all, but their allowance is the same. What a cell
    spent of it is in its own text.

    Args:
        cell: A cell.

    Returns:
        The budget and the number of search splits.
    """
    budget, splits = cell.question.budget, cell.question.search_splits
    if budget is None or not cell.was_searched:
        return cell.spent.text
    limit = f"up to {budget.amount:g} {budget.kind}" if budget.amount else budget.limit
    return f"{limit}, {splits} search split{'s' if splits != 1 else ''}"


def _is_beyond_the_paper(line: ComparedCell) -> bool:
    """Whether a line has the splits and recipe of the paper's main table but another graph."""
    return line.study == (_MAIN, "paper", "paper") and line.question.dataset not in DATASETS


def _grid(target: str, protocol: str, recipe: str, beyond: bool, lines: list[ComparedCell]) -> Grid:
    has_paper = any(line.paper for line in lines)
    whole = has_paper and target == _MAIN
    datasets = _ordered((line.question.dataset for line in lines), DATASETS, whole=whole)
    columns = [_column(dataset, lines) for dataset in datasets]
    # Of several cells of one method the one with most behind it is shown in the grid; the list below has all.
    held = grouped(lines, lambda line: (*line.place, line.variant.label))
    rows = []
    for order, (backbone, method, title) in enumerate(_models(lines, whole=whole)):
        plain = has_paper and title == METHOD_TITLES.get(method)
        spots = []
        for column in columns:
            found = held.get((backbone, column.dataset, title), [])
            chosen = max(found, key=_weight, default=None)
            paper = published_main().get((backbone, method, column.dataset)) if plain else None
            majority = paper is not None and column.run and paper.is_majority(column.majority or 0, column.splits)
            best = chosen is not None and chosen is _best(lines, backbone, column.dataset)
            spots.append(Spot(chosen, paper, best, max(0, len(found) - 1), majority))
        rows.append(GridRow(backbone, method, title, order, spots))
    title = _title(target) + (", other graphs" if beyond else "")
    return Grid(title, protocol, recipe, has_paper, whole, columns, rows, lines)


def _title(target: str) -> str:
    if target in _TITLES:
        return _TITLES[target]
    return f"{target}: {find_target(target).title}" if target in target_names() else target


def _models(lines: Sequence[ComparedCell], *, whole: bool) -> list[tuple[str, str, str]]:
    """Return (backbone, method, title) of every row in the paper's order; all of the paper's with ``whole``."""
    models = []
    for backbone in _ordered((line.question.backbone for line in lines), BACKBONES, whole=whole):
        of_backbone = [line for line in lines if line.question.backbone == backbone]
        run = {(line.question.method.name, line.variant.label) for line in of_backbone}
        found = run | {(variant.method, variant.label) for variant in SIX} if whole else run
        in_order = sorted(found, key=lambda model: (_method_order(model[0]), "(" in model[1], model[1]))
        models += [(backbone, method, title) for method, title in in_order]
    return models


def _column(dataset: str, lines: Sequence[ComparedCell]) -> Column:
    """Return the dataset with the share of its majority class over the most splits that any line has."""
    found = [line for line in lines if line.question.dataset == dataset]
    most = max(found, key=lambda line: line.cell.accuracy.splits, default=None)
    return Column(dataset) if most is None else Column(dataset, most.cell.majority, most.cell.accuracy.splits)


def _best(lines: Iterable[ComparedCell], backbone: str, dataset: str) -> ComparedCell | None:
    rivals = [line for line in lines if line.place == (backbone, dataset)]
    return max(rivals, key=lambda line: line.cell.accuracy.mean) if len(rivals) > 1 else None


def _weight(line: ComparedCell) -> tuple[int, int, int]:
    """Return how much is behind a line: splits, then trials; of equals the last one counts most."""
    return line.cell.accuracy.splits, line.cell.spent.trials, line.number


def _ordered(found: Iterable[str], known: Iterable[str], *, whole: bool) -> list[str]:
    """Return names in the known order, followed by unknown ones; all known ones with ``whole``."""
    names = dict.fromkeys(found)
    first = [name for name in known if whole or name in names]
    return [*first, *(name for name in names if name not in first)]


def _method_order(name: str) -> int:
    names = list(METHOD_TITLES)
    return names.index(name) if name in names else len(names)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
